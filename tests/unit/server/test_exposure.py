"""Who can reach a world."""

import socket

import pytest

from tickmind.base import Secret
from tickmind.server import AddressError, ExposureError, ServerTls
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


def test_viewers_need_no_tokens_where_agents_need_none():
    with pytest.raises(ExposureError, match="anybody could control characters; give --token-file too"):
        check_exposure("127.0.0.1:1", None, (), TOKENS)
    check_exposure("127.0.0.1:1", None, TOKENS, TOKENS)


@pytest.mark.parametrize(
    ("peer", "host"),
    [("ipv4:127.0.0.1:5123", "ipv4:127.0.0.1"), ("ipv6:%5B::1%5D:44", "ipv6:%5B::1%5D"), ("unix:", "unix")],
)
def test_a_host_is_a_peer_without_its_port(peer, host):
    assert host_of(peer) == host
