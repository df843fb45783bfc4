"""Where the grammar of base URLs ends, to the character, and which hosts count as the operator's own network."""

import pytest

from tickmind.gateway.settings.addresses import is_own_network
from tickmind.gateway.settings.base_url import BaseUrlError, parse_base_url

LONGEST_HOST = ".".join(["a" * 62] * 4) + ".a"  # 253 characters


def test_the_longest_url_is_read_and_one_character_more_is_not():
    url = "https://h.example/" + "a" * 1982
    assert len(str(parse_base_url(url))) == len(url) == 2000
    with pytest.raises(BaseUrlError, match="longer than 2000 characters"):
        parse_base_url(url + "a")


def test_the_longest_host_is_read_and_one_character_more_is_not():
    assert len(LONGEST_HOST) == 253
    assert parse_base_url(f"http://{LONGEST_HOST}").host == LONGEST_HOST
    with pytest.raises(BaseUrlError, match="no plain DNS name"):
        parse_base_url(f"http://{LONGEST_HOST}a")


def test_the_highest_port_is_read_and_one_more_is_not():
    assert parse_base_url("http://h.example:65535").port == 65535
    with pytest.raises(BaseUrlError, match="at most 65535"):
        parse_base_url("http://h.example:65536")


@pytest.mark.parametrize("host", ["[::1::2]", "[1.2.3.4]", "[:]", "[12345::]"])
def test_brackets_around_anything_but_an_ipv6_address_are_named_as_the_mistake(host):
    with pytest.raises(BaseUrlError, match="no IPv6 address"):
        parse_base_url(f"http://{host}/v1")


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("10.1.2.3", True),
        ("100.64.0.1", True),
        ("fd12::1", True),
        ("printer", True),
        ("printer.local", True),
        ("api.example.com", False),
        ("93.184.216.34", False),
        ("169.254.169.254", False),  # a cloud's metadata service is nobody's own network
        ("224.0.0.1", False),
    ],
)
def test_the_own_network_is_this_machine_private_addresses_and_names_without_a_dot(host, own):
    assert is_own_network(host) is own
