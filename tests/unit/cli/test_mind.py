"""`tickmind mind`: a mind of a recorded run, lived again up to a tick."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.agent.test_lockstep_minds import SlowModel

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.agent.mistakes import Mistakes
from tickmind.agent.reliving import PastTurn, play_turn
from tickmind.characters.villager import Villager
from tickmind.cli.world.run import WorldRuns
from tickmind.protocol import RunInfo, ThoughtReport
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld

SCENARIO = (Path(__file__).parents[3] / "scenarios" / "clearing.yaml").read_text()
AGENTS = """
agents: {villager: {cmd: [python, -m, tickmind.characters.villager], settings: {food: [berries]}, per_process: 1}}
assignments: [{match: {}, use: villager}]
"""
TICKS = 30


def berry_lover(name):
    return Start(name, Settings({"food": ["berries"]}))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of villagers in lockstep, with their mapping beside it; another that has only its scenario's agents."""
    folder = tmp_path_factory.mktemp("runs")
    for run_id, agents in (("lived", AGENTS), ("bare", None)):
        run = WorldRuns(folder).begin(SCENARIO, "clearing", run_id, seed=3, agents=agents)
        world = TileWorld.from_scenario(run.scenario)
        names = [actor.entity_id for actor in world.info.actors]
        host = CharacterHost(Villager, berry_lover, client=SlowModel())
        host.enter(RunInfo(run_id, run.scenario.mind_seed))
        for _ in range(TICKS):
            rows = range(len(names))
            seen = [replace(one, deadline_ms=int(MAX_DURATION_MS.maximum)) for one in world.observe(rows)]
            intents = play_turn(host, PastTurn(world.tick_id, seen), Mistakes())
            host.reflect(world.tick_id)
            for name, thought in host.take_thoughts():
                run.log.thought(ThoughtReport(name, world.tick_id, thought))
            run.log.publish(world.step({row: intents[name] for row, name in enumerate(names)}))
        host.close()
        run.finish()
    return folder


def test_a_mind_is_printed_with_how_much_of_its_past_came_out_as_recorded(tickmind, runs):
    done = tickmind("mind", "lived", "entity:1", "--tick", "20", "--runs", str(runs))
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("entity:1 after tick 20 of lived, at (")
    assert "Blackboard:" in done.stdout
    assert "memories:" in done.stdout
    assert "lived again: 20 of 20 intents and " in done.stdout


def test_json_has_the_whole_mind(tickmind, runs):
    done = tickmind("mind", "lived", "entity:2", "--json", "--runs", str(runs))
    facts = json.loads(done.stdout)
    assert (facts["run"], facts["actor"], facts["tick"]) == ("lived", "entity:2", TICKS)
    assert facts["plan"] == facts["blackboard"]["plan"]
    lived = facts["lived_again"]
    assert (lived["equal_intents"], lived["equal_prompts"]) == (lived["intents"], lived["prompts"])
    assert lived["intents"] == TICKS
    assert lived["prompts"] >= 1
    assert any(node["status"] for node in facts["tree"])


def test_a_past_with_another_agent_is_not_exact_and_says_where(tickmind, runs, tmp_path):
    other = tmp_path / "agents.yaml"
    other.write_text(AGENTS.replace("[berries]", "[stones]"))
    done = tickmind("mind", "lived", "entity:1", "--agents", str(other), "--runs", str(runs))
    assert done.exit_code == 0, done.output
    assert "entity:1" in done.stdout.splitlines()[-1]
    assert "than recorded" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["lived", "zoe"], "run lived has no actor 'zoe'; it has entity:1, entity:2, entity:3"),
        (["lived", "entity:1", "--tick", "31"], "run lived ends with tick 30; choose one up to it"),
        (["bare", "entity:1"], "its agent is no Character"),
        (["nowhere", "entity:1"], "nowhere"),
    ],
)
def test_what_cannot_be_shown_says_why(tickmind, runs, words, says):
    done = tickmind("mind", *words, "--runs", str(runs))
    assert done.exit_code == 1
    assert says in done.output


def test_a_mind_that_is_no_character_has_nothing_to_show(tickmind, runs, tmp_path):
    other = tmp_path / "agents.yaml"
    other.write_text(AGENTS.replace("villager]", "random_walker]"))
    done = tickmind("mind", "lived", "entity:1", "--agents", str(other), "--runs", str(runs))
    assert done.exit_code == 1
    assert "its agent is no Character" in done.output


def with_agent(runs, tmp_path, cmd):
    other = tmp_path / "agents.yaml"
    other.write_text(AGENTS.replace("[python, -m, tickmind.characters.villager]", cmd))
    return ("mind", "lived", "entity:1", "--agents", str(other), "--runs", str(runs))


@pytest.mark.parametrize(
    ("cmd", "says"),
    [
        ("[sh, agent.sh]", "the agent of entity:1 is no Python program (sh agent.sh)"),
        ("[python, gone.py]", "name its mapping with --agents FILE"),
        ("[python, broken.py]", "can't be loaded: SyntaxError"),
        ("[python, leaves.py]", "can't be loaded: SystemExit"),
    ],
)
def test_a_program_that_cannot_be_lived_again_is_named(tickmind, runs, tmp_path, cmd, says):
    (tmp_path / "broken.py").write_text("def")
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)")
    done = tickmind(*with_agent(runs, tmp_path, cmd))
    assert done.exit_code == 1
    assert says in done.output
    assert "Traceback" not in done.output


def test_a_program_beside_the_mapping_is_found_from_everywhere(tickmind, runs, tmp_path, monkeypatch):
    (tmp_path / "poet.py").write_text("from tickmind.characters.villager import Villager\nVillager.run()\n")
    kept = runs / "lived" / "agents.yaml"
    before = kept.read_text()
    mapping = AGENTS.replace("-m, tickmind.characters.villager", "poet.py")
    kept.write_text(f"# kept from {tmp_path / 'agents.yaml'}\n{mapping}")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    try:
        done = tickmind("mind", "lived", "entity:1", "--tick", "5", "--runs", str(runs))
    finally:
        kept.write_text(before)
    assert done.exit_code == 0, done.output
    assert "lived again: 5 of 5 intents" in done.output
