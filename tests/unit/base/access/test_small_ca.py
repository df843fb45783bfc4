"""The authority of a test or a laboratory, and the files that it makes."""

import datetime
import ssl

import pytest

from tickmind.base import ConfigError
from tickmind.base.access.small_ca import SmallCa
from tickmind.base.access.tls_files import TlsFiles, server_context

NOW = datetime.datetime(2026, 5, 1, tzinfo=datetime.UTC)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "certificates"


def pair(folder):
    return folder / "cert.pem", folder / "key.pem"


def test_keys_are_for_the_user_only_and_fit_their_certificates(folder):
    ca = SmallCa.make(folder)
    ca.issue_server(["world.lab", "10.0.0.5", "::1"])
    ca.issue_client("host-a")
    keys = [folder / "ca.key", folder / "server" / "key.pem", folder / "clients" / "host-a" / "key.pem"]
    assert [key.stat().st_mode & 0o777 for key in keys] == [0o600] * 3
    server_context(folder / "server", client_ca=folder / "ca.pem")
    TlsFiles(folder / "ca.pem", *pair(folder / "clients" / "host-a")).check()


def test_a_renewed_certificate_has_the_same_names_and_another_key(folder):
    ca = SmallCa.make(folder, now=NOW)
    first = [ca.issue_server(["world.lab", "10.0.0.5"], days=9, now=NOW), ca.issue_client("host-a", days=9, now=NOW)]
    before = [path.read_bytes() for path in pair(folder / "server")]
    later = NOW + datetime.timedelta(days=8)
    renewed = SmallCa.open(folder).renew(days=9, now=later)
    assert (
        [each.names for each in renewed] == [each.names for each in first] == [("world.lab", "10.0.0.5"), ("host-a",)]
    )
    assert [each.ends for each in renewed] == [later + datetime.timedelta(days=9)] * 2
    assert all(
        now != then for now, then in zip((path.read_bytes() for path in pair(folder / "server")), before, strict=True)
    )
    server_context(folder / "server")


def test_no_certificate_outlives_its_authority(folder):
    ca = SmallCa.make(folder, days=30, now=NOW)
    assert ca.issue_server(["a"], days=90, now=NOW).ends == ca.ends


def test_an_authority_is_not_overwritten(folder):
    SmallCa.make(folder)
    key = (folder / "ca.key").read_bytes()
    with pytest.raises(ConfigError, match="has an authority already"):
        SmallCa.make(folder)
    assert (folder / "ca.key").read_bytes() == key


@pytest.mark.parametrize("host", ["", "a b", "http://world", "world:50051", "-", "ä", "x/../y"])
def test_what_is_no_host_is_refused(folder, host):
    with pytest.raises(ConfigError, match="is no host"):
        SmallCa.make(folder).issue_server([host])


@pytest.mark.parametrize("name", ["", "../server", "a/b", "a b", ".", "-a"])
def test_clients_have_plain_names(folder, name):
    with pytest.raises(ConfigError, match="no name for a client"):
        SmallCa.make(folder).issue_client(name)


def test_a_key_that_others_may_read_is_not_used(folder):
    ca = SmallCa.make(folder)
    ca.issue_server(["a"])
    (folder / "server" / "key.pem").chmod(0o644)
    with pytest.raises(ConfigError, match=r"private key .* can be read by others"):
        server_context(folder / "server")
    (folder / "ca.key").chmod(0o640)
    with pytest.raises(ConfigError, match=r"private key .* can be read by others"):
        SmallCa.open(folder)


def test_damaged_files_are_named(folder, tmp_path):
    with pytest.raises(ConfigError, match="tickmind certificates make"):
        SmallCa.open(folder)
    ca = SmallCa.make(folder)
    ca.issue_client("a")
    ca.issue_client("b")
    certificate, key = pair(folder / "clients" / "a")
    with pytest.raises(ConfigError, match="can't be used together: KEY_VALUES_MISMATCH"):
        TlsFiles(folder / "ca.pem", certificate, folder / "clients" / "b" / "key.pem").check()
    with pytest.raises(ConfigError, match="give both, or neither"):
        TlsFiles(folder / "ca.pem", certificate)
    with pytest.raises(ConfigError, match="holds no certificate"):
        TlsFiles(key).check()
    with pytest.raises(ConfigError, match="can't be read"):
        TlsFiles(tmp_path / "missing.pem").check()
    damaged = tmp_path / "damaged.pem"
    damaged.write_text("-----BEGIN CERTIFICATE-----\nxxxx\n-----END CERTIFICATE-----\n")
    with pytest.raises(ConfigError, match="damaged certificate"):
        TlsFiles(damaged).check()


def test_https_trusts_the_authority_and_the_system(folder):
    SmallCa.make(folder)
    context = TlsFiles(folder / "ca.pem").context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.cert_store_stats()["x509_ca"] > ssl.create_default_context().cert_store_stats()["x509_ca"] - 1
