"""The parts of the outage drill: who is blamed for what."""

import os
import subprocess
import sys
from io import StringIO

import pytest
from rich.console import Console

from tickmind.base import ManualClock
from tickmind.cli.drill.drill import Drill, Trouble
from tickmind.cli.drill.processes import alive, below
from tickmind.cli.drill.provider import ON_THE_WAY_S, FailingProvider, ProviderHealth
from tickmind.cli.drill.verdict import Verdict, judge, show
from tickmind.cli.drill.witness import Shown
from tickmind.cli.ensemble.parts import MAX_RESUMES, KeptPart
from tickmind.cli.world.run import WorldRuns
from tickmind.llm import Message
from tickmind.llm.testing import Refuse, Respond
from tickmind.llm.transport import ModelRequest
from tickmind.protocol import Direction, Move, Wait
from tickmind.record.replay.run_files import SCENARIO
from tickmind.world import TileWorld, load_scenario

TEXT = """
world: small
rules: {sight_radius: 2, hearing_radius: 2}
floors: {grass: {}}
map: {width: 5, height: 5, floor: grass}
actors:
  - {count: 2, type: villager}
"""
ASKED = ModelRequest(model="scripted", messages=(Message.user("Hunger 1 of 1000"),))


# The provider


def test_a_call_that_waits_as_told_is_not_too_soon():
    clock = ManualClock()
    provider = FailingProvider(retry_after_s=2, clock=clock)
    provider.health = ProviderHealth.LIMITED
    assert provider.step(ASKED) == Refuse(429, "too many requests", retry_after=2)
    clock.advance(ON_THE_WAY_S)
    assert provider.step(ASKED) == Refuse(429, "too many requests", retry_after=2)  # it was on the way already
    clock.advance(2 - ON_THE_WAY_S)
    provider.health = ProviderHealth.WELL
    assert isinstance(provider.step(ASKED), Respond)
    assert (provider.answered, provider.refused, provider.too_soon) == (1, 2, 0)


@pytest.mark.parametrize("health", list(ProviderHealth))
def test_a_call_before_its_time_is_too_soon_whatever_becomes_of_it(health):
    clock = ManualClock()
    provider = FailingProvider(retry_after_s=2, clock=clock)
    provider.health = ProviderHealth.LIMITED
    provider.step(ASKED)
    provider.health = health
    clock.advance(1.9)
    provider.step(ASKED)
    assert provider.too_soon == 1


def test_a_provider_that_is_away_tells_nobody_to_wait():
    provider = FailingProvider(clock=ManualClock())
    provider.health = ProviderHealth.AWAY
    step = provider.step(ASKED)
    assert isinstance(step, Refuse)
    assert (step.status, step.retry_after) == (503, None)


# Processes


def test_a_process_is_known_until_it_has_ended():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        (known,) = [one for one in below(os.getpid()) if one.pid == process.pid]
        assert alive([known, known._replace(started=known.started + 1)]) == [known]
        process.kill()
    assert alive([known]) == []


# A part that goes on


class FakePart:
    """A part that ends when a test says so."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.was_killed = False
        self._call = lambda: None

    async def address(self):
        return "127.0.0.1:4711"

    def when_gone(self, call):
        self._call = call

    def end(self, *, killed):
        self.was_killed = killed
        self._call()


@pytest.fixture
def kept():
    started, gone = [], []

    def start(arguments):
        started.append(FakePart(arguments))
        return started[-1]

    async def make(*resume):
        part = KeptPart(start, ["begin"], resume, lambda _text: None)
        await part.address()
        part.when_gone(lambda: gone.append(part))
        return started, gone

    return make


@pytest.mark.asyncio
async def test_a_part_that_was_killed_goes_on_at_its_address(kept):
    started, gone = await kept("--resume", "run")
    started[0].end(killed=True)
    assert [part.arguments for part in started] == [["begin"], ["--resume", "run", "--port", "4711"]]
    assert gone == []
    started[1].end(killed=False)
    assert len(started) == 2
    assert len(gone) == 1


@pytest.mark.asyncio
async def test_a_part_is_not_brought_back_for_ever(kept):
    started, gone = await kept("--resume", "run")
    for _ in range(int(MAX_RESUMES.maximum) + 1):
        assert gone == []
        started[-1].end(killed=True)
    assert len(gone) == 1


@pytest.mark.asyncio
async def test_without_a_way_to_go_on_the_end_is_the_end(kept):
    started, gone = await kept()
    started[0].end(killed=True)
    assert len(started) == len(gone) == 1


# The verdict


@pytest.fixture
def played(tmp_path, request):
    """A drill of five ticks in which all went well: of two characters one moves, or waits like the other."""
    idle = getattr(request, "param", None) == "idle"
    run = WorldRuns(tmp_path).begin(TEXT, "small.yaml", "one")
    world = TileWorld.from_scenario(run.scenario)
    drill = Drill(FailingProvider(), lambda _text: None)
    for _ in range(5):
        record = world.step({0: Wait(), 1: Wait() if idle else Move(Direction.N)})
        run.log.publish(record)
        drill.witness.shown[record.tick_id] = Shown.of(record.results, record.utterances)
    run.finish()
    drill.log.troubles = [Trouble("the provider is away", 2, 5 if idle else 3, "2 calls refused")]
    drill.log.all_began = drill.log.thinks_again = drill.log.complete = True
    return drill


def test_a_drill_in_which_all_went_well_is_passed(played, tmp_path):
    verdict = judge(played, tmp_path, "one", tick_s=0.5)
    assert verdict.passed
    assert (verdict.ticks, verdict.missed, verdict.lost, verdict.intents_per_tick) == (5, 0, 0, 2.0)
    (noted,) = verdict.outages()
    assert (noted.kind, noted.first_tick_id, noted.last_tick_id) == ("noted", 2, 3)
    assert noted.detail == "2 calls refused; 1 of 2 did more than wait, 2.0 intents per tick"


def test_a_tick_that_was_shown_otherwise_or_is_not_there_is_lost(played, tmp_path):
    played.witness.shown[3] = Shown((), ())
    played.witness.shown[6] = Shown((), ())
    verdict = judge(played, tmp_path, "one", tick_s=0.5)
    assert verdict.lost == 2
    assert not verdict.passed


def test_what_did_not_end_well_fails_the_drill(played, tmp_path):
    played.log.troubles.append(Trouble("the world is killed", 4, 4, "", over=False, goes_on=False))
    played.log.all_began = played.log.thinks_again = False
    played.provider.too_soon = 1
    played.log.survivors = 1
    verdict = judge(played, tmp_path, "one", tick_s=0.5)
    assert (verdict.not_over, verdict.too_soon, verdict.orphans, verdict.stopped) == (3, 1, 1, 0)
    assert not verdict.passed


def test_a_trouble_in_which_nobody_acts_is_noticed(played, tmp_path):
    played.log.troubles.append(Trouble("the provider is away", 9, 9, ""))
    assert judge(played, tmp_path, "one", tick_s=0.5).stopped == 1


@pytest.mark.parametrize("played", ["idle"], indirect=True)
def test_waiting_for_long_is_no_behaviour(played, tmp_path):
    verdict = judge(played, tmp_path, "one", tick_s=0.5)
    assert (verdict.stopped, verdict.intents_per_tick) == (1, 2.0)
    assert not verdict.passed
    played.log.troubles = [Trouble("an agent is killed", 3, 4, "")]
    assert judge(played, tmp_path, "one", tick_s=0.5).passed  # they may just rest


def test_who_was_struck_need_not_act_and_the_others_must(played, tmp_path):
    ids = [actor.entity_id for actor in TileWorld.from_scenario(load_scenario(tmp_path / "one" / SCENARIO)).info.actors]
    played.log.troubles = [Trouble("an agent is killed", 1, 5, "", struck=frozenset(ids[:1]))]
    (one,) = judge(played, tmp_path, "one", tick_s=0.5).behaviours
    assert (one.able, one.sending, one.acting, one.stopped) == (1, 1, 1, False)
    played.log.troubles = [Trouble("an agent is killed", 1, 5, "", struck=frozenset(ids[1:]))]
    (one,) = judge(played, tmp_path, "one", tick_s=0.5).behaviours
    assert (one.able, one.sending, one.acting, one.stopped) == (1, 1, 0, True)


def test_a_world_that_waits_for_a_model_fails_the_drill(played, tmp_path):
    played.witness.longest_s = 30.0
    verdict = judge(played, tmp_path, "one", tick_s=0.5)
    assert verdict.stood_still
    assert not verdict.passed


@pytest.mark.asyncio
async def test_a_trouble_that_nobody_notices_is_not_over(monkeypatch):
    monkeypatch.setattr("tickmind.cli.drill.drill.TIMEOUT_S", 0.0)
    drill = Drill(FailingProvider(), lambda _text: None)
    await drill._provider(ProviderHealth.AWAY, "the provider is away", 0, least_calls=1)
    (trouble,) = drill.log.troubles
    assert (trouble.over, trouble.detail) == (False, "0 calls refused")


def test_an_agent_that_is_just_being_started_can_not_be_killed():
    drill = Drill(FailingProvider(), lambda _text: None)
    assert drill._kill(0) is False
    assert drill.log.victims == set()


@pytest.mark.parametrize(("orphans", "words"), [(0, "The drill passed."), (1, "The drill failed.")])
def test_the_last_line_says_whether_the_drill_passed(orphans, words):
    printed = StringIO()
    figures = Verdict(9, 1.5, 0, 0, orphans, 0, stood_still=False, stopped=0, not_over=0, longest_s=0.5, behaviours=())
    show(figures, Console(file=printed, width=100))
    assert printed.getvalue().splitlines()[-1] == words
