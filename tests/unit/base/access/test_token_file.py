"""Files of tokens: what is in them, who may read them, and that they change while they are used."""

import logging
import os

import pytest

from tickmind.base import ConfigError, Secret, redact
from tickmind.base.access.token_file import KnownTokens, TokenFile, rotate
from tickmind.base.secret import MAX_KNOWN_SECRETS

A, B, C = "a" * 20, "b" * 20, "c" * 20


def write(path, text, mode=0o600):
    path.touch(0o600)
    path.write_text(text)
    path.chmod(mode)
    return path


def tokens(file):
    return [(each.name, each.token.reveal()) for each in file.entries()]


def test_tokens_are_read_one_in_each_line_with_their_holders(tmp_path):
    file = TokenFile(write(tmp_path / "tokens", f"# ours\n\n{A}\nhost-a: {B}\n  host-b:  {C}\n"))
    assert tokens(file) == [("", A), ("host-a", B), ("host-b", C)]
    assert file.newest().reveal() == A


@pytest.mark.parametrize(
    "text", ["", "# none\n", "short\n", f"{A} {B}\n", "host-a: short\n", f"host-a:\n{A}\n", "ä" * 20]
)
def test_tokens_that_are_none_are_refused_without_being_shown(tmp_path, text):
    with pytest.raises(ConfigError, match="at least 16 characters") as caught:
        TokenFile(write(tmp_path / "tokens", text))
    assert "short" not in str(caught.value)
    assert A not in str(caught.value)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_files_that_others_may_read_are_refused_with_what_to_do(tmp_path, mode):
    file = write(tmp_path / "my tokens", A, mode)
    with pytest.raises(ConfigError) as refused:
        TokenFile(file)
    assert str(refused.value) == f"the token file {file} can be read by others; run: chmod 600 '{file}'"


@pytest.mark.parametrize(
    ("owner", "mode", "is_read"), [(0, 0o440, True), (0, 0o444, False), (0, 0o460, False), (7, 0o440, False)]
)
def test_a_file_that_root_gives_by_the_group_is_private(tmp_path, monkeypatch, owner, mode, is_read):
    """As Kubernetes mounts secrets for a user that is not root."""
    file = write(tmp_path / "tokens", A)
    real = os.fstat

    def fstat(descriptor):
        facts = real(descriptor)
        return os.stat_result((facts.st_mode & ~0o777 | mode, *facts[1:4], owner, *facts[5:10]))

    monkeypatch.setattr(os, "fstat", fstat)
    monkeypatch.setattr(os, "geteuid", lambda: 10001)
    if is_read:
        assert tokens(TokenFile(file)) == [("", A)]
    else:
        with pytest.raises(ConfigError, match="can be read by others"):
            TokenFile(file)


def test_tokens_are_masked_however_many_other_secrets_there_are(tmp_path):
    token = "plain-canary-of-a-world"
    TokenFile(write(tmp_path / "tokens", token))
    for number in range(int(MAX_KNOWN_SECRETS.maximum) + 1):
        Secret(f"secret of lease {number}")
    assert redact(f"it is {token}") == "it is ***"


@pytest.mark.parametrize("wrong", ["missing", "folder", "pipe"])
def test_files_that_can_not_be_read_are_told(tmp_path, wrong):
    file = tmp_path / "tokens"
    if wrong == "folder":
        file.mkdir(0o700)
    elif wrong == "pipe":
        os.mkfifo(file, 0o600)
    with pytest.raises(ConfigError, match=r"the token file .*tokens (can't be read|is no regular file)"):
        TokenFile(file)


def test_a_changed_file_counts_at_once_and_a_damaged_one_changes_nothing(tmp_path, caplog):
    caplog.set_level(logging.ERROR)
    path = write(tmp_path / "tokens", A)
    file = TokenFile(path)
    known = KnownTokens(file)
    assert known.holder_of(A) == ""
    rotate(path)
    new = file.newest().reveal()
    assert (known.holder_of(A), known.holder_of(new)) == ("", "")
    rotate(path, only=True)
    assert (known.holder_of(A), known.holder_of(new)) == (None, "")
    path.unlink()
    assert known.holder_of(new) == ""
    write(path, "short")
    assert known.holder_of(new) == ""
    assert caplog.text.count("keeping the tokens before") == 2
    assert "short" not in caplog.text
    write(path, B)
    assert (known.holder_of(new), known.holder_of(B)) == (None, "")


def test_an_unchanged_file_is_the_same_tuple(tmp_path):
    file = TokenFile(write(tmp_path / "tokens", A))
    assert file.entries() is file.entries()


def test_a_rotation_concerns_one_holder(tmp_path):
    path = tmp_path / "new folder" / "tokens"
    assert rotate(path, "host-a") == 1
    assert path.stat().st_mode & 0o777 == 0o600
    assert rotate(path, "host-b") == 1
    assert rotate(path, "host-a") == 2
    assert [name for name, _ in tokens(TokenFile(path))] == ["host-a", "host-b", "host-a"]
    newest = TokenFile(path).newest().reveal()
    assert rotate(path, "host-a", only=True) == 1
    assert [name for name, _ in tokens(TokenFile(path))] == ["host-a", "host-b"]
    assert TokenFile(path).newest().reveal() == newest


@pytest.mark.parametrize("name", ["a b", "ä", "-a", "a" * 65, "a:"])
def test_holders_have_plain_names(tmp_path, name):
    with pytest.raises(ConfigError, match="no name for the holder"):
        rotate(tmp_path / "tokens", name)


def test_no_token_can_be_left_alone_where_there_is_none(tmp_path):
    with pytest.raises(ConfigError, match="make one first"):
        rotate(tmp_path / "tokens", only=True)


def test_without_tokens_none_is_known():
    assert not KnownTokens()
    assert KnownTokens().holder_of("") is None
    assert KnownTokens((Secret(A),)).holder_of(A) == ""
