"""`tickmind certificates` and `tickmind token`: what they make, and what they say."""

import re

import pytest

from tickmind.base.access.small_ca import SmallCa
from tickmind.base.access.tls_files import server_context
from tickmind.base.access.token_file import TokenFile


def test_certificates_are_made_renewed_and_added_to(tickmind, tmp_path):
    folder = tmp_path / "certificates"
    made = tickmind("certificates", "make", str(folder), "--host", "world.lab", "--host", "10.0.0.5", "--days", "9")
    assert made.exit_code == 0, made.output
    assert "world.lab, 10.0.0.5, until 20" in made.stdout
    assert "not encrypted" in made.stderr
    authority = (folder / "ca.pem").read_bytes()
    added = tickmind("certificates", "make", str(folder), "--client", "host-b")
    assert added.exit_code == 0, added.output
    renewed = tickmind("certificates", "renew", str(folder))
    assert renewed.exit_code == 0, renewed.output
    assert len(re.findall("until", renewed.stdout)) == 3  # the last one is what to do
    assert (folder / "ca.pem").read_bytes() == authority
    server_context(folder / "server", folder / "ca.pem")


def test_an_authority_that_ends_soon_is_told(tickmind, tmp_path):
    SmallCa.make(tmp_path / "ca", days=5).issue_server(["a"])
    assert "The authority itself ends on 20" in tickmind("certificates", "renew", str(tmp_path / "ca")).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["make", "DIR"], "name at least one host"),
        (["make", "DIR", "--host", "http://world"], "is no host"),
        (["renew", "DIR"], "can't be read"),
    ],
)
def test_what_can_not_be_made_is_said(tickmind, tmp_path, words, said):
    result = tickmind("certificates", *[str(tmp_path / "ca") if word == "DIR" else word for word in words])
    assert result.exit_code == 1
    assert said in result.stderr


def test_a_token_is_never_shown(tickmind, tmp_path):
    file = tmp_path / "tokens" / "agents"
    shown = [tickmind("token", str(file), "--name", "host-b", *more) for more in ((), (), ("--only",))]
    assert [result.exit_code for result in shown] == [0, 0, 0]
    assert "2 tokens of host-b; the newest is sent" in shown[1].stdout
    assert "1 token of host-b; only the newest is valid now" in shown[2].stdout
    (entry,) = TokenFile(file).entries()
    assert not any(entry.token.reveal() in result.output for result in shown)
    assert file.stat().st_mode & 0o777 == 0o600
    wrong = tickmind("token", str(file), "--name", "host-c", "--only")
    assert (wrong.exit_code, "make one first" in wrong.stderr) == (1, True)
