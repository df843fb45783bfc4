"""`SmallCa`: a certificate authority in a folder, for a test or a laboratory.

Its private key lies beside the certificates, unencrypted, so a reader of the folder can pass for any host. It needs
`cryptography` (extra `certificates`).
"""

import datetime
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tickmind.base.access.tls_files import CERTIFICATE, KEY
from tickmind.base.errors import ConfigError
from tickmind.base.files import PRIVATE_MODE, replace_file
from tickmind.base.limits import Limit
from tickmind.base.secret_sources import SourceError, read_private

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.hashes import SHA256

CA_CERTIFICATE, CA_KEY = "ca.pem", "ca.key"
SERVER, CLIENTS = "server", "clients"
DAYS, CA_DAYS = 90, 3650
MAX_PEM_BYTES = Limit("size of a certificate file", 65_536, "bytes")
_EARLIER = datetime.timedelta(hours=1)  # certificates hold for machines whose clock is a little late
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_HOST = re.compile(r"(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class IssuedCertificate:
    """A certificate that the authority has signed: its file, its names, and when it ends."""

    path: Path
    names: tuple[str, ...]
    ends: datetime.datetime


class SmallCa:
    """The authority in a folder. `make` begins one, `open` reads one; both raise `ConfigError`.

        ca = SmallCa.make(Path("certificates"))
        ca.issue_server(["world.lab", "10.0.0.5"])
        ca.issue_client("host-a")

    The folder then has `ca.pem` for all clients, `server/` for `--tls`, and `clients/host-a/` for that client.
    """

    def __init__(self, folder: Path, certificate: "x509.Certificate", key: "EllipticCurvePrivateKey") -> None:
        self._folder = folder
        self._certificate = certificate
        self._key = key

    @property
    def ends(self) -> datetime.datetime:
        """The end of the authority's own certificate."""
        return self._certificate.not_valid_after_utc

    @classmethod
    def make(cls, folder: Path, *, days: int = CA_DAYS, now: datetime.datetime | None = None) -> "SmallCa":
        """Make a new authority; an existing one is left alone."""
        from cryptography import x509

        if (folder / CA_KEY).exists() or (folder / CA_CERTIFICATE).exists():
            raise ConfigError(f"{folder} has an authority already; renew its certificates, or choose another folder")
        key = _new_key()
        now = now or _now()
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tickmind laboratory CA, not for production")])
        public = key.public_key()
        usage = {use: use in ("key_cert_sign", "crl_sign", "digital_signature") for use in _USES}
        builder = (
            _builder(name, name, public, now, now + datetime.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        )
        ca = cls(folder, builder.sign(key, _sha256()), key)
        _write_pair(folder / CA_CERTIFICATE, _pem(ca._certificate), folder / CA_KEY, key)
        return ca

    @classmethod
    def open(cls, folder: Path) -> "SmallCa":
        """Read the authority of a folder."""
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        pem = _read(folder / CA_CERTIFICATE)
        try:
            certificate = x509.load_pem_x509_certificate(pem)
            key = load_pem_private_key(
                read_private(folder / CA_KEY, MAX_PEM_BYTES, "the authority's private key"), password=None
            )
        except SourceError as error:
            raise ConfigError(str(error)) from None
        except ValueError:
            raise ConfigError(
                f"{folder / CA_CERTIFICATE} and {CA_KEY} are no certificate and key; make another authority"
            ) from None
        if not isinstance(key, EllipticCurvePrivateKey):
            raise ConfigError(f"{folder / CA_KEY} is not a key that `tickmind certificates make` made")
        return cls(folder, certificate, key)

    def issue_server(
        self, hosts: Sequence[str], *, days: int = DAYS, now: datetime.datetime | None = None
    ) -> IssuedCertificate:
        """Issue the server's certificate for some host names and addresses, with a new key."""
        if not hosts:
            raise ConfigError("name at least one host that clients will use, such as --host world.lab")
        return self._issue(self._folder / SERVER, hosts[0], hosts, days, now, is_server=True)

    def issue_client(self, name: str, *, days: int = DAYS, now: datetime.datetime | None = None) -> IssuedCertificate:
        """Issue the certificate of a client, with a new key."""
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{name!r} is no name for a client; use letters, digits, dots, dashes and underscores")
        return self._issue(self._folder / CLIENTS / name, name, (), days, now, is_server=False)

    def renew(self, *, days: int = DAYS, now: datetime.datetime | None = None) -> list[IssuedCertificate]:
        """Issue all certificates of the folder anew, for the same names."""
        renewed = []
        if (self._folder / SERVER / CERTIFICATE).exists():
            renewed.append(self.issue_server(_hosts_of(self._folder / SERVER / CERTIFICATE), days=days, now=now))
        renewed += [
            self.issue_client(path.parent.name, days=days, now=now)
            for path in sorted((self._folder / CLIENTS).glob(f"*/{CERTIFICATE}"))
        ]
        return renewed

    def _issue(
        self,
        folder: Path,
        name: str,
        hosts: Sequence[str],
        days: int,
        now: datetime.datetime | None,
        *,
        is_server: bool,
    ) -> IssuedCertificate:
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID

        names = [_general_name(host) for host in hosts]
        key, now = _new_key(), now or _now()
        ends = min(now + datetime.timedelta(days=days), self.ends)
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name[:64])])
        purpose = ExtendedKeyUsageOID.SERVER_AUTH if is_server else ExtendedKeyUsageOID.CLIENT_AUTH
        usage = {use: use == "digital_signature" for use in _USES}
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = (
            _builder(subject, self._certificate.subject, key.public_key(), now, ends)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(authority, critical=False)
        )
        if is_server:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = builder.sign(self._key, _sha256())
        _write_pair(folder / CERTIFICATE, _pem(certificate), folder / KEY, key)
        return IssuedCertificate(folder / CERTIFICATE, tuple(hosts) or (name,), ends)


_USES = (
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
    "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
)  # fmt: skip


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC).replace(microsecond=0)


def _new_key() -> "EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _sha256() -> "SHA256":
    from cryptography.hazmat.primitives.hashes import SHA256

    return SHA256()


def _builder(
    subject: "x509.Name",
    issuer: "x509.Name",
    public: "EllipticCurvePublicKey",
    now: datetime.datetime,
    ends: datetime.datetime,
) -> "x509.CertificateBuilder":
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, ends) - _EARLIER)
        .not_valid_after(ends)
    )


def _general_name(host: str) -> "x509.GeneralName":
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        if not _HOST.fullmatch(host):
            raise ConfigError(
                f"{host!r} is no host; write a name such as world.lab or an address, without a port"
            ) from None
        return x509.DNSName(host)


def _hosts_of(path: Path) -> list[str]:
    from cryptography import x509

    pem = _read(path)
    try:
        names = x509.load_pem_x509_certificate(pem).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (ValueError, x509.ExtensionNotFound):
        raise ConfigError(f"{path} is no certificate with names of hosts; issue another with --host") from None
    return [str(name.value) for name in names.value]


def _pem(certificate: "x509.Certificate") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _read(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{path} can't be read: {error.strerror}; make it with `tickmind certificates make`"
        ) from None
    MAX_PEM_BYTES.check(len(content))
    return content


def _write_pair(certificate: Path, pem: bytes, key_path: Path, key: "EllipticCurvePrivateKey") -> None:
    """Write a certificate and its key, the key for this user only."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        key_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(key_path, secret, mode=PRIVATE_MODE)
        replace_file(certificate, pem)
    except OSError as error:
        raise ConfigError(f"{error.filename or certificate.parent} can't be written: {error.strerror}") from None
