"""`tickmind`: the commands, and their exit codes.

An error of ours ends with one plain sentence and exit code 1, a wrong argument with 2, Ctrl-C with 130. Commands import
what they need when they run, so that `--help` is fast.
"""

import os
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import tickmind
from tickmind.base import TickmindError, configure_logging, get_logger, redact
from tickmind.base.process_guard import guard_process
from tickmind.cli import EXIT_INTERRUPTED
from tickmind.cli.access.certificates import certificates_app, token
from tickmind.cli.access.health import check_health
from tickmind.cli.ask.commands import ask
from tickmind.cli.check import check
from tickmind.cli.conformance.commands import conformance
from tickmind.cli.demo import demo
from tickmind.cli.doctor import doctor, how_to_install
from tickmind.cli.gateway.commands import gateway_app
from tickmind.cli.lab.branch import branch
from tickmind.cli.lab.experiment import experiment
from tickmind.cli.lab.interview import interview
from tickmind.cli.mcp.commands import mcp_app
from tickmind.cli.minds.commands import mind
from tickmind.cli.model.commands import model_app
from tickmind.cli.new import new_app
from tickmind.cli.runner.commands import runner
from tickmind.cli.runs.commands import recover, runs_app
from tickmind.cli.runs.measure import measure
from tickmind.cli.runs.report import report
from tickmind.cli.runs.story import story
from tickmind.cli.screen import harmless
from tickmind.cli.up import up
from tickmind.cli.viewer import replay, viewer
from tickmind.cli.websocket import websocket
from tickmind.cli.world.commands import world
from tickmind.cli.world.placing import despawn, spawn

EXIT_FAILED = 1
_log = get_logger(__name__)


class LogLevel(StrEnum):
    """The log levels."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogForm(StrEnum):
    """The formats of log lines."""

    CONSOLE = "console"
    JSON = "json"


class PlainEndings(TyperGroup):
    """Finds commands, and turns every error of one into a plain message and an exit code."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; some have a name of two words, of which the first is a command as well."""
        two = " ".join(args[:2])
        if two in self.commands:
            return two, self.commands[two], args[2:]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; an error becomes a message and an exit code."""
        try:
            return super().invoke(ctx)
        except TickmindError as error:
            _log.debug("the command failed", exc_info=error)
            typer.echo(harmless(redact(str(error))), err=True)
            raise typer.Exit(EXIT_FAILED) from None
        except ModuleNotFoundError as error:
            command = how_to_install(error.name or "")
            if command is None:
                raise
            _log.debug("the command failed", exc_info=error)
            typer.echo(f"this command needs {error.name}, which is not installed: {command}", err=True)
            raise typer.Exit(EXIT_FAILED) from None
        except KeyboardInterrupt:
            typer.echo("\nStopped.", err=True)
            raise typer.Exit(EXIT_INTERRUPTED) from None


app = typer.Typer(
    name="tickmind",
    cls=PlainEndings,
    help="Worlds whose characters think with language models: the world ticks on time, thoughts arrive when they do.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help is faster, and readable in a pipe
    pretty_exceptions_enable=False,  # they would show the values of variables
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tickmind {tickmind.__version__}")
        raise typer.Exit


@app.callback()
def begin(
    log_level: Annotated[
        LogLevel, typer.Option(help="How much is logged to stderr; debug also shows where an error came from.")
    ] = LogLevel.WARNING,
    log_style: Annotated[
        LogForm, typer.Option(help="How log lines look: for people or for machines.")
    ] = LogForm.CONSOLE,
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Set up logging for all commands."""
    configure_logging(log_style.value, level=log_level.value)


app.command()(ask)
app.add_typer(certificates_app)
app.command()(check)
app.command(short_help="Try an agent in any language against the launch contract.")(conformance)
app.command(short_help="Watch a village of twelve live, talk and make plans.")(demo)
app.command(short_help="Check this machine, and show what to do.")(doctor)
app.command(short_help="Run a scenario under several conditions, and say whether they differ.")(experiment)
app.add_typer(gateway_app)
app.command("health", short_help="Say whether a world, a gateway, a viewer or a runner serves.")(check_health)
app.command(short_help="Branch a recorded run at a tick, with something changed.")(branch)
app.command(short_help="Ask characters of a recorded run what they knew.")(interview)
app.add_typer(mcp_app)
app.command(short_help="Print one mind of a recorded run at a tick.")(mind)
app.add_typer(model_app)
app.add_typer(new_app)
app.command(short_help="Finish a run after a crash.")(recover)
app.command(short_help="Show a recorded run in the browser.")(replay)
app.command(short_help="Report on a finished run.")(report)
app.command(short_help="Measure how minds lived in some runs.")(measure)
app.command(short_help="Tell a recorded run as a chronicle.")(story)
app.command()(runner)
app.add_typer(runs_app)
app.command(short_help="Make or rotate a token for a world or a viewer.")(token)
app.command(short_help="Start a world, its characters and their models.")(up)
app.command()(viewer)
app.command(short_help="Serve a running world over WebSocket.")(websocket)
app.command()(world)
app.command("world spawn", short_help="Bring an actor into a running world.")(spawn)
app.command("world despawn", short_help="Take an actor out of a running world.")(despawn)


class WithoutPandas:
    """Keeps pandas from being imported: pyarrow loads it wherever it is installed, which takes half a second.

    It only asks pandas whether a list is one of its series.
    """

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        """Report that pandas is missing; other modules are left to other finders."""
        if name == "pandas":
            raise ModuleNotFoundError("tickmind's own program uses no pandas", name=name)


def main() -> None:
    """Run the program, and exit with its code."""
    guard_process()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # a model may write what this terminal can't show
    sys.meta_path.insert(0, WithoutPandas())
    os.environ.setdefault(
        "GRPC_VERBOSITY", "ERROR"
    )  # or each stranger's failed handshake writes a line to the terminal
    if any(name.startswith("OTEL_EXPORTER_OTLP") for name in os.environ):
        from tickmind.adapters.telemetry import announce

        announce(os.environ)
    typer.main.get_command(app)(prog_name="tickmind")  # not `app()`, which would replace the guard's hook
