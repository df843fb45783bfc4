"""Certificates and tokens of a trial behind TLS, made for it alone."""

from dataclasses import dataclass
from pathlib import Path

from tickmind.base.access.small_ca import CA_CERTIFICATE, SERVER, SmallCa
from tickmind.base.access.tls_files import TlsFiles
from tickmind.base.access.token_file import TokenFile, rotate
from tickmind.server import ServerTls

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class TrialCredentials:
    """The credentials in a folder: an authority of this trial, and a file with the agent's token."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> "TrialCredentials":
        """Make them."""
        SmallCa.make(folder).issue_server([HOST], days=1)
        made = cls(folder)
        rotate(made.token_file)
        return made

    @property
    def token_file(self) -> Path:
        """The file of the agent's token."""
        return self.folder / "tokens"

    @property
    def tls(self) -> TlsFiles:
        """What the agent trusts."""
        return TlsFiles(self.folder / CA_CERTIFICATE)

    @property
    def server(self) -> Path:
        """The folder with the certificate of the world and of its WebSocket."""
        return self.folder / SERVER

    def server_tls(self) -> ServerTls:
        """Return the certificate of the world."""
        return ServerTls.load(self.server)

    def tokens(self) -> TokenFile:
        """Return the world's tokens."""
        return TokenFile(self.token_file)

    def exchange_token(self) -> None:
        """Put another token in place of the present one, which is worth nothing from now on."""
        rotate(self.token_file)
        rotate(self.token_file, only=True)
