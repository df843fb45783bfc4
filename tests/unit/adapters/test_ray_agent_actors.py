"""Where the runner's agents start again when an actor of theirs is lost, by a cluster that only notes what is asked."""

import asyncio
import inspect
import socket
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.sim.loop import simulate

from tickmind.adapters.ray import RayCluster, RayLauncher
from tickmind.adapters.ray.agent_actor import AgentActor, AgentNews, StartAnswer
from tickmind.adapters.ray.agent_actors import COMES_BACK_S, SHUNNED_S
from tickmind.adapters.ray.launcher import SILENT_S
from tickmind.agent import Launch
from tickmind.agent.contract import Assignment
from tickmind.runner import AgentCallbacks, AgentSpec, AgentStart, Ending, ResourceRequest

SPEC = AgentSpec("walker", ("python", "-m", "x"), Path(), place=ResourceRequest(cpus=1, memory_mb=100))
ROOM = {"CPU": 4.0, "memory": float(1 << 30)}


class RayError(Exception):
    pass


class ActorUnavailableError(RayError):
    pass


class Reference:
    """What a call of an actor returns. Like that of Ray's client it can't bear that its future is cancelled."""

    def __init__(self, answer):
        self._future: Future[object] = Future()
        self._task = asyncio.ensure_future(answer)
        self._task.add_done_callback(self._settle)

    def future(self):
        return self._future

    def _settle(self, task):
        assert not self._future.cancelled()
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            self._future.set_result(task.result())
        else:
            self._future.set_exception(error)


class Actor:
    """An actor whose answers the test gives: `lost` and `silent` are those of a node that is gone."""

    def __init__(self, options, node_id):
        self.options, self.node_id, self.state, self.started, self.killed = options, node_id, "there", 0, False
        methods = (self._start, self._news, self._stop, self._close)
        self.start, self.news, self.stop, self.close = (
            SimpleNamespace(remote=partial(self._call, method)) for method in methods
        )

    def _call(self, method, *arguments):
        if self.state == "cut off":
            raise ConnectionError("the client has been disconnected")
        return Reference(method(*arguments))

    async def _answer(self):
        await asyncio.sleep(0.5)
        if self.state == "silent":
            await asyncio.Event().wait()
        if self.state == "lost":
            raise ActorUnavailableError
        if self.state == "odd":
            raise ValueError("news of another version")

    async def _start(self, _order):
        await self._answer()
        self.started += 1
        return StartAnswer(f"host ({self.node_id})", self.node_id)

    async def _news(self):
        await self._answer()
        return AgentNews()

    async def _stop(self, _grace_s):
        await self._answer()

    async def _close(self):
        await self._answer()


class Cluster:
    """A cluster of two nodes."""

    def __init__(self):
        self.actors = []
        self.resources = {"aa": dict(ROOM), "bb": dict(ROOM)}
        self.port = 0  # on which the nodes listen
        self.joined, self.is_there = True, True
        self.is_ending = False  # the connection ends with the next actor that is killed
        self.api = self
        self.exceptions = SimpleNamespace(RayError=RayError, ActorUnavailableError=ActorUnavailableError)

    def remote(self, _kind):
        return self

    def options(self, **options):
        def make():
            shunned = (options["label_selector"] or {}).get("ray.io/node-id", "")
            self.actors.append(Actor(options, "bb" if "aa" in shunned else "aa"))
            return self.actors[-1]

        return SimpleNamespace(remote=make)

    def is_initialized(self):
        return self.joined

    def shutdown(self):
        assert not self.joined

    def init(self, **_options):
        if not self.is_there:
            raise ConnectionError("no answer")
        self.joined = True

    def cut_off(self):
        """End the connection, and all actors with it."""
        self.joined = False
        for actor in self.actors:
            actor.state = "cut off"

    def nodes(self):
        where = {"NodeManagerAddress": "127.0.0.1", "NodeManagerPort": self.port}
        return [{"NodeID": name, "Alive": True, "Resources": has, **where} for name, has in self.resources.items()]

    def kill(self, actor, *, no_restart):
        if self.is_ending:
            self.is_ending = False
            self.cut_off()
            raise ConnectionError("the client has been disconnected")
        assert no_restart
        actor.killed = True


class Agents:
    """Starts the agent of one group again and again, as a runner does."""

    def __init__(self, launcher, folder):
        self.launcher, self.folder = launcher, folder
        (folder / "state").mkdir()

    async def life(self, key="group"):
        """Start it, and return it with what it will end with."""
        ended = asyncio.get_running_loop().create_future()
        launch = Launch((Assignment("a", "c"),), "127.0.0.1:1")
        start = AgentStart(key, SPEC, launch, self.folder)
        agent = self.launcher.start(start, AgentCallbacks(lambda _: None, lambda _: None, ended.set_result))
        return agent, ended


@pytest.fixture
def on_cluster(tmp_path):
    """Run a history with a cluster, in simulated time."""

    def run(history):
        async def live():
            cluster = Cluster()
            with socket.create_server(("127.0.0.1", 0)) as raylet:
                cluster.port = raylet.getsockname()[1]
                await on(cluster)

        async def on(cluster):
            launcher = RayLauncher(RayCluster(cluster, "auto"))
            try:
                await history(cluster, Agents(launcher, tmp_path))
            finally:
                await launcher.close()

        simulate(live())

    return run


def now_s():
    return asyncio.get_running_loop().time()


async def until(condition):
    while not condition():  # noqa: ASYNC110 - what is waited for has no event
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("state", ["lost", "silent"])
def test_an_actor_that_does_not_come_back_is_replaced_away_from_its_node(on_cluster, state):
    async def history(cluster, agents):
        agent, ended = await agents.life()
        await until(lambda: agent.node)
        begun_s = now_s()
        cluster.actors[0].state = state
        ending: Ending = await ended
        assert "lost" in ending.trouble
        again, _ = await agents.life()
        await until(lambda: again.node)
        first, second = cluster.actors
        assert first.killed
        assert second.options["label_selector"] == {"ray.io/node-id": "!in(aa)"}
        assert now_s() - begun_s < SILENT_S + COMES_BACK_S + 2

    on_cluster(history)


def test_an_agent_whose_news_make_no_sense_ends_and_says_so(on_cluster):
    async def history(cluster, agents):
        agent, ended = await agents.life()
        await until(lambda: agent.node)
        cluster.actors[0].state = "odd"
        ending: Ending = await ended
        assert "news of another version" in ending.trouble

    on_cluster(history)


def test_an_actor_that_ray_starts_again_in_time_keeps_its_place(on_cluster):
    async def history(cluster, agents):
        agent, ended = await agents.life()
        await until(lambda: agent.node)
        cluster.actors[0].state = "lost"
        await ended
        again, _ = await agents.life()
        await asyncio.sleep(COMES_BACK_S / 3)
        cluster.actors[0].state = "there"
        await until(lambda: again.node)
        assert len(cluster.actors) == 1
        assert not cluster.actors[0].killed

    on_cluster(history)


def test_an_actor_whose_node_accepts_no_connection_is_not_waited_for(on_cluster):
    async def history(cluster, agents):
        agent, ended = await agents.life()
        await until(lambda: agent.node)
        cluster.actors[0].state = "lost"
        await ended
        with socket.socket() as deaf:  # bound, and nobody listens
            deaf.bind(("127.0.0.1", 0))
            cluster.port, begun_s = deaf.getsockname()[1], now_s()
            again, _ = await agents.life()
            await until(lambda: again.node)
        assert now_s() - begun_s < COMES_BACK_S / 2, "as long as a start takes"
        assert cluster.actors[1].node_id == "bb"

    on_cluster(history)


def test_others_of_a_node_that_is_shunned_do_not_wait_for_it(on_cluster):
    async def history(cluster, agents):
        lives = [await agents.life(key) for key in "abc"]
        await until(lambda: all(agent.node for agent, _ in lives))
        for actor in cluster.actors:
            actor.state = "lost"
        for _, ended in lives:
            await ended
        first, _ = await agents.life("a")
        await until(lambda: first.node)
        begun_s = now_s()
        others = [(await agents.life(key))[0] for key in "bc"]
        await until(lambda: all(agent.node for agent in others))
        assert now_s() - begun_s < COMES_BACK_S / 2, "as long as a start takes"
        assert {actor.node_id for actor in cluster.actors[3:]} == {"bb"}

    on_cluster(history)


def test_where_no_other_node_could_hold_it_the_same_one_will_do(on_cluster):
    async def history(cluster, agents):
        cluster.resources["bb"]["CPU"] = 0.0
        agent, ended = await agents.life()
        await until(lambda: agent.node)
        cluster.actors[0].state = "lost"
        await ended
        again, _ = await agents.life()
        await until(lambda: again.node)
        assert cluster.actors[1].options["label_selector"] is None

    on_cluster(history)


def test_a_node_that_lives_on_is_used_again_after_a_minute(on_cluster):
    async def history(cluster, agents):
        agent, ended = await agents.life()
        await until(lambda: agent.node)
        cluster.actors[0].state = "lost"
        await ended
        again, _ = await agents.life()
        await until(lambda: again.node)
        await asyncio.sleep(SHUNNED_S)
        other, _ = await agents.life("other")
        await until(lambda: other.node)
        assert cluster.actors[2].options["label_selector"] is None

    on_cluster(history)


def test_after_a_lost_connection_all_agents_start_again_over_one_new_connection(on_cluster):
    async def history(cluster, agents):
        lives = [await agents.life(key) for key in "abc"]
        await until(lambda: all(agent.node for agent, _ in lives))
        first = list(cluster.actors)
        cluster.cut_off()
        for _, ended in lives:
            ending: Ending = await ended
            assert "lost" in ending.trouble
        again = [(await agents.life(key))[0] for key in "abc"]
        await until(lambda: all(agent.node for agent in again))
        assert len(cluster.actors) == 6
        assert not any(actor.killed for actor in first), "they are unknown to the new connection"
        assert all(actor.options["label_selector"] is None for actor in cluster.actors[3:]), "no node was lost"

    on_cluster(history)


def test_a_connection_that_ends_while_an_agent_starts_costs_it_no_start(on_cluster):
    async def history(cluster, agents):
        agent, ended = await agents.life()
        await until(lambda: agent.node)
        cluster.actors[0].state, cluster.is_ending = "lost", True
        await ended
        again, _ = await agents.life()
        await until(lambda: again.node)
        assert not cluster.is_ending

    on_cluster(history)


def test_an_agent_says_that_the_cluster_does_not_let_it_in_again(on_cluster):
    async def history(cluster, agents):
        agent, ended = await agents.life()
        await until(lambda: agent.node)
        cluster.is_there = False
        cluster.cut_off()
        await ended
        _, ended = await agents.life()
        ending: Ending = await ended
        assert "can't join a Ray cluster at auto: no answer" in ending.trouble
        cluster.is_there = True
        last, _ = await agents.life()
        await until(lambda: last.node)

    on_cluster(history)


def test_an_agent_may_be_stopped_without_a_connection(on_cluster):
    async def history(cluster, agents):
        agent, ended = await agents.life()
        await until(lambda: agent.node)
        cluster.cut_off()
        agent.stop(1.0)
        await ended

    on_cluster(history)


def test_ray_runs_the_actor_in_the_main_thread_of_its_worker():
    # With a single coroutine it would run it in another one, and the main thread would wake up 100 times a second.
    assert not inspect.getmembers(AgentActor, lambda member: inspect.iscoroutinefunction(inspect.unwrap(member)))
