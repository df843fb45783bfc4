import threading
import time
from typing import Any

import pytest

from tickmind.ai import Blackboard
from tickmind.base import ManualClock, Secret
from tickmind.llm import ModelClient, ModelConfig
from tickmind.protocol import Thought
from tickmind.strategy import LLMAgent, LLMConfig, LLMManager, make_llm_system
from tickmind.tick import Engine

PATIENCE_S = 60


def wait_until(condition):
    """Wait until something is so; the time that may take is only there to end a test that would never end."""
    end_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end_s, "it never came about"
        time.sleep(0.002)


class Blocking:
    """A client that blocks its loop at the first question, until it is released."""

    def __init__(self):
        self.entered, self.released = threading.Event(), threading.Event()

    async def answer(self, _question):
        if not self.entered.is_set():
            self.entered.set()
            self.released.wait(300)
        return '{"goal": "hunt"}'


@pytest.fixture
def blocking():
    client = Blocking()
    yield client
    client.released.set()


class Stage:
    """An engine with a strategic layer, a clock set by hand, and everything that was told.

    A transport in the place of a client becomes a `ModelClient`.
    """

    def __init__(self, client=None, *, parser=None, **config):
        config = {"max_queries_per_tick": 100, "max_queries_per_second": 10_000, **config}
        self.clock = ManualClock()
        self.manager = LLMManager(LLMConfig(**config))
        self.manager.define_role("wolf", "You are a wolf.")
        self.manager.define_personality("sly", "You are sly.")
        self.manager.define_context("plain", lambda _world, eid: f"You are {eid}.")
        if client is not None:
            self.manager.register_client(model(client) if hasattr(client, "capabilities") else client)
        self.queries: list[tuple[int, int]] = []  # entity id, tick
        self.responses: list[tuple[int, int]] = []
        self.errors: list[tuple[int, str, int]] = []
        self.messages: list[str] = []
        self.latencies: list[float] = []
        self.thoughts: list[Thought] = []
        self.manager.on_query(lambda eid, _size, tick: self.queries.append((eid, tick)))
        self.manager.on_response(lambda eid, _latency, _size, tick: self.responses.append((eid, tick)))
        self.manager.on_response(lambda _eid, latency, _size, _tick: self.latencies.append(latency))
        self.manager.on_error(lambda eid, kind, _message, tick: self.errors.append((eid, kind, tick)))
        self.manager.on_error(lambda _eid, _kind, message, _tick: self.messages.append(message))
        self.system = make_llm_system(self.manager, clock=self.clock)
        self.engine = Engine(tps=20, seed=1)
        self.engine.add_system(self.system)
        self.world = self.engine.world

    def spawn(self, board=True, **agent):
        agent = {"role": "wolf", "personality": "sly", "context": "plain", "query_interval": 1, **agent}
        return self.world.spawn(LLMAgent(**agent), *([Blackboard()] if board else []))

    def agent(self, eid) -> LLMAgent:
        return self.world.get(eid, LLMAgent)

    def data(self, eid) -> dict[str, Any]:
        return self.world.get(eid, Blackboard).data

    def settle(self, expected=None):
        """Wait, without a clock, until the jobs that threads have taken are handed in."""
        wanted = len(self.system._flights) if expected is None else expected
        done = self.system._workers._done
        wait_until(lambda: len(done) >= wanted)

    def step(self, times=1):
        """Ticks; answers of each are complete before the next begins."""
        for _ in range(times):
            self.engine.step()
            self.settle()

    def tick(self, times=1):
        """Ticks without waiting for answers."""
        for _ in range(times):
            self.engine.step()


@pytest.fixture
def stage():
    made = []

    def make(client=None, **config):
        made.append(Stage(client, **config))
        return made[-1]

    yield make
    for one in made:
        one.system.shutdown()


class Hanging:
    """A client whose first calls, or all, do not return until it is let go."""

    def __init__(self, reply="{}", *, hangs=None):
        self.reply = reply
        self.hangs = hangs
        self.released = threading.Event()
        self.entered = threading.Semaphore(0)
        self.calls = 0

    def query(self, system_prompt, user_message):
        self.calls += 1
        self.entered.release()
        if self.hangs is None or self.calls <= self.hangs:
            self.released.wait(300)
        return self.reply

    def wait_for_calls(self, number=1):
        """Wait until so many more calls are in it."""
        for _ in range(number):
            assert self.entered.acquire(timeout=PATIENCE_S)


@pytest.fixture
def until():
    return wait_until


@pytest.fixture
def hanging():
    client = Hanging(reply='{"goal": "late"}')
    yield client
    client.released.set()


@pytest.fixture
def hanging_once():
    client = Hanging(reply='{"goal": "hunt"}', hangs=1)
    yield client
    client.released.set()


def model(transport):
    """A client of `tickmind.llm` over a double."""
    return ModelClient(ModelConfig(model="double", base_url="http://127.0.0.1:9/v1", api_key=Secret("none")), transport)


@pytest.fixture
def make_model():
    return model
