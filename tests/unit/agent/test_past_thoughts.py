"""Minds lived again from their observations and thoughts: the same intents, prompts and memories, without a model."""

import sys
from dataclasses import replace

import pytest
from tests.unit.agent.test_lockstep_minds import SlowModel

from tickmind.agent import CharacterHost, Start
from tickmind.agent.errors import LaunchError
from tickmind.agent.guarded_host import GuardedHost
from tickmind.agent.minds import PastMinds, PlainMindHost
from tickmind.agent.reliving import PastTurn, play_turn, relive
from tickmind.agent.running import ProcessContext, load_host
from tickmind.characters.villager import Villager
from tickmind.protocol import RunInfo, Thought, Wait
from tickmind.server.testing import meadow
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld

ACTORS, TICKS = 4, 40
RUN = RunInfo("run", 7)


class Lived:
    """A run in lockstep: what was observed, intended and thought."""

    def __init__(self):
        world = TileWorld.from_scenario(meadow(ACTORS))
        self.host = CharacterHost(Villager, Start, client=SlowModel())
        self.host.enter(RUN)
        guarded = GuardedHost(self.host)
        self.turns, self.intents = [], []
        self.thoughts: dict[str, list[Thought]] = {}
        for _ in range(TICKS):
            seen = [replace(one, deadline_ms=int(MAX_DURATION_MS.maximum)) for one in world.observe(range(ACTORS))]
            turn = PastTurn(world.tick_id, seen)
            chosen = play_turn(guarded, turn)
            for entity_id, thought in self.host.take_thoughts():
                self.thoughts.setdefault(entity_id, []).append(thought)
            self.turns.append(turn)
            self.intents.append(chosen)
            rows = {actor.entity_id: row for row, actor in enumerate(world.info.actors)}
            world.step({rows[name]: intent for name, intent in chosen.items()})


@pytest.fixture(scope="module")
def lived():
    life = Lived()
    yield life
    life.host.close()


def relived_host(thoughts):
    host = CharacterHost(Villager, Start, past=PastMinds(thoughts))
    host.enter(RUN)
    return host


def test_a_past_gives_the_same_intents_prompts_and_minds(lived):
    host = relived_host(lived.thoughts)
    guarded = GuardedHost(host)
    assert [play_turn(guarded, turn) for turn in lived.turns] == lived.intents
    assert len(host.prompt_checks()) == sum(map(len, lived.thoughts.values())) >= ACTORS
    assert all(check.equal for check in host.prompt_checks())
    for name in lived.intents[0]:
        assert host.mind(name).board == lived.host.mind(name).board
        assert host.mind(name).memories == lived.host.mind(name).memories
        assert host.character(name).plan_tick == lived.host.character(name).plan_tick


def test_a_mind_is_lived_again_alone_as_well_as_with_others(lived):
    name = "entity:2"
    host = relived_host(lived.thoughts)
    turns = [
        replace(turn, observations=[one for one in turn.observations if one.me.entity_id == name])
        for turn in lived.turns
    ]
    assert relive(host, turns) == TICKS
    assert host.mind(name).memories == lived.host.mind(name).memories


def test_another_past_is_noticed(lived):
    """A thought that the record lost changes what is asked later."""
    lost = {name: thoughts[1:] for name, thoughts in lived.thoughts.items()}
    host = relived_host(lost)
    relive(host, lived.turns)
    boards = [host.mind(name).board != lived.host.mind(name).board for name in lived.intents[0]]
    assert any(boards) or not all(check.equal for check in host.prompt_checks())


def test_a_failed_thought_changes_nothing(lived):
    failed = {
        name: [replace(thought, error_type="timeout", directives={}) for thought in thoughts]
        for name, thoughts in lived.thoughts.items()
    }
    host = relived_host(failed)
    relive(host, lived.turns)
    assert all("plan" not in host.mind(name).board for name in lived.intents[0])


def test_a_character_waits_for_an_answer_as_it_did(lived):
    slow = [replace(lived.thoughts["entity:1"][0], asked_tick=3, answered_tick=6)]
    host = relived_host({"entity:1": slow})
    waiting = []
    for turn in lived.turns[:8]:
        relive(host, [turn])
        waiting.append(host.deliberating("entity:1"))
    assert waiting == [False, False, True, True, True, False, False, False]


PROGRAM = """
from tickmind.agent import Character

class Poet(Character):
    pass

if __name__ == "__main__":
    Poet.run()
"""


def context():
    from tickmind.agent import Assignment, Launch

    return ProcessContext(Launch((Assignment("entity:1", "c"),)), {}, {}, past=PastMinds())


def test_the_host_of_a_program_is_made_without_running_it(tmp_path):
    (tmp_path / "poet.py").write_text(PROGRAM)
    for given in (
        ("", str(tmp_path / "poet.py")),
        ("-m", "tickmind.characters.villager"),
        ("-m", "tickmind.characters.random_walker"),
    ):
        host = load_host(*given, context())
        observation = TileWorld.from_scenario(meadow(1)).observe([0])[0]
        host.begin(1, [observation])
        host.perceive(observation)
        assert host.act(observation) is not None


def test_a_program_gets_its_arguments_and_leaves_those_of_the_process(tmp_path):
    (tmp_path / "poet.py").write_text(
        "import sys\n" + PROGRAM.replace("Poet.run()", "Poet.rhymes = sys.argv[1:]; Poet.run()")
    )
    before = list(sys.argv)
    host = load_host("", str(tmp_path / "poet.py"), context(), ["sonnet", "ode"])
    assert isinstance(host, CharacterHost)
    assert host.character("entity:1").rhymes == ["sonnet", "ode"]
    assert sys.argv == before


@pytest.mark.parametrize(
    ("source", "says"),
    [("print(1)", "runs no agent"), (None, "can't be loaded"), ("import nowhere", "can't be loaded")],
)
def test_a_program_without_an_agent_is_named(tmp_path, source, says):
    path = tmp_path / "other.py"
    if source is not None:
        path.write_text(source)
    with pytest.raises(LaunchError, match=says):
        load_host("", str(path), context())


class Counting(Villager):
    """A villager that counts how often its situation was described."""

    described = 0

    def describe(self):
        self.described += 1
        return super().describe()


def test_a_question_without_an_answer_is_described_as_it_was(lived):
    host = CharacterHost(Counting, Start, past=PastMinds({}, {"entity:1": [3, 5], "entity:2": [4]}))
    host.enter(RUN)
    relive(host, lived.turns[:6])
    assert [host.character(f"entity:{number}").described for number in (1, 2, 3)] == [2, 1, 0]
    assert host.prompt_checks() == []


class Moody(Villager):
    """A villager whose code fails now and then, as it did when it was lived first."""

    def describe(self):
        raise ValueError("no words")


def test_a_description_that_fails_costs_its_prompt_and_not_the_past(lived):
    host = CharacterHost(Moody, Start, past=PastMinds(lived.thoughts))
    host.enter(RUN)
    assert relive(host, lived.turns) == TICKS
    checks = host.prompt_checks()
    plans = sum(not thought.kind for several in lived.thoughts.values() for thought in several)
    assert sum(not check.equal for check in checks) == plans >= ACTORS


class Failing(PlainMindHost):
    """A host all of whose steps fail in one tick, each in its way."""

    def __init__(self, tick_id):
        super().__init__(lambda _start: self, Start)
        self.tick_id, self.acted, self.reflected = tick_id, [], []

    def begin(self, tick_id, observations):
        self.now = tick_id
        if tick_id == self.tick_id:
            raise RuntimeError("can't begin")

    def perceive(self, observation):
        if self.now == self.tick_id + 1:
            raise RuntimeError("can't perceive")

    def act(self, observation):
        self.acted.append(self.now)
        return None if self.now == self.tick_id + 2 else Wait()

    def reflect(self, tick_id):
        self.reflected.append(tick_id)
        if tick_id == self.tick_id + 3:
            raise RuntimeError("can't reflect")


def test_what_failed_in_the_past_fails_again_and_ends_nothing(lived):
    host = Failing(5)
    intents = [play_turn(GuardedHost(host), turn) for turn in lived.turns[:9]]
    assert [len(each) for each in intents] == [ACTORS] * 4 + [0, 0, 0] + [ACTORS] * 2
    assert host.acted == [tick for tick in (1, 2, 3, 4, 7, 8, 9) for _ in range(ACTORS)]
    assert host.reflected == list(range(1, 10))
    assert relive(Failing(5), lived.turns[:9]) == 9


def test_one_lived_again_thinks_only_if_there_was_a_model(lived):
    for thoughts, thinks in ((lived.thoughts, True), ({}, False)):
        host = relived_host(thoughts)
        relive(host, lived.turns[:1])
        assert {host.character(name).thinks for name in lived.intents[0]} == {thinks}
