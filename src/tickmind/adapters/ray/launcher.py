"""`RayLauncher`: starts a runner's agents on a Ray cluster.

Each process of characters is a Ray actor, which Ray places by what it asks for, and starts again on another node when
its own is lost. The agent's process there has its own streams to the world, so neither observations nor intents pass
through Ray: only output, heartbeats and what changes in the agent's state folder, a few times a second.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tickmind.adapters.ray.cast_actor import CastActor, CastBegun, CastNews, CastOrder
from tickmind.adapters.ray.cluster import RayCluster
from tickmind.adapters.ray.state_copy import StatePiece, keep_pieces, read_pieces
from tickmind.base import get_logger
from tickmind.runner import AgentCallbacks, AgentSpec, AgentStart, Ending
from tickmind.runner.launch.launcher import STATE

Answer = TypeVar("Answer")
TELL_S = 5.0  # without a place after which the agent's log says what it waits for
PLACED_SHARE = 0.9  # of the time for a start in which a place must be found
FORCE_S = 5.0  # for a node to answer that an agent was ended; then its actor is given up
CLOSE_S = 10.0  # for all actors to clean up
AGAIN_S = 0.2  # between two tries to reach an actor that Ray starts anew
_MEGABYTE = 1 << 20
_LOST = "its node or its actor was lost; Ray starts it again on another node that has room"
_log = get_logger(__name__)


class _GivenUpError(Exception):
    """An actor did not answer in time; the text says to what."""


class RayAgent:
    """An agent on some node of the cluster."""

    keeper_pid = 0

    def __init__(self, launcher: "RayLauncher", start: AgentStart, callbacks: AgentCallbacks) -> None:
        self.node = ""
        self._launcher = launcher
        self._start = start
        self._callbacks = callbacks
        self._actor: Any = None
        self._is_unkept = False  # its state could not be copied
        self._loop = asyncio.get_running_loop()
        self._given_up: asyncio.Future[str] = self._loop.create_future()
        self._task = self._loop.create_task(self._live())

    def stop(self, grace_s: float) -> None:
        """Ask it to end; it is killed after the grace period."""
        self._end_by("stop", grace_s + FORCE_S, grace_s)

    def kill(self) -> None:
        """Kill it."""
        self._end_by("kill", FORCE_S)

    def _end_by(self, method: str, limit_s: float, *arguments: float) -> None:
        if self.node:
            getattr(self._actor, method).remote(*arguments)
        else:
            limit_s = 0.0  # there is no process yet
        self._loop.call_later(limit_s, self._give_up, "it was ended with its actor")

    def _give_up(self, why: str) -> None:
        if not self._given_up.done():
            self._given_up.set_result(why)

    async def _live(self) -> None:
        try:
            ending = await self._until_end()
            self._launcher.keep_actor(self._start.key, self._actor)
        except _GivenUpError as error:
            self._launcher.drop_actor(self._actor)
            ending = Ending(trouble=str(error))
        except (OSError, self._launcher.failed) as error:
            if self._launcher.is_restarting(error):
                self._launcher.keep_actor(self._start.key, self._actor)
            ending = Ending(trouble=self._launcher.words(error))
        self._callbacks.ended(ending)

    async def _until_end(self) -> Ending:
        start = self._start
        state = start.folder / STATE
        secrets = {name: secret.reveal() for name, secret in start.secrets.items()}
        pieces = tuple(await asyncio.to_thread(read_pieces, state))
        begun = await self._begin(CastOrder(start.key, start.spec, start.launch, secrets, pieces))
        if begun.trouble:
            return Ending(trouble=begun.trouble)
        self.node = begun.node
        self._callbacks.output(f"--- on node {begun.node}\n".encode())
        while True:
            news: CastNews = await self._answer(self._actor.news.remote())
            if news.state:
                await self._keep(state, news.state)
            if news.output:
                self._callbacks.output(news.output)
            if news.beats:
                self._callbacks.beats(news.beats)
            if news.ending is not None:
                return news.ending

    async def _keep(self, folder: Path, pieces: Sequence[StatePiece]) -> None:
        try:
            await asyncio.to_thread(keep_pieces, folder, pieces)
        except OSError as error:
            if not self._is_unkept:
                self._is_unkept = True
                why = "can't keep a copy of an agent's state; a lost node would cost what its minds know"
                _log.error(why, folder=str(folder), why=error.strerror)

    async def _begin(self, order: CastOrder) -> CastBegun:
        """Start the agent where Ray has placed its actor, or places it now."""
        limit_s = self._start.spec.start_timeout_ms / 1000 * PLACED_SHARE
        wanted = _wanted(self._start.spec)
        said = self._loop.call_later(
            TELL_S, self._callbacks.output, f"--- waiting for Ray to place it: {wanted}\n".encode()
        )
        late = self._loop.call_later(limit_s, self._give_up, f"no node of the cluster has room for it: {wanted}")
        try:
            while True:
                self._actor = self._launcher.take_actor(self._start.key) or self._launcher.new_actor(self._start.spec)
                try:
                    return await self._answer(self._actor.start.remote(order))
                except self._launcher.away as error:
                    if not self._launcher.is_restarting(error):
                        raise
                    self._launcher.keep_actor(self._start.key, self._actor)
                    await asyncio.sleep(AGAIN_S)
        finally:
            said.cancel()
            late.cancel()

    async def _answer(self, reference: "Awaitable[Answer]") -> Answer:
        """Wait for an actor's answer, unless it is given up."""
        asked = asyncio.ensure_future(_result(reference))
        either: set[asyncio.Future[Any]] = {asked, self._given_up}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if asked.done():
            return asked.result()
        asked.cancel()
        raise _GivenUpError(self._given_up.result())


class RayLauncher:
    """Starts agents as actors of a cluster. `close` ends them, and leaves the cluster joined.

    cluster = connect_ray("ray")
    runner = Runner(mapping, folder, launcher=RayLauncher(cluster))
    """

    def __init__(self, cluster: RayCluster) -> None:
        self._cluster = cluster
        self._kept: dict[str, Any] = {}  # key of a group -> the actor that its next start takes
        self._closing: set[asyncio.Task[None]] = set()
        errors = cluster.api.exceptions
        self.failed: type[Exception] = errors.RayError
        self.away: type[Exception] = errors.RayActorError
        self._restarting: type[Exception] = errors.ActorUnavailableError
        self._make = cluster.api.remote(CastActor)

    async def keeper(self) -> str:
        """Return where the cluster is, and how large."""
        return await asyncio.to_thread(str, self._cluster)

    def start(self, start: AgentStart, callbacks: AgentCallbacks) -> RayAgent:
        """Start an agent where Ray finds room for it."""
        return RayAgent(self, start, callbacks)

    def forget(self, key: str) -> None:
        """End the actor that was kept for a group."""
        actor = self._kept.pop(key, None)
        if actor is not None:
            self.drop_actor(actor)

    async def close(self) -> None:
        """End all actors that are left."""
        for key in list(self._kept):
            self.forget(key)
        if self._closing:
            await asyncio.wait(set(self._closing), timeout=CLOSE_S)

    # What agents use

    def new_actor(self, spec: AgentSpec) -> Any:
        """Ask Ray for an actor."""
        place = spec.place
        return self._make.options(
            num_cpus=place.cpus,
            memory=_memory_mb(spec) * _MEGABYTE,
            resources=dict(place.resources),
            max_restarts=-1,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        ).remote()

    def take_actor(self, key: str) -> Any:
        """Return the actor that was kept for a group; None if there is none."""
        return self._kept.pop(key, None)

    def keep_actor(self, key: str, actor: Any) -> None:
        """Keep an actor for the next start of its group."""
        if actor is not None:
            self._kept[key] = actor

    def drop_actor(self, actor: Any) -> None:
        """End an actor."""
        if actor is None:
            return
        task = asyncio.get_running_loop().create_task(self._end_actor(actor))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _end_actor(self, actor: Any) -> None:
        """Let an actor clean up, if it still answers, and end it for good."""
        try:
            async with asyncio.timeout(FORCE_S):
                await _result(actor.close.remote())
        except (TimeoutError, self.away) as error:
            _log.debug("an actor did not clean up", why=str(error))
        self._cluster.api.kill(actor, no_restart=True)

    def is_restarting(self, error: Exception) -> bool:
        """Return whether an actor can't be reached only because Ray is starting it anew."""
        return isinstance(error, self._restarting)

    def words(self, error: Exception) -> str:
        """Return what an error of Ray means, in a sentence."""
        if self.is_restarting(error):
            return _LOST
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return f"Ray can't run it: {lines[-1] if lines else type(error).__name__}"


async def _result(reference: "Awaitable[Answer]") -> Answer:
    return await reference


def _memory_mb(spec: AgentSpec) -> int:
    return spec.place.memory_mb or spec.limits.memory_mb


def _wanted(spec: AgentSpec) -> str:
    """Return what a process asks of a node, as the mapping says it."""
    asked = [f"{spec.place.cpus:g} CPU", f"{_memory_mb(spec):,} MB"]
    asked += [f"{amount:g} {name}" for name, amount in spec.place.resources]
    return f"it asks for {', '.join(asked)} (`place` in the mapping)"
