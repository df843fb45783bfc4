"""`AgentActor`: one process of characters on a node of a Ray cluster.

It starts the agent's process as a runner would on its own machine, and hands what the runner must know to the callers
of `news`. When Ray starts it anew on another node, its constructor runs again; the runner then starts the agent again.
Importing this module does not import Ray.

Ray's worker looks for signals a hundred times a second whenever its main thread has no method to run, and no setting
changes that. So the methods of `AgentActor` run in that thread, one at a time, and `news` waits there, asleep, while an
event loop in a thread of its own reads what the agent writes. For that the class must have no coroutines: Ray would run
them in another thread.
"""

import asyncio
import os
import shutil
import socket
import tempfile
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import tickmind
from tickmind.adapters.ray.state_copy import StateFolder, StatePiece
from tickmind.agent import Launch, LaunchError
from tickmind.base import Limit, Secret
from tickmind.base.access.tls_files import TlsFiles
from tickmind.runner.errors import RunnerError
from tickmind.runner.launch.launcher import STATE, AgentCallbacks, AgentStart
from tickmind.runner.launch.local import LocalAgent, LocalLauncher
from tickmind.runner.launch.programs import missing_program
from tickmind.runner.spec import AgentSpec
from tickmind.runner.warden import Ending

GATHER_S = 0.2  # for which news are gathered before they are sent
COPY_EVERY_S = 1.0
MAX_UNSENT_BYTES = Limit("size of an agent's output that waits to be sent", 2_000_000, "bytes")
_PREFIX = "tickmind-agent-"  # of an actor's folder on its node; the actor's pid follows
_BEATS_BYTES = 4096  # the last ones say all
_END_S = 2.0  # for a killed process to be gone
Answer = TypeVar("Answer")
_LEFT_OUT = b"--- output was left out here: the runner did not ask for it in time\n"


@dataclass(frozen=True, slots=True)
class StartOrder:
    """What an actor needs to start its agent. It goes from the runner to the actor, and Ray does not keep it."""

    key: str
    spec: AgentSpec
    launch: Launch
    secrets: dict[str, str] = field(repr=False)
    state: tuple[StatePiece, ...] = field(repr=False)
    version: str = tickmind.__version__


@dataclass(frozen=True, slots=True)
class StartAnswer:
    """Where an agent was started, or why it was not."""

    node: str  # for people
    node_id: str
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class AgentNews:
    """What has happened since the last news; with `ending` there are no more."""

    output: bytes = b""
    beats: bytes = b""
    state: tuple[StatePiece, ...] = ()
    ending: Ending | None = None


class AgentActor:
    """The actor. An order waits until the call for news before it has its answer: little over a second at most."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        Thread(target=self._loop.run_forever, name="agent", daemon=True).start()
        self._agent = NodeAgent()

    def start(self, order: StartOrder) -> StartAnswer:
        """Start the agent, with the state that the runner has kept."""
        return self._run(self._agent.start(order))

    def news(self) -> AgentNews:
        """Wait for news of the agent and return them."""
        return self._run(self._agent.news())

    def stop(self, grace_s: float) -> None:
        """Ask the agent to end; it is killed after the grace period."""
        self._run(self._agent.stop(grace_s))

    def kill(self) -> None:
        """Kill the agent."""
        self._run(self._agent.kill())

    def close(self) -> None:
        """End the agent and remove its folder from this node."""
        self._run(self._agent.close())

    def _run(self, method: Coroutine[Any, Any, Answer]) -> Answer:
        return asyncio.run_coroutine_threadsafe(method, self._loop).result()


class NodeAgent:
    """The agent that an actor has started, and what has happened to it. All methods run in the actor's event loop."""

    def __init__(self) -> None:
        remove_left_folders(Path(tempfile.gettempdir()))
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._launcher: LocalLauncher | None = None
        self._agent: LocalAgent | None = None
        self._state: StateFolder | None = None
        self._output, self._beats = bytearray(), b""
        self._ending: Ending | None = None
        self._woken = asyncio.Event()
        self._copied_s = 0.0

    async def start(self, order: StartOrder) -> StartAnswer:
        """Start the agent, with the state that the runner has kept."""
        node_id = _node_id()
        node = f"{socket.gethostname()} ({node_id[:8]})"  # a machine may have several nodes
        if order.version != tickmind.__version__:
            versions = f"{tickmind.__version__}, and the runner {order.version}"
            return StartAnswer(
                node, node_id, f"{node} has tickmind {versions}; install the same version on all machines"
            )
        await self._end_agent()
        self._output, self._beats, self._ending = bytearray(), b"", None
        state = self._folder / STATE
        shutil.rmtree(state, ignore_errors=True)
        try:
            state.mkdir(mode=0o700)
            self._state = StateFolder(state)
            self._state.fill(order.state)
            self._begin(order)
        except (OSError, LaunchError, RunnerError) as error:
            return StartAnswer(node, node_id, f"it can't be started on {node}: {error}")
        return StartAnswer(node, node_id)

    def _begin(self, order: StartOrder) -> None:
        spec = order.spec if order.spec.cwd.is_dir() else replace(order.spec, cwd=self._folder)
        if missing := missing_program(spec, os.environ):
            raise LaunchError(missing)
        if file := missing_tls_file(order.launch.tls):
            raise LaunchError(f"{file} is not there; the files of `tls` belong at the same path on all machines")
        if self._launcher is None:
            self._launcher = LocalLauncher(warm=False)
        secrets = {name: Secret(value, lasting=True) for name, value in order.secrets.items()}
        launch = order.launch
        if launch.world_token_file is not None and not launch.world_token_file.is_file():
            launch = replace(launch, world_token_file=None)  # the token is among the secrets as well
        start = AgentStart(order.key, spec, launch, self._folder, secrets)
        self._agent = self._launcher.start(start, AgentCallbacks(self._take_output, self._take_beats, self._take_end))

    async def news(self) -> AgentNews:
        """Wait for news of the agent and return them."""
        with suppress(TimeoutError):
            async with asyncio.timeout(COPY_EVERY_S):
                await self._woken.wait()
        if self._ending is None:
            await asyncio.sleep(GATHER_S)
        ending, pieces = self._ending, []
        now_s = asyncio.get_running_loop().time()
        if self._state is not None and (ending is not None or now_s - self._copied_s >= COPY_EVERY_S):
            self._copied_s = now_s
            pieces = await asyncio.to_thread(self._state.changes)
            if ending is not None and pieces:
                ending = None  # more of its state may have to follow
        self._woken.clear()
        if self._ending is not None:
            self._woken.set()
        output, self._output = bytes(self._output), bytearray()
        beats, self._beats = self._beats, b""
        return AgentNews(output, beats, tuple(pieces), ending)

    async def stop(self, grace_s: float) -> None:
        """Ask the agent to end; it is killed after the grace period."""
        if self._agent is not None:
            self._agent.stop(grace_s)

    async def kill(self) -> None:
        """Kill the agent."""
        if self._agent is not None:
            self._agent.kill()

    async def close(self) -> None:
        """End the agent and remove its folder from this node."""
        await self._end_agent()
        if self._launcher is not None:
            await self._launcher.close()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def _end_agent(self) -> None:
        if self._agent is None:
            return
        self._agent.kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                while self._ending is None:
                    self._woken.clear()
                    await self._woken.wait()
        self._agent = None

    def _take_output(self, data: bytes) -> None:
        if not MAX_UNSENT_BYTES.allows(len(self._output) + len(data)):
            self._output = bytearray(_LEFT_OUT)
        self._output += data
        self._woken.set()

    def _take_beats(self, data: bytes) -> None:
        self._beats = (self._beats + data)[-_BEATS_BYTES:]
        self._woken.set()

    def _take_end(self, ending: Ending) -> None:
        self._ending = ending
        self._woken.set()


def remove_left_folders(temporary: Path) -> None:
    """Remove what actors of this user left on the node when they were killed: there are memories and leases in it."""
    for folder in temporary.glob(f"{_PREFIX}*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with suppress(OSError):
            if pid.isdigit() and not Path("/proc", pid).exists() and folder.lstat().st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)


def missing_tls_file(tls: TlsFiles | None) -> Path | None:
    """Return the first file of a mapping's `tls` that this node lacks."""
    files = () if tls is None else (tls.ca, tls.certificate, tls.key)
    return next((path for path in files if path is not None and not path.is_file()), None)


def _node_id() -> str:
    import ray

    node_id: str = ray.get_runtime_context().get_node_id()
    return node_id
