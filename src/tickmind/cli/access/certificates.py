"""`tickmind certificates` and `tickmind token`: what a test or a laboratory needs for worlds on other machines."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError

if TYPE_CHECKING:
    import datetime

    from tickmind.base.access.small_ca import IssuedCertificate, SmallCa

DAYS = 90
WARN_DAYS = 30
CAUTION = (
    "This is for a test or a laboratory: {key} is not encrypted, and who reads it can pass for any of these hosts. "
    "Keep it off the machines that only need ca.pem and their own certificate; nothing is revoked before it ends."
)

certificates_app = typer.Typer(
    name="certificates",
    help="Make and renew the certificates of a test or a laboratory.",
    short_help="Make certificates for a test or a laboratory.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the authority and its certificates.")]
Days = Annotated[int, typer.Option(min=1, max=3650, help="How many days the certificates hold.")]


@certificates_app.command(short_help="Make an authority, and certificates for a server and clients.")
def make(
    folder: Folder,
    host: Annotated[
        list[str] | None, typer.Option("--host", help="A name or address of the server, as clients write it.")
    ] = None,
    client: Annotated[
        list[str] | None, typer.Option("--client", help="A client that is to have a certificate of its own.")
    ] = None,
    days: Days = DAYS,
) -> None:
    """Make an authority in DIR, a certificate for the server with all --host, and one for each --client.

    `--tls DIR/server` takes the server's, clients trust `DIR/ca.pem`. Into a folder with an authority it puts further
    certificates of the same one.
    """
    if not host and not client:
        raise ConfigError("name at least one host that clients will use, such as --host world.lab --host 10.0.0.5")
    ca = _authority(folder)
    issued = [ca.issue_server(host, days=days)] if host else []
    issued += [ca.issue_client(name, days=days) for name in client or ()]
    _show(issued)
    typer.echo(f"{folder / 'ca.pem'} is for all clients; {folder / 'ca.key'} stays here.")
    typer.echo(CAUTION.format(key=folder / "ca.key"), err=True)


@certificates_app.command(short_help="Issue all certificates of a folder anew.")
def renew(folder: Folder, days: Days = DAYS) -> None:
    """Issue all certificates in DIR anew, for the same names, with new keys. Clients keep their ca.pem."""
    import datetime

    from tickmind.base.access.small_ca import SmallCa

    ca = SmallCa.open(folder)
    renewed = ca.renew(days=days)
    if not renewed:
        raise ConfigError(f"{folder} has no certificates to renew; issue one with `tickmind certificates make`")
    _show(renewed)
    typer.echo("Restart the servers that use them, or wait until they do; clients connect again by themselves.")
    if ca.ends - datetime.datetime.now(datetime.UTC) < datetime.timedelta(days=WARN_DAYS):
        typer.echo(f"The authority itself ends on {_day(ca.ends)}; make another one in another folder.", err=True)


def token(
    file: Annotated[Path, typer.Argument(help="The file of tokens of one role; made if it is not there.")],
    name: Annotated[
        str, typer.Option(help="Whose token it is; only callers of the same name may use each other's leases.")
    ] = "",
    only: Annotated[
        bool, typer.Option("--only", help="Remove the tokens of this name that are older, which ends a rotation.")
    ] = False,
) -> None:
    """Put a new token in front of those in FILE, readable by you only; --only takes the old ones of its holder out.

    Servers and clients that use the file read it again by themselves. Until the old token is removed, both are valid.
    """
    from tickmind.base.access.token_file import rotate

    held = rotate(file, name, only=only)
    whose = f" of {name}" if name else ""
    done = "only the newest is valid now" if only else "the newest is sent, the others are still valid"
    typer.echo(f"{file}: {held} token{'s' if held > 1 else ''}{whose}; {done}.")


def _authority(folder: Path) -> "SmallCa":
    from tickmind.base.access.small_ca import CA_KEY, SmallCa

    return SmallCa.open(folder) if (folder / CA_KEY).exists() else SmallCa.make(folder)


def _show(issued: "list[IssuedCertificate]") -> None:
    for each in issued:
        typer.echo(f"{each.path.parent}: {', '.join(each.names)}, until {_day(each.ends)}")


def _day(when: "datetime.datetime") -> str:
    return when.strftime("%Y-%m-%d")
