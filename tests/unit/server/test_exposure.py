"""Who can reach a world."""

import os
import socket

import pytest

from tickmind.base import ConfigError, Secret, redact
from tickmind.base.secret import MAX_KNOWN_SECRETS
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
    file.touch(0o600)
    file.write_text("# ours\n\n" + "a" * 20 + "\n" + "b" * 20 + "\n")
    assert load_tokens(file) == (Secret("a" * 20), Secret("b" * 20))


@pytest.mark.parametrize("text", ["", "# none\n", "short\n"])
def test_tokens_that_are_none_are_refused_without_being_shown(tmp_path, text):
    file = tmp_path / "tokens"
    file.touch(0o600)
    file.write_text(text)
    with pytest.raises(ConfigError, match="at least 16 characters") as caught:
        load_tokens(file)
    assert "short" not in str(caught.value)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_files_of_secrets_that_others_may_read_are_refused_with_what_to_do(tmp_path, mode):
    file = tmp_path / "my tokens"
    file.write_text("a" * 20)
    file.chmod(mode)
    with pytest.raises(ConfigError) as refused:
        load_tokens(file)
    assert str(refused.value) == f"the token file {file} can be read by others; run: chmod 600 '{file}'"
    with pytest.raises(ConfigError, match=r"the private key .* can be read by others; run: chmod 600"):
        ServerTls.load(file, file)
    file.chmod(0o600)
    assert load_tokens(file) == (Secret("a" * 20),)
    assert ServerTls.load(file, file).private_key == b"a" * 20


def test_tokens_are_masked_however_many_other_secrets_there_are(tmp_path):
    file = tmp_path / "tokens"
    file.touch(0o600)
    token = "plain-canary-of-a-world"
    file.write_text(token)
    load_tokens(file)
    for number in range(int(MAX_KNOWN_SECRETS.maximum) + 1):
        Secret(f"secret of lease {number}")
    assert redact(f"it is {token}") == "it is ***"


@pytest.mark.parametrize("wrong", ["missing", "folder", "pipe"])
def test_token_files_that_can_not_be_read_are_told(tmp_path, wrong):
    file = tmp_path / "tokens"
    if wrong == "folder":
        file.mkdir(0o700)
    elif wrong == "pipe":
        os.mkfifo(file, 0o600)
    with pytest.raises(ConfigError, match=r"the token file .*tokens (can't be read|is no regular file)"):
        load_tokens(file)


@pytest.mark.parametrize(
    ("peer", "host"),
    [("ipv4:127.0.0.1:5123", "ipv4:127.0.0.1"), ("ipv6:%5B::1%5D:44", "ipv6:%5B::1%5D"), ("unix:", "unix")],
)
def test_a_host_is_a_peer_without_its_port(peer, host):
    assert host_of(peer) == host
