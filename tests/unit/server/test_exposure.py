"""Who can reach a world."""

import socket

import pytest

from tickmind.base import ConfigError, Secret
from tickmind.server import AddressError, ExposureError, ServerTls, load_tokens
from tickmind.server.exposure import check_exposure, check_free
from tickmind.server.services.streaming import host_of

TLS = ServerTls(b"certificate", b"key")
TOKENS = (Secret("t" * 20),)


@pytest.mark.parametrize("address", ["127.0.0.1:50051", "localhost:0", "[::1]:5", "unix:/tmp/world.sock"])
def test_this_machine_needs_nothing(address):
    check_exposure(address, None, ())


@pytest.mark.parametrize("address", ["0.0.0.0:50051", "10.0.0.1:0", "[::]:50051", "world.example:50051"])
@pytest.mark.parametrize(
    ("tls", "tokens", "missing"), [(None, (), "TLS and tokens"), (TLS, (), "tokens"), (None, TOKENS, "TLS")]
)
def test_other_machines_need_tls_and_tokens(address, tls, tokens, missing):
    with pytest.raises(ExposureError, match=f"needs {missing};"):
        check_exposure(address, tls, tokens)


def test_other_machines_are_let_in_with_both():
    check_exposure("0.0.0.0:50051", TLS, TOKENS)


def test_a_private_key_is_never_shown():
    assert "key'" not in repr(TLS)


def test_a_taken_port_is_a_clear_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(AddressError, match="choose another port"):
            check_free(f"127.0.0.1:{taken.getsockname()[1]}")


def test_a_taken_socket_is_a_clear_error_and_a_dead_one_is_not(tmp_path):
    path = tmp_path / "world.sock"
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(path))
        taken.listen()
        with pytest.raises(AddressError, match="already"):
            check_free(f"unix:{path}")
    check_free(f"unix:{path}")


def test_tokens_are_read_one_in_each_line(tmp_path):
    file = tmp_path / "tokens"
    file.write_text("# ours\n\n" + "a" * 20 + "\n" + "b" * 20 + "\n")
    assert load_tokens(file) == (Secret("a" * 20), Secret("b" * 20))


@pytest.mark.parametrize("text", ["", "# none\n", "short\n"])
def test_tokens_that_are_none_are_refused_without_being_shown(tmp_path, text):
    file = tmp_path / "tokens"
    file.write_text(text)
    with pytest.raises(ConfigError, match="at least 16 characters") as caught:
        load_tokens(file)
    assert "short" not in str(caught.value)


@pytest.mark.parametrize(
    ("peer", "host"),
    [("ipv4:127.0.0.1:5123", "ipv4:127.0.0.1"), ("ipv6:%5B::1%5D:44", "ipv6:%5B::1%5D"), ("unix:", "unix")],
)
def test_a_host_is_a_peer_without_its_port(peer, host):
    assert host_of(peer) == host
