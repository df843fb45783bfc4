"""`AgentActors`: the actors that a runner's agents start in, kept from one start to the next.

Ray starts a lost actor again, but takes a node for lost only when five checks of its health have failed, three seconds
apart. The runner hears of the loss within a second or two, from the call that waits for news. So an actor that does not
come back soon is given up, or at once if its node accepts no connection, and another is asked for, on any other node.

Through Ray's client (`ray://`), all actors end with the connection. Then the cluster is joined again, and each start
asks for a new actor.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tickmind.adapters.ray.agent_actor import AgentActor
from tickmind.adapters.ray.answers import answer_of
from tickmind.base import get_logger

if TYPE_CHECKING:
    from tickmind.adapters.ray.cluster import RayCluster
    from tickmind.runner import AgentSpec

COMES_BACK_S = 3.0  # for Ray to start a lost actor again; a process that crashed on a sound node takes one or two
SHUNNED_S = 60.0  # Ray knows long before whether a node is lost
FORCE_S = 5.0  # for an actor to end its agent and clean up
_NODE_LABEL = "ray.io/node-id"
_MEGABYTE = 1 << 20
_log = get_logger(__name__)


@dataclass(slots=True)
class ActorHandle:
    """An actor, the node that it was last heard of from, and since when it is lost."""

    actor: Any
    connection: int  # number of the connection that it ends with
    node_id: str = ""  # empty until it has answered
    lost_s: float | None = None

    def lose(self, now_s: float) -> None:
        """Record that it can't be reached; the first loss counts."""
        if self.lost_s is None:
            self.lost_s = now_s

    def found(self, node_id: str) -> None:
        """Record that it answered from a node."""
        self.node_id, self.lost_s = node_id, None


class AgentActors:
    """Makes actors on a cluster, and keeps those of agents that ended for their next start."""

    def __init__(self, cluster: "RayCluster", clock_s: Callable[[], float]) -> None:
        self._cluster = cluster
        self._clock_s = clock_s
        self._kept: dict[str, ActorHandle] = {}  # key of a group -> the actor that its next start takes
        self._shunned: dict[str, float] = {}  # id of a node whose actors did not come back -> until when
        self._ending: set[asyncio.Task[None]] = set()
        self._make = cluster.api.remote(AgentActor)
        self._connection = 0  # each time that the cluster is joined again has the next number
        self._joining = asyncio.Lock()

    async def get(self, key: str, spec: "AgentSpec") -> ActorHandle:
        """Return the actor that was kept for a group if it is there or may come back soon, else a new one.

        Raises `ConfigError` if the connection to the cluster was lost and it can't be joined again.
        """
        await self._join_again()
        handle = self._kept.pop(key, None)
        if handle is not None and handle.connection == self._connection:
            if not await self._is_given_up(handle):
                return handle
            if handle.node_id:
                self._shunned[handle.node_id] = self._clock_s() + SHUNNED_S
            self._cluster.api.kill(handle.actor, no_restart=True)
        nodes = await asyncio.to_thread(self._cluster.api.nodes) if self._shunned else []
        return ActorHandle(self._new(spec, nodes), self._connection)

    def keep(self, key: str, handle: ActorHandle) -> None:
        """Keep an actor for the next start of its group."""
        self._kept[key] = handle

    def forget(self, key: str) -> None:
        """End the actor that was kept for a group."""
        handle = self._kept.pop(key, None)
        if handle is not None:
            self.end(handle)

    def end(self, handle: ActorHandle) -> None:
        """End an actor, after it has cleaned up if it still answers."""
        task = asyncio.get_running_loop().create_task(self._end(handle))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def close(self, limit_s: float) -> None:
        """End all that are kept, and wait for those that clean up."""
        for key in list(self._kept):
            self.forget(key)
        if self._ending:
            await asyncio.wait(set(self._ending), timeout=limit_s)

    def hoped_for_s(self, handle: ActorHandle) -> float | None:
        """Return how long a lost actor is still hoped for; None for one that is not lost."""
        return None if handle.lost_s is None else max(0.0, handle.lost_s + COMES_BACK_S - self._clock_s())

    async def _join_again(self) -> None:
        async with self._joining:
            if self._cluster.is_joined():
                return
            _log.warning("lost the connection to Ray, and all actors with it; joining again", ray=self._cluster.address)
            await asyncio.to_thread(self._cluster.join_again)
            self._connection += 1
            self._make = self._cluster.api.remote(AgentActor)

    async def _is_given_up(self, handle: ActorHandle) -> bool:
        """Return whether an actor is lost and not waited for: it is away for too long, or its node is gone."""
        if handle.lost_s is None:
            return False
        if self._shunned.get(handle.node_id, 0.0) > self._clock_s() or self.hoped_for_s(handle) == 0:
            return True
        return await asyncio.to_thread(self._cluster.is_refused_by, handle.node_id)

    def _new(self, spec: "AgentSpec", nodes: list[dict[str, Any]]) -> Any:
        place = spec.place
        wanted = {"CPU": place.cpus, "memory": float(memory_mb(spec) * _MEGABYTE), **dict(place.resources)}
        return self._make.options(
            num_cpus=place.cpus,
            memory=wanted["memory"],
            resources=dict(place.resources),
            max_restarts=-1,
            max_task_retries=0,
            enable_task_events=False,  # the runner reports what its agents do
            scheduling_strategy="SPREAD",
            label_selector=self._elsewhere(wanted, nodes),
        ).remote()

    def _elsewhere(self, wanted: dict[str, float], nodes: list[dict[str, Any]]) -> dict[str, str] | None:
        """Return the labels of nodes that are not shunned, if one of them could ever hold an actor."""
        now_s = self._clock_s()
        alive = {node["NodeID"]: node["Resources"] for node in nodes if node["Alive"]}
        self._shunned = {name: until_s for name, until_s in self._shunned.items() if name in alive and until_s > now_s}
        others = (has for name, has in alive.items() if name not in self._shunned)
        has_room = any(all(has.get(what, 0) >= much for what, much in wanted.items()) for has in others)
        if not (self._shunned and has_room):
            return None
        return {_NODE_LABEL: f"!in({','.join(sorted(self._shunned))})"}

    async def _end(self, handle: ActorHandle) -> None:
        if handle.connection != self._connection or not self._cluster.is_joined():
            return  # it has ended with the connection
        try:
            if handle.lost_s is None:
                async with asyncio.timeout(FORCE_S):
                    await answer_of(handle.actor.close.remote())
        except (TimeoutError, ConnectionError, self._cluster.api.exceptions.RayError) as error:
            _log.debug("an actor did not clean up", why=str(error))
        if self._cluster.is_joined():
            self._cluster.api.kill(handle.actor, no_restart=True)


def memory_mb(spec: "AgentSpec") -> int:
    """Return the memory that a process is given in Ray's accounts."""
    return spec.place.memory_mb or spec.limits.memory_mb
