"""`agent` and `run`: make a process that lives in a world from a function or a class."""

import asyncio
import inspect
import os
import runpy
import signal
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from tickmind.agent.contract import Launch, log_level
from tickmind.agent.errors import LaunchError
from tickmind.agent.minds import Mind, MindHost, PastMinds, PlainMindHost, Start
from tickmind.agent.process.agent_process import AgentProcess
from tickmind.agent.process.restoring import RestoringHost
from tickmind.base import ConfigError, Secret, TickmindError, configure_logging, error_text, redact
from tickmind.base.garbage import GarbageKeeper
from tickmind.base.process_guard import guard_process
from tickmind.base.telemetry.tracing import load_tracer
from tickmind.protocol import Intent, Observation
from tickmind.tick.hooks import checked

if TYPE_CHECKING:
    from tickmind.llm.cassettes.replies import ReplyTransport
    from tickmind.strategy.clients.client import AnyClient

    PlayModel: TypeAlias = Callable[["ProcessContext", AnyClient | None], AnyClient | None]

EXIT_FAILED = 1
MOST_YOUNG = 200_000  # new objects after which garbage is collected even within a tick
ActFn = Callable[[Observation], Intent]
MakeHost: TypeAlias = Callable[["ProcessContext"], MindHost]
_captured: "ContextVar[list[MakeHost] | None]" = ContextVar("captured", default=None)


class _LoadedError(BaseException):
    """Ends a program that was run only to find what makes its host."""


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """The settings of a process, for the code that makes its host."""

    launch: Launch
    secrets: Mapping[str, Secret]
    env: Mapping[str, str]
    characters: dict[int, Any] = field(default_factory=dict)  # entity of the private world -> its character
    faculties: dict[int, str] = field(default_factory=dict)  # entity of a character's faculty -> its name
    reply_transports: "list[ReplyTransport]" = field(default_factory=list)  # of models whose replies are kept
    past: PastMinds | None = None  # if the past of its minds is lived again
    play: "PlayModel | None" = None  # stands before each of its models, or in place of one that is not there

    def start(self, entity_id: str) -> Start:
        """What one of its characters begins with."""
        return Start(entity_id, self.launch.settings)

    def played(self, client: "AnyClient | None") -> "AnyClient | None":
        """Return the client that stands before a model, if the process has one; else the model itself."""
        return client if self.play is None else self.play(self, client)


class _Function:
    """A function as the mind of an entity."""

    def __init__(self, act: ActFn) -> None:
        self.act = act


class Agent:
    """The result of `@agent`: call it, or `run()` it as a process."""

    def __init__(self, make: Callable[[Start], Mind], act: ActFn | None = None) -> None:
        self.make = make
        """Makes the mind of one entity."""
        self._act = act

    def __call__(self, observation: Observation) -> Intent:
        """Decide once, as in a test; a class gets a new mind for each call."""
        if self._act is not None:
            return self._act(observation)
        return self.make(Start(observation.me.entity_id)).act(observation)

    def run(self, env: Mapping[str, str] | None = None) -> NoReturn:
        """Run as the environment says, until SIGTERM or Ctrl-C; then exit."""
        run(lambda stage: PlainMindHost(self.make, stage.start), env)


def agent(act: ActFn | type[Mind]) -> Agent:
    """Make an agent from `act(observation) -> Intent`, or from a class with such a method, one instance per entity.

    A class may take a `Start` as its only argument. `act` runs beside the connection, so it may take its time; an
    answer after the deadline does not count, and the entity waits in that tick. Raises `ConfigError` for an `async
    def`, and for a function that does not take an observation: no tick could ever call it.
    """
    if not isinstance(act, type):
        _check_act(act, "the act of an agent", 1)
        return Agent(lambda _start: _Function(act), act)
    method: Callable[..., Intent] | None = getattr(act, "act", None)
    if method is None or not callable(method):
        raise ConfigError(f"{act.__qualname__} is not an agent; give it a method act(self, observation)")
    bare = inspect.getattr_static(act, "act")
    _check_act(method, "the act of an agent", 1 if isinstance(bare, (staticmethod, classmethod)) else 2)
    kind: Callable[..., Mind] = act
    takes_start = bool(inspect.signature(act).parameters)
    return Agent(lambda start: kind(start) if takes_start else kind())


def _check_act(act: Callable[..., Intent], what: str, arguments: int) -> None:
    checked(act, what)
    try:
        inspect.signature(act).bind(*range(arguments))
    except TypeError:
        taken = "self and the observation" if arguments > 1 else "the observation"
        raise ConfigError(f"{what} must take {taken}, and nothing else that has no default") from None
    except ValueError:
        pass  # built-in functions have no signature


def run(make_host: Callable[[ProcessContext], MindHost], env: Mapping[str, str] | None = None) -> NoReturn:
    """Read the launch contract, run until SIGTERM or Ctrl-C, and exit: 0, or 1 with a sentence that says why."""
    captured = _captured.get()
    if captured is not None:
        captured.append(make_host)
        raise _LoadedError
    env = os.environ if env is None else env
    guard_process()
    try:
        configure_logging(level=log_level(env))
        launch = Launch.from_environment(env)
        load_tracer("tickmind-agent")
        stage = ProcessContext(launch, launch.take_secrets(), env)
        asyncio.run(_live(stage, _restoring(make_host(stage), stage)))
    except TickmindError as error:
        sys.stderr.write(f"{redact(str(error))}\n")
        sys.exit(EXIT_FAILED)
    sys.exit(0)


def load_host(option: str, what: str, context: ProcessContext, arguments: Sequence[str] = ()) -> MindHost:
    """Return the host of an agent's program, `-m` and a module or a file, without running the agent.

    The program is run up to its call of `run`. Raises `LaunchError` if it never calls it, as one in another language.
    """
    captured: list[MakeHost] = []
    token = _captured.set(captured)
    before, sys.argv = sys.argv, [what, *arguments]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that the module was imported before does no harm
            if option == "-m":
                runpy.run_module(what, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(what, run_name="__main__")
    except _LoadedError:
        pass  # as far as it is wanted
    except (Exception, SystemExit) as error:  # it is user code
        raise LaunchError(f"the agent's program {what} can't be loaded: {error_text(error)}") from error
    finally:
        sys.argv = before
        _captured.reset(token)
    if not captured:
        raise LaunchError(f"the agent's program {what} runs no agent of tickmind.agent, so it can't be lived again")
    try:
        return captured[0](context)
    except Exception as error:
        raise LaunchError(f"the agent's program {what} can't be loaded: {error_text(error)}") from error


def program_name() -> str:
    """Return this program's file with a digest of its content, and the version of tickmind: what its minds ran on."""
    import hashlib

    from tickmind import __version__

    file = Path(getattr(sys.modules["__main__"], "__file__", None) or sys.argv[0])
    try:
        digest = hashlib.blake2b(file.read_bytes(), digest_size=8).hexdigest()
    except OSError:
        return f"tickmind {__version__}"
    return f"{file.name} {digest}, tickmind {__version__}"


def _restoring(host: MindHost, stage: ProcessContext) -> MindHost:
    folder = stage.launch.state_dir
    return host if folder is None else RestoringHost(host, folder, stage.reply_transports)


async def _live(stage: ProcessContext, host: MindHost) -> None:
    garbage = GarbageKeeper(most_young=MOST_YOUNG, phase=os.getpid())
    garbage.start()  # so that no act waits for a collection
    life = AgentProcess(stage.launch, host, secrets=stage.secrets, program=program_name(), on_quiet=garbage.collect)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, life.stop)
    await life.live()
