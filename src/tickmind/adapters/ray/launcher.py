"""`RayLauncher`: starts a runner's agents on a Ray cluster.

Each process of characters is a Ray actor, which Ray places by what it asks for, and starts again on another node when
its own is lost. The agent's process there has its own streams to the world, so neither observations nor intents pass
through Ray: only output, heartbeats and what changes in the agent's state folder, a few times a second.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tickmind.adapters.ray.agent_actor import AgentNews, StartAnswer, StartOrder
from tickmind.adapters.ray.agent_actors import FORCE_S, ActorHandle, AgentActors, memory_mb
from tickmind.adapters.ray.answers import RayReference, answer_of
from tickmind.adapters.ray.cluster import RayCluster
from tickmind.adapters.ray.state_copy import StatePiece, keep_pieces, read_pieces
from tickmind.base import ConfigError, get_logger
from tickmind.runner import AgentCallbacks, AgentSpec, AgentStart, Ending
from tickmind.runner.launch.launcher import STATE

Answer = TypeVar("Answer")
TELL_S = 5.0  # without a place after which the agent's log says what it waits for
PLACED_SHARE = 0.9  # of the time for a start in which a place must be found
SILENT_S = 5  # without news, which come every second, after which an actor counts as lost: its machine may be off
CLOSE_S = 10.0  # for all actors to clean up
AGAIN_S = 0.2  # between two tries to reach an actor that Ray starts anew
_LOST = "its node or its actor was lost; it is started again where there is room"
_log = get_logger(__name__)


class _GivenUpError(Exception):
    """An actor did not answer in time; the text says to what."""


class _LostError(Exception):
    """An actor can't be reached; it may come back."""


class RayAgent:
    """An agent on some node of the cluster."""

    keeper_pid = 0

    def __init__(self, launcher: "RayLauncher", start: AgentStart, callbacks: AgentCallbacks) -> None:
        self.node = ""
        self._launcher = launcher
        self._start = start
        self._callbacks = callbacks
        self._handle: ActorHandle | None = None
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
        if self.node and self._handle is not None:
            with suppress(ConnectionError):  # without a connection it has ended
                getattr(self._handle.actor, method).remote(*arguments)
        else:
            limit_s = 0.0  # there is no process yet
        self._loop.call_later(limit_s, self._give_up, "it was ended with its actor")

    def _give_up(self, why: str) -> None:
        if not self._given_up.done():
            self._given_up.set_result(why)

    async def _live(self) -> None:
        actors, is_kept = self._launcher.actors, False
        try:
            ending, is_kept = await self._until_end(), True
        except _LostError:
            ending, is_kept = Ending(trouble=_LOST), True
        except (_GivenUpError, ConfigError) as error:
            ending = Ending(trouble=str(error))
        except (OSError, self._launcher.failed) as error:
            ending = Ending(trouble=_words(error))
        except Exception as error:  # noqa: BLE001  whatever went wrong, the runner waits for the end of this agent
            _log.exception("an agent on Ray ended by an error of its launcher", key=self._start.key)
            ending = Ending(trouble=_words(error))
        if self._handle is not None and is_kept:
            actors.keep(self._start.key, self._handle)
        elif self._handle is not None:
            actors.end(self._handle)
        self._callbacks.ended(ending)

    async def _until_end(self) -> Ending:
        start = self._start
        state = start.folder / STATE
        secrets = {name: secret.reveal() for name, secret in start.secrets.items()}
        pieces = tuple(await asyncio.to_thread(read_pieces, state))
        handle, answer = await self._begin(StartOrder(start.key, start.spec, start.launch, secrets, pieces))
        if answer.trouble:
            return Ending(trouble=answer.trouble)
        self.node = answer.node
        self._callbacks.output(f"--- on node {answer.node}\n".encode())
        while True:
            news: AgentNews = await self._answer(handle, handle.actor.news.remote, SILENT_S)
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

    async def _begin(self, order: StartOrder) -> tuple[ActorHandle, StartAnswer]:
        """Start the agent where Ray has placed its actor, or places it now."""
        spec, key = self._start.spec, self._start.key
        wanted = _wanted(spec)
        said = self._loop.call_later(
            TELL_S, self._callbacks.output, f"--- waiting for Ray to place it: {wanted}\n".encode()
        )
        limit_s = spec.start_timeout_ms / 1000 * PLACED_SHARE
        late = self._loop.call_later(limit_s, self._give_up, f"no node of the cluster has room for it: {wanted}")
        actors = self._launcher.actors
        try:
            while True:
                try:
                    handle = self._handle = await actors.get(key, spec)
                except ConnectionError:  # it has just ended
                    await asyncio.sleep(AGAIN_S)
                    continue
                start = partial(handle.actor.start.remote, order)
                try:
                    answer = await self._answer(handle, start, actors.hoped_for_s(handle))
                except _LostError:
                    actors.keep(key, handle)
                    await asyncio.sleep(AGAIN_S)
                else:
                    handle.found(answer.node_id)
                    return handle, answer
        finally:
            said.cancel()
            late.cancel()

    async def _answer(
        self, handle: ActorHandle, call: "Callable[[], RayReference[Answer]]", limit_s: float | None = None
    ) -> Answer:
        """Call an actor and wait; raise `_LostError` if it is lost or late, `_GivenUpError` if it is given up."""
        try:
            asked = answer_of(call())
        except ConnectionError as error:
            handle.lose(self._loop.time())
            raise _LostError from error
        either: set[asyncio.Future[Any]] = {asked, self._given_up}
        left_s, done = limit_s, set[asyncio.Future[Any]]()
        while not done and (left_s is None or left_s > 0):  # in steps, so that a runner that stood still asks on
            step_s = None if left_s is None else min(1.0, left_s)
            done, _ = await asyncio.wait(either, timeout=step_s, return_when=asyncio.FIRST_COMPLETED)
            left_s = None if left_s is None or step_s is None else left_s - step_s
        if asked.done():
            try:
                return asked.result()
            except self._launcher.away as error:
                handle.lose(self._loop.time())
                raise _LostError from error
        asked.cancel()
        if self._given_up.done():
            raise _GivenUpError(self._given_up.result())
        handle.lose(self._loop.time() - (limit_s or 0.0))
        raise _LostError


class RayLauncher:
    """Starts agents as actors of a cluster. `close` ends them, and leaves the cluster joined.

    cluster = connect_ray("ray")
    runner = Runner(mapping, folder, launcher=RayLauncher(cluster))
    """

    def __init__(self, cluster: RayCluster) -> None:
        self._cluster = cluster
        errors = cluster.api.exceptions
        self.failed: type[Exception] = errors.RayError
        self.away: tuple[type[Exception], ...] = (errors.ActorUnavailableError, ConnectionError)
        self.actors = AgentActors(cluster, lambda: asyncio.get_running_loop().time())

    async def keeper(self) -> str:
        """Return where the cluster is, and how large."""
        return await asyncio.to_thread(str, self._cluster)

    def start(self, start: AgentStart, callbacks: AgentCallbacks) -> RayAgent:
        """Start an agent where Ray finds room for it."""
        return RayAgent(self, start, callbacks)

    def forget(self, key: str) -> None:
        """End the actor that was kept for a group."""
        self.actors.forget(key)

    async def close(self) -> None:
        """End all actors that are left."""
        await self.actors.close(CLOSE_S)


def _words(error: Exception) -> str:
    """Return what an error means that ended an agent, in a sentence."""
    if isinstance(error, OSError):
        return f"its state can't be read on the runner's machine: {error.strerror or error}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"Ray can't run it: {lines[-1] if lines else type(error).__name__}"


def _wanted(spec: AgentSpec) -> str:
    """Return what a process asks of a node, as the mapping says it."""
    asked = [f"{spec.place.cpus:g} CPU", f"{memory_mb(spec):,} MB"]
    asked += [f"{amount:g} {name}" for name, amount in spec.place.resources]
    return f"it asks for {', '.join(asked)} (`place` in the mapping)"
