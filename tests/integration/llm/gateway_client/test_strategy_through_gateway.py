"""Agents that deliberate through a gateway; only the `gateway` fixture knows which one."""

import threading

import pytest

from tickmind.ai import Blackboard
from tickmind.llm import GatewayClient, SyncGatewayClient, load_gateway_config
from tickmind.strategy import LLMAgent, LLMConfig, LLMManager, make_directive_parser, make_llm_system
from tickmind.tick import Engine


def config(url):
    return load_gateway_config(url=url, model="qwen", env={})


class Game:
    """An engine whose agents ask through a gateway, in real time or nearly so."""

    def __init__(self, client, **settings):
        self.manager = LLMManager(LLMConfig(max_queries_per_tick=10, max_queries_per_second=1000, **settings))
        self.manager.define_role("wolf", "You are a wolf.")
        self.manager.define_personality("sly", "You are sly.")
        self.manager.define_context("den", self.context)
        self.manager.define_parser("strategy", make_directive_parser(["goal"]))
        self.manager.register_client(client)
        self.prompts: list[int] = []
        self.answered: list[int] = []
        self.errors: list[tuple[object, ...]] = []
        self.deferred: list[tuple[object, ...]] = []
        self.manager.on_response(lambda eid, _latency, _size, _tick: self.answered.append(eid))
        self.manager.on_error(lambda *error: self.errors.append(error))
        self.manager.on_deferred(lambda *deferral: self.deferred.append(deferral))
        self.system = make_llm_system(self.manager)
        self.engine = Engine(tps=100, seed=1)
        self.engine.add_system(self.system)

    def context(self, _world, eid):
        self.prompts.append(eid)
        return f"You are {eid}. It is tick {self.engine.tick_number}."

    def spawn(self, **agent):
        agent = {"parser": "strategy", "query_interval": 1, **agent}
        return self.engine.world.spawn(LLMAgent("wolf", "sly", "den", **agent), Blackboard())

    def agent(self, eid) -> LLMAgent:
        return self.engine.world.get(eid, LLMAgent)

    def run_until(self, condition):
        pause = threading.Event()
        for _ in range(6000):
            if condition():
                return
            self.engine.step()
            pause.wait(0.005)
        raise AssertionError("it never came about")


@pytest.fixture
def game():
    games = []

    def make(client, **settings):
        games.append(Game(client, **settings))
        return games[-1]

    yield make
    for one in games:
        one.system.shutdown()


def test_agents_take_turns_in_a_strict_share_and_none_has_failed(gateway, game):
    fake = gateway(strict=True, rpm=400, reply='{"goal": "hunt"}')  # one each 150 ms
    s = game(GatewayClient(config(fake.url)))
    eids = [s.spawn() for _ in range(3)]
    s.run_until(lambda: len(s.answered) >= 6 and set(s.answered) == set(eids))
    assert s.errors == []
    assert max(s.agent(eid).consecutive_errors for eid in eids) == 0
    assert all(s.engine.world.get(eid, Blackboard).data["strategy"] == {"goal": "hunt"} for eid in eids)
    share = s.system.statistics().clients[""].cooldown
    assert share is not None
    assert share.effective_rpm == 400


def test_no_prompt_is_made_while_the_session_waits_for_its_turn(gateway, game):
    s = game(GatewayClient(config(gateway(strict=True, rpm=1).url)))
    s.spawn()
    s.spawn()
    s.run_until(lambda: s.answered or s.deferred)
    s.run_until(lambda: not s.system.thinking())
    made = len(s.prompts)
    for _ in range(200):
        s.engine.step()
    assert len(s.prompts) == made
    assert s.system.statistics().clients[""].ready_in_s > 1


def test_a_refused_session_is_asked_again_and_counts_no_error(gateway, game):
    fake = gateway(strict=True, rpm=200, reply='{"goal": "hunt"}')
    with SyncGatewayClient(config(fake.url), session="game") as other:
        other.complete("somebody else of the same game asks first")
        s = game(GatewayClient(config(fake.url), session="game"))
        eid = s.spawn()
        s.run_until(lambda: s.answered)
    assert s.errors == []
    assert s.agent(eid).consecutive_errors == 0


def test_a_blocking_client_serves_as_well_and_stays_its_owners(gateway, game):
    fake = gateway(reply='{"goal": "hunt"}')
    with SyncGatewayClient(config(fake.url)) as client:
        s = game(client)
        s.spawn()
        s.run_until(lambda: s.answered)
        s.system.shutdown()
        assert client.complete("Still there?").content


def test_streamed_fields_reach_the_blackboard_through_a_gateway(gateway, game):
    s = game(GatewayClient(config(gateway(reply='{"goal": "hunt"}').url)), stream_fields=True)
    eid = s.spawn()
    s.run_until(lambda: s.answered)
    assert s.engine.world.get(eid, Blackboard).data["strategy"] == {"goal": "hunt"}


def test_the_gateway_hears_who_asks_and_who_is_deferred(double, game, until):
    fake = double(reply='{"goal": "hunt"}')
    s = game(GatewayClient(config(fake.url), session="game"))
    eid = s.spawn(priority=5)
    s.run_until(lambda: s.answered)
    s.manager.defer(eid, 300)
    s.run_until(lambda: fake.of("/api/llm/defer"))
    chat = fake.of("/v1/chat/completions")[0].headers
    assert (chat["x-tickmind-agent"], chat["x-tickmind-priority"], chat["x-tickmind-replace"]) == (
        str(eid),
        "high",
        "1",
    )
    assert "x-tickmind-drop-after-ms" not in chat  # the gateway knows what can't be answered in time
    assert fake.of("/api/llm/defer")[0].body == {"sessionId": "game", "agentId": str(eid), "durationMs": 3000}
    assert s.system.statistics().deferred == 1


def test_shutting_down_closes_the_client_and_ends_its_heartbeats(double, game, until):
    fake = double(reply='{"goal": "hunt"}')
    client = GatewayClient(config(fake.url), heartbeat_s=0.01)
    s = game(client)
    s.spawn()
    s.run_until(lambda: s.answered and len(fake.of("/api/llm/heartbeat")) > 1)
    s.system.shutdown()
    assert client._heart is None
    count = len(fake.of("/api/llm/heartbeat"))
    threading.Event().wait(0.1)
    assert len(fake.of("/api/llm/heartbeat")) <= count + 1  # one may have been under way
