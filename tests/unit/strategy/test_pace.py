"""How long thoughts take is learnt, and questions are spaced accordingly: slow models lose nothing."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from tickmind.ai import Blackboard
from tickmind.base import ConfigError
from tickmind.llm import LLMCooldownError, LLMDeadlineError, LLMDroppedError
from tickmind.strategy import LLMAgent, LLMConfig, LLMManager, MockClient
from tickmind.strategy.queries.pace import FIRST_PATIENCE_S, GRACE, LEAST_PATIENCE_S, MOST_PATIENCE_S, QueryPace
from tickmind.strategy.testing import SimulatedClock, SlotModel, make_simulated_system
from tickmind.tick import Engine

LEARNT: dict[str, Any] = {"query_timeout": None, "max_in_flight": None}
FIXED: dict[str, Any] = {"query_timeout": 60.0, "max_in_flight": 1024}
TPS = 2


class Village:
    """Twelve agents before one model, in simulated time at two ticks a second."""

    def __init__(self, service_ticks, *, slots=1, agents=12, interval=60, gap=5, pressed=None, reply=None, **config):
        self.clock = SimulatedClock()
        self.engine: Engine = Engine(tps=TPS, seed=1)
        self.model = SlotModel(self.clock, service_ticks, slots=slots, **({"reply": reply} if reply else {}))
        limits = {"max_queries_per_tick": 12, "max_queries_per_second": None, "thread_pool_size": 64}
        self.manager = m = LLMManager(LLMConfig(**{**limits, **LEARNT, "trigger_gap": gap, **config}))
        m.define_role("villager", "You live here.")
        m.define_personality("plain", "You are plain.")
        m.define_context("now", lambda _world, eid: f"{eid} {self.engine.tick_number}")
        m.define_trigger("pressed", lambda _world, eid: pressed is not None and pressed(eid))
        m.register_client(self.model)
        self.asked: list[tuple[int, int]] = []  # entity id, tick
        self.answered: list[tuple[int, int]] = []
        self.errors: list[tuple[int, str, int]] = []
        self.most_in_flight = 0
        m.on_query(lambda eid, _size, tick: self.asked.append((eid, tick)))
        m.on_response(lambda eid, _latency, _size, tick: self.answered.append((eid, tick)))
        m.on_error(lambda eid, kind, _message, tick: self.errors.append((eid, kind, tick)))
        self.system = make_simulated_system(m, self.clock)
        self.engine.add_system(self.system)
        for _ in range(agents):
            agent = LLMAgent(
                "villager",
                "plain",
                "now",
                query_interval=interval,
                trigger="pressed" if pressed else "",
                max_retries=99,
            )
            self.engine.world.spawn(agent, Blackboard())

    def run(self, ticks):
        for _ in range(ticks):
            self.engine.step()
            self.most_in_flight = max(self.most_in_flight, self.system.statistics().in_flight)
        return self

    @property
    def pace(self):
        return self.system.statistics().paces[""]


# Goodput


def test_a_model_with_one_slot_is_always_at_work_and_hardly_anything_waits_there():
    village = Village((16, 16)).run(60).run(1600)
    assert len(village.answered) >= 0.97 * 1600 / 16
    assert village.pace.window == 2
    assert village.most_in_flight <= 3  # one more while the window is found
    assert village.errors == []
    assert village.model.calls - len(village.answered) <= 2  # under way


def test_a_fixed_deadline_answers_less_and_wastes_what_it_gives_up():
    learnt, fixed = Village((16, 40)).run(3000), Village((16, 40), **FIXED).run(3000)
    assert learnt.errors == []
    assert len([one for one in fixed.errors if one[1] == "timeout"]) > 0
    assert len(learnt.answered) > 2 * len(fixed.answered)


@pytest.mark.parametrize("slots", [2, 4])
def test_the_window_finds_the_slots_of_a_model(slots):
    village = Village((15, 17), slots=slots, interval=5).run(2000)
    assert slots < village.pace.window <= slots + 2
    assert village.model.busy_ticks >= 0.95 * slots * 2000


def test_the_window_opens_for_an_endpoint_that_answers_all_at_once():
    village = Village((4, 4), slots=12, interval=5).run(300)
    assert village.pace.window >= 12
    assert len(village.answered) >= 0.95 * 12 * 300 / 5 * 0.9


def test_nothing_is_given_up_of_a_model_that_takes_minutes():
    village = Village((200, 240)).run(6000)  # about two minutes each
    assert village.errors == []
    assert len(village.answered) >= 0.95 * 6000 / 220 - 2


def test_a_model_that_becomes_ten_times_slower_and_recovers_loses_nothing():
    village = Village((8, 10)).run(1200)
    before = len(village.answered)
    village.model.service_ticks = (80, 100)
    village.run(600)
    slow = len(village.answered) - before
    village.model.service_ticks = (8, 10)
    village.run(200)  # the last slow ones end
    village.answered.clear()
    village.run(600)
    assert village.errors == []
    assert slow >= 600 / 90 - 2
    assert len(village.answered) >= 0.95 * 600 / 9


def test_each_of_twelve_gets_its_share():
    village = Village((10, 30)).run(6000)
    shares = Counter(eid for eid, _ in village.answered)
    mean = len(village.answered) / 12
    assert len(shares) == 12
    assert all(0.75 * mean <= share <= 1.25 * mean for share in shares.values())


# Who asks, and what about


def test_an_agent_asks_again_only_when_its_last_thought_has_arrived():
    village = Village((10, 30), interval=1).run(2000)
    for eid in range(1, 13):
        asked = [tick for who, tick in village.asked if who == eid]
        answered = [tick for who, tick in village.answered if who == eid]
        assert all(later >= earlier for earlier, later in zip(answered, asked[1:], strict=False))


@pytest.mark.parametrize("threads", [1, 64])
def test_a_question_is_about_the_tick_in_which_it_goes_out_however_long_the_agent_waited(threads):
    heard = []

    def reply(_system, user):
        heard.append((int(user.split()[0]), int(user.split()[1]), village.engine.tick_number))
        return "{}"

    village = Village((16, 16), interval=1, reply=reply, thread_pool_size=threads)
    village.run(600)
    assert len(heard) > 30
    assert all(about == sent for _, about, sent in heard)


def test_pressing_questions_go_first_and_everybody_gets_a_turn():
    talkers = {1, 2, 3}
    village = Village((16, 16), pressed=lambda eid: eid in talkers).run(6000)
    shares = Counter(eid for eid, _ in village.answered)
    quiet = [shares[eid] for eid in range(4, 13)]
    assert min(shares[eid] for eid in talkers) > 1.5 * max(quiet)
    gaps = []
    for eid in range(4, 13):
        ticks = [tick for who, tick in village.answered if who == eid]
        gaps += [later - earlier for earlier, later in pairwise(ticks)]
    assert max(gaps) <= 360  # three minutes, with thoughts of eight seconds


def test_one_that_waits_already_goes_first_as_soon_as_its_question_presses():
    now = set()
    village = Village((40, 40), pressed=lambda eid: eid in now).run(121)
    waiting = [eid for eid in range(1, 13) if eid not in {who for who, _ in village.asked}]
    now.add(waiting[-1])
    village.run(60)
    rest = [eid for eid, _ in village.asked if eid in waiting]
    assert rest[0] == waiting[-1]


def test_a_pressing_question_is_of_higher_priority_to_those_who_share_the_client(stage):
    seen = []

    class Client:
        async def answer(self, question):
            seen.append(question.priority)
            return "{}"

    s = stage(Client())
    s.manager.define_trigger("panic", lambda _world, _eid: True)
    s.spawn(trigger="panic", query_interval=100)
    s.step(1)
    s.spawn(query_interval=1)
    s.step(2)
    assert seen[0] == 1
    assert 0 in seen


# Learning


def test_before_anything_is_known_patience_is_long_and_then_it_follows_the_answers():
    pace = QueryPace()
    assert pace.patience_s == FIRST_PATIENCE_S
    for _ in range(50):
        pace.note_answer(5.0, 2)
    assert pace.mean_s == pytest.approx(5.0)
    assert pace.deviation_s == pytest.approx(0.0, abs=0.01)
    assert pace.patience_s == pytest.approx(5.0 * GRACE, rel=0.01)
    for _ in range(50):
        pace.note_answer(0.1, 2)
    assert pace.patience_s == LEAST_PATIENCE_S


def test_what_is_given_up_is_a_lower_bound_and_raises_the_estimate():
    pace = QueryPace()
    for _ in range(20):
        pace.note_answer(4.0, 1)
    before = pace.patience_s
    pace.note_cut_off(before)
    assert pace.mean_s is not None
    assert pace.mean_s > 4.0
    assert pace.patience_s > 1.5 * before
    for _ in range(20):
        pace.note_cut_off(pace.patience_s)
    assert pace.patience_s == MOST_PATIENCE_S


def test_a_cut_off_that_is_shorter_than_an_answer_says_nothing_about_time():
    pace = QueryPace()
    pace.note_answer(40.0, 1)
    pace.note_cut_off(3.0)
    assert pace.mean_s == 40.0
    assert pace.statistics().cut_off == 1


def test_a_client_that_says_how_long_it_queued_is_believed():
    waiting, idle = QueryPace(), QueryPace()
    for _ in range(10):
        waiting.note_answer(10.0, waiting.window, queued_s=9.0)
        idle.note_answer(10.0, idle.window, queued_s=0.0)
    assert waiting.window == 1
    assert idle.window == 12


def test_a_client_that_never_answers_is_given_up_and_asked_again():
    village = Village((5000, 5000), agents=1, interval=10).run(1300)
    assert [kind for _, kind, _ in village.errors] == ["timeout"]
    assert len(village.asked) == 2


def test_a_deadline_that_the_client_keeps_itself_counts_as_a_lower_bound(stage):
    s = stage(MockClient(error_rate=1.0, error_exception=LLMDeadlineError("too late")), **LEARNT)
    s.spawn()
    s.step(2)
    assert s.system.statistics().paces[""].cut_off == 1


@pytest.mark.parametrize("kind", [LLMCooldownError, LLMDroppedError, LLMDeadlineError])
def test_any_error_that_carries_a_wait_is_waited_out(stage, kind):
    error = kind("wait")
    error.retry_after_s = 1.0
    s = stage(MockClient(error_rate=1.0, error_exception=error))
    eid = s.spawn()
    s.step(2)
    assert s.agent(eid).cooldown_until == 2 + 20


def test_a_held_back_question_narrows_the_window(stage):
    s = stage(MockClient(error_rate=1.0, error_exception=LLMCooldownError("full", code="QUEUE_FULL")), **LEARNT)
    s.spawn()
    s.step(2)
    assert s.system.statistics().paces[""].window == 1


@pytest.mark.parametrize("wrong", [{"query_timeout": 0.0}, {"max_in_flight": 0}])
def test_limits_are_positive_or_learnt(wrong):
    with pytest.raises(ConfigError):
        LLMConfig(**wrong)
    LLMConfig(**LEARNT)
