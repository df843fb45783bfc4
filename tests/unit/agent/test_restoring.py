"""A mind in lockstep is as it was after its process was killed: it lives its past again from its journal."""

import json
import os
from dataclasses import replace

import pytest
from tests.kits.choices import chosen_by_prompt

from tickmind.agent import CharacterHost, Start
from tickmind.agent.errors import AgentError
from tickmind.agent.process.journal import ObservationJournal
from tickmind.agent.process.restoring import JOURNAL, REPLIES, RestoringHost
from tickmind.characters.villager import Villager
from tickmind.llm import CallSite, ModelClient, ModelConfig, ReplyTransport
from tickmind.llm.cassettes.format import request_form
from tickmind.llm.testing import ScriptedTransport
from tickmind.protocol import RunInfo
from tickmind.server.testing import meadow
from tickmind.strategy import ModelAdapter
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld

ACTORS = 4


class Life:
    """A world in lockstep and a process of characters in it, which can be killed."""

    def __init__(self, folder, run_id="run", *, lockstep=True):
        self.world = TileWorld.from_scenario(meadow(ACTORS))
        self.model = ScriptedTransport(lambda request: chosen_by_prompt(request.messages[-1].text))
        self.hashes, self.thoughts = [], []
        self._folder, self._run_id = folder, run_id
        self._deadline_ms = int(MAX_DURATION_MS.maximum) if lockstep else 500
        self.start()

    def start(self):
        transport = ReplyTransport(None, self.model)
        characters: dict[int, Villager] = {}
        client = ModelAdapter(
            ModelClient(ModelConfig(), transport),
            site_of=lambda eid: CallSite(characters[eid].entity_id, characters[eid].tick),
        )
        self.inner = CharacterHost(Villager, Start, client=client, characters=characters)
        self.host = RestoringHost(self.inner, self._folder, [transport])
        self.host.enter(RunInfo(self._run_id, 7))

    def observe(self):
        return [replace(one, deadline_ms=self._deadline_ms) for one in self.world.observe(range(ACTORS))]

    def play(self, observations):
        self.host.begin(self.world.tick_id, observations)
        for observation in observations:
            self.host.perceive(observation)
        intents = {row: self.host.act(observation) for row, observation in enumerate(observations)}
        self.host.reflect(self.world.tick_id)
        return intents

    def live(self, ticks):
        for _ in range(ticks):
            intents = self.play(self.observe())
            self.thoughts += [
                (who, one.asked_tick, one.user_message, one.reply) for who, one in self.host.take_thoughts()
            ]
            self.world.step(intents)
            self.hashes.append(self.world.state_hash())
        return self

    def kill(self):
        """Leave the host as it is: a killed process closes nothing."""
        self._left = self.host
        self.start()
        return self


@pytest.fixture
def lives():
    begun = []

    def live(*given, **more):
        begun.append(Life(*given, **more))
        return begun[-1]

    yield live
    for life in begun:
        life.host.close()


@pytest.mark.parametrize("at", [1, 13, 29])
def test_a_run_with_a_killed_process_is_the_run_without(lives, tmp_path, at):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    calm = lives(tmp_path / "a").live(30)
    killed = lives(tmp_path / "b").live(at).kill().live(30 - at)
    assert killed.hashes == calm.hashes
    assert sorted(killed.thoughts) == sorted(calm.thoughts)
    assert len(calm.thoughts) >= ACTORS


@pytest.mark.parametrize("at", [1, 11, 19])
def test_a_process_that_is_killed_in_a_tick_and_again_later_changes_nothing(lives, tmp_path, at):
    """The tick was kept, and the world never got its intents."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    calm = lives(tmp_path / "a").live(30)
    killed = lives(tmp_path / "b").live(at)
    killed.host.begin(killed.world.tick_id, killed.observe())
    killed.kill().live(5)
    killed.play(killed.observe())
    killed.kill().live(25 - at)
    assert killed.hashes == calm.hashes
    assert sorted(set(killed.thoughts)) == sorted(calm.thoughts)
    journal = ObservationJournal(tmp_path / "b" / JOURNAL, "run")
    assert [turn.tick_id for turn in journal.turns(before_tick=1 << 40)] == list(range(1, 31))
    journal.close()


def test_no_model_is_asked_again_for_a_tick_that_is_lived_again(lives, tmp_path):
    life = lives(tmp_path).live(20)
    asked = len(life.model.calls)
    assert asked >= ACTORS
    life.kill()
    life.play(life.observe())
    again = [call.request.messages for call in life.model.calls[asked:]]
    assert not any(messages == call.request.messages for messages in again for call in life.model.calls[:asked])


def test_a_question_that_was_under_way_is_asked_again(lives, tmp_path):
    life = lives(tmp_path).live(1)
    lines = (tmp_path / REPLIES).read_text().splitlines(keepends=True)
    (tmp_path / REPLIES).write_text("".join(lines[:-1]))  # as if it had been killed before this reply
    asked = len(life.model.calls)
    life.kill().live(1)
    again = [request_form(call.request)["messages"] for call in life.model.calls[asked:]]
    assert again.count(json.loads(lines[-1])["request"]["messages"]) == 1


def test_a_tick_that_the_world_repeats_gets_the_same_intents_and_is_lived_once(lives, tmp_path):
    life = lives(tmp_path).live(5)
    seen = life.observe()
    first = life.play(seen)
    notes = [len(list(life.inner.character(f"entity:{n}").memory)) for n in range(1, ACTORS + 1)]
    engine_tick = life.inner._engine.tick_number
    assert life.play(seen) == first
    assert life.inner._engine.tick_number == engine_tick
    assert [len(list(life.inner.character(f"entity:{n}").memory)) for n in range(1, ACTORS + 1)] == notes


def test_the_past_of_another_run_is_not_lived_again(lives, tmp_path):
    lives(tmp_path, "first").live(10).host.close()
    other = lives(tmp_path, "second").live(1)
    journal = ObservationJournal(tmp_path / JOURNAL, "second")
    assert [turn.tick_id for turn in journal.turns(before_tick=1 << 40)] == [other.world.tick_id - 1]
    journal.close()


def test_in_real_time_nothing_is_kept(lives, tmp_path):
    lives(tmp_path, lockstep=False).live(3)
    assert list(tmp_path.iterdir()) == []


def observed(ticks=3):
    world = TileWorld.from_scenario(meadow(ACTORS))
    turns = []
    for _ in range(ticks):
        turns.append((world.tick_id, tuple(world.observe(range(ACTORS)))))
        world.step({})
    return turns


def kept(path, turns, run_id="run", drop_from=1 << 40):
    journal = ObservationJournal(path, run_id)
    journal.drop_from(drop_from)
    for tick_id, observations in turns:
        journal.keep(tick_id, observations)
    journal.close()


def read(path, run_id="run", before_tick=1 << 40):
    journal = ObservationJournal(path, run_id)
    turns = [(turn.tick_id, turn.observations) for turn in journal.turns(before_tick)]
    journal.close()
    return turns


def test_a_journal_returns_what_was_observed(tmp_path):
    turns = observed()
    kept(tmp_path / "j", turns)
    assert read(tmp_path / "j") == turns
    assert read(tmp_path / "j", before_tick=turns[2][0]) == turns[:2]
    assert (tmp_path / "j").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_half_written_tick_is_left_out_and_kept_anew(tmp_path, cut):
    turns = observed(4)
    kept(tmp_path / "j", turns[:3])
    whole = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(whole[:-cut])
    assert read(tmp_path / "j", before_tick=turns[2][0]) == turns[:2]  # it was not lived, so the world is still there
    kept(tmp_path / "j", turns[2:], drop_from=turns[2][0])
    assert read(tmp_path / "j") == turns


@pytest.mark.parametrize("before_tick", [1, 9])
@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_half_written_first_tick_costs_nothing(tmp_path, cut, before_tick):
    """The process was killed in its first tick, which may be a later one of the run."""
    kept(tmp_path / "j", observed(1))
    whole = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(whole[:-cut])
    assert read(tmp_path / "j", before_tick=before_tick) == []


def test_a_journal_that_lost_lived_ticks_is_not_lived(tmp_path):
    turns = observed()
    kept(tmp_path / "j", turns[:1])
    first = (tmp_path / "j").stat().st_size
    kept(tmp_path / "j", turns[1:])
    with (tmp_path / "j").open("r+b") as file:
        file.seek(first + 12)
        file.write(b"\xff\xff")
    with pytest.raises(ValueError, match="it is damaged after tick 1, and the world is at tick 4"):
        read(tmp_path / "j", before_tick=4)


def test_a_full_disk_is_reported_once_and_minds_that_could_not_be_kept_are_not_restored(tmp_path, monkeypatch, caplog):
    turns = observed(4)
    journal = ObservationJournal(tmp_path / "j", "run")
    journal.keep(*turns[0])
    real = os.pwrite
    monkeypatch.setattr("os.pwrite", lambda descriptor, data, at: real(descriptor, data[:7] if at else data, at))
    journal.keep(*turns[1])
    monkeypatch.undo()
    journal.keep(*turns[2])  # a past with a hole would be another past
    journal.close()
    with pytest.raises(ValueError, match="could not be kept to the end"):
        read(tmp_path / "j")
    assert read(tmp_path / "j", run_id="next") == []
    assert len([one for one in caplog.records if "can't keep what minds observe" in one.getMessage()]) == 1


def test_a_past_that_cannot_be_lived_again_ends_the_process(lives, tmp_path):
    (tmp_path / JOURNAL).mkdir()
    life = lives(tmp_path)
    with pytest.raises(AgentError, match="can't restore the minds of run 'run'"):
        life.play(life.observe())
    with pytest.raises(AgentError):
        life.play(life.observe())
