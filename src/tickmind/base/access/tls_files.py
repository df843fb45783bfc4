"""Certificates in files: those that a client trusts and shows, and those of a server."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tickmind.base.errors import ConfigError, LimitExceededError
from tickmind.base.limits import Limit
from tickmind.base.secret_sources import MAX_KEY_FILE_BYTES, SourceError, read_private

if TYPE_CHECKING:
    from ssl import SSLContext

CERTIFICATE, KEY = "cert.pem", "key.pem"  # in the folder of a server, or of a client
MAX_CA_BYTES = Limit("size of a file of CA certificates", 4_000_000, "bytes")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """What a client needs for TLS: the CA that it trusts, and its own certificate and key if the server requires them.

    Relative paths must be made absolute before they are passed on to a process that has another folder.
    """

    ca: Path
    certificate: Path | None = None
    key: Path | None = None
    server_name: str = ""  # the name in the server's certificate, if it is not the host's

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise ConfigError("a client's certificate and its key go together; give both, or neither")

    def check(self) -> None:
        """Raise `ConfigError` if a file can't be used, and say which."""
        self.context()

    def context(self) -> "SSLContext":
        """Return a context for HTTPS, which trusts this CA and those of the system."""
        import ssl

        context = ssl.create_default_context()
        trust(context, self.ca)
        if self.certificate is not None and self.key is not None:
            load_pair(context, self.certificate, self.key)
        return context


def read_certificates(path: Path) -> bytes:
    """Return the certificates of a file as PEM text; raises `ConfigError` if there are none."""
    try:
        with path.open("rb") as file:
            content = file.read(int(MAX_CA_BYTES.maximum) + 1)
        MAX_CA_BYTES.check(len(content))
    except OSError as error:
        raise ConfigError(f"the certificate {path} can't be read: {error.strerror}") from None
    except LimitExceededError as error:
        raise ConfigError(f"{path}: {error}") from None
    if b"-----BEGIN CERTIFICATE-----" not in content:
        raise ConfigError(f"{path} holds no certificate; it must be PEM text, with -----BEGIN CERTIFICATE----- in it")
    return content


def read_key(path: Path) -> bytes:
    """Return a private key as PEM text; raises `ConfigError` if others may read it."""
    try:
        return read_private(path, MAX_KEY_FILE_BYTES, "the private key")
    except (SourceError, LimitExceededError) as error:
        raise ConfigError(str(error)) from None


def trust(context: "SSLContext", ca: Path) -> None:
    """Let a context trust the certificates of a file too; raises `ConfigError`."""
    import ssl

    content = read_certificates(ca)
    try:
        context.load_verify_locations(cadata=content.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError):
        raise ConfigError(f"{ca} holds a damaged certificate; copy it again") from None


def load_pair(context: "SSLContext", certificate: Path, key: Path) -> None:
    """Let a context show this certificate; raises `ConfigError` if it and the key can't be used together."""
    import ssl

    read_certificates(certificate)
    read_key(key)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        why = error.reason if isinstance(error, ssl.SSLError) and error.reason else error.strerror or str(error)
        raise ConfigError(f"{certificate} and {key} can't be used together: {why}") from None


def server_context(folder: Path, client_ca: Path | None = None) -> "SSLContext":
    """Return a web server's context from `cert.pem` and `key.pem` of a folder; raises `ConfigError`.

    With `client_ca` it requires of each client a certificate of that CA.
    """
    import ssl

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    load_pair(context, folder / CERTIFICATE, folder / KEY)
    if client_ca is not None:
        trust(context, client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
