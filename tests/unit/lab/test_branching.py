"""`tickmind branch`: the past of another run exactly, then what comes of a change."""

import random
import shutil

import pytest
from tests.kits.lived_runs import AGENTS, SCENARIO, TICKS, record_villagers
from tests.long import short_or_long
from tests.unit.agent.test_lockstep_minds import SlowModel
from typer.testing import CliRunner

from tickmind.agent import CharacterHost
from tickmind.agent.character.character import Character
from tickmind.cli.app import app
from tickmind.cli.world import own_rules
from tickmind.lab.minds.relived import RelivedMinds
from tickmind.record import RunStore
from tickmind.record.report.comparison import compare_runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    record_villagers(folder, "parent", AGENTS)
    return folder


@pytest.fixture
def asks_model(monkeypatch):
    """The model of the parent is there, and is asked after the tick of a branch."""
    monkeypatch.setattr(Character, "client", classmethod(lambda _cls, _stage: SlowModel()))


def branch(runs, *words):
    return CliRunner().invoke(app, ["branch", *words, "--runs", str(runs)], prog_name="tickmind")


def branched(runs, *words):
    """The id of a branch, which must be made."""
    done = branch(runs, *words)
    assert done.exit_code == 0, done.output
    return done.stdout.split()[1]


def compared(runs, first, second):
    store = RunStore(runs)
    with store.open(first) as one, store.open(second) as other:
        return compare_runs(one, other)


def hashes(runs, run_id):
    with RunStore(runs).open(run_id) as run:
        return [record.state_hash for record in run.records()]


@pytest.mark.parametrize("tick", short_or_long([0, 7, TICKS - 1], random.Random(26).sample(range(TICKS), 20)))
def test_a_null_branch_equals_its_parent_to_the_end(runs, tick):
    made = branched(runs, "parent", "--tick", str(tick), "--replies", "keep")
    outcome = compared(runs, "parent", made)
    assert outcome.equal, outcome
    assert outcome.ticks == TICKS
    assert outcome.thoughts >= 3


def test_a_null_branch_whose_model_is_asked_anew_equals_its_parent_as_its_model_repeats(runs, asks_model):
    made = branched(runs, "parent", "--tick", "9")
    assert compared(runs, "parent", made).equal


CHANGES = {
    "say": ("--say", "entity:1=The mill is on fire!"),
    "item": ("--set", "entity:1.inventory.berries=7"),
    "state": ("--set", "door:1.state=open"),
    "remove": ("--remove", "entity:2"),
    "rule": ("--set", "rules.text_limit_chars=1"),
}


@pytest.fixture(scope="module")
def changed(runs):
    """Kind of change -> the branch after tick 11 that has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Character, "client", classmethod(lambda _cls, _stage: SlowModel()))
        return {
            kind: branched(runs, "parent", "--tick", "11", "--ticks", "6", "--run-id", f"with-{kind}", *words)
            for kind, words in CHANGES.items()
        }


@pytest.mark.parametrize("kind", sorted({*CHANGES} - {"rule"}))
def test_a_changed_branch_shares_every_state_up_to_its_tick_and_differs_in_the_next(runs, changed, kind):
    parent, made = hashes(runs, "parent"), hashes(runs, changed[kind])
    assert made[:11] == parent[:11]
    assert made[11] != parent[11]
    assert len(made) == 17


def test_each_change_shows_in_the_next_tick(runs, changed):
    store = RunStore(runs)
    with store.open(changed["say"]) as run:
        assert ("entity:1", "The mill is on fire!") in [(one.actor_id, one.text) for one in run.tick(12).utterances]
    with store.open(changed["item"]) as run:
        assert run.inventories_at(12)["entity:1"]["berries"] == 7
    with store.open(changed["state"]) as run:
        assert [(one.object_id, one.new_value) for one in run.tick(12).object_deltas] == [("door:1", "open")]
    with store.open(changed["remove"]) as run:
        assert (run.state_at(11).present.tolist(), run.state_at(12).present.tolist()) == (
            [True] * 3,
            [True, False, True],
        )


def test_a_changed_rule_holds_from_the_next_tick_on(runs, changed):
    with RunStore(runs).open(changed["rule"]) as run:
        events = [event.text for event in run.tick(12).rule_events]
    assert events == ["text_limit_chars is 1 now"]


def test_branching_twice_gives_the_same(runs, changed, asks_model):
    again = branched(runs, "parent", "--tick", "11", "--ticks", "6", *CHANGES["say"])
    assert compared(runs, changed["say"], again).equal


@pytest.mark.parametrize("kind", CHANGES)
def test_the_minds_of_a_changed_branch_are_lived_again_exactly(runs, changed, kind):
    store = RunStore(runs)
    with store.open(changed[kind]) as run:
        fidelity = RelivedMinds(store, run).live()
    assert fidelity.exact, fidelity.differences
    assert fidelity.prompts


def test_a_branch_of_a_branch_keeps_the_changes_of_the_past_that_both_share(runs, changed):
    later = branched(runs, changed["item"], "--tick", "14", "--replies", "keep")
    assert compared(runs, changed["item"], later).equal
    earlier = branched(runs, changed["item"], "--tick", "8", "--ticks", "9", "--replies", "keep")
    assert hashes(runs, earlier)[11] == hashes(runs, "parent")[11]


def models_asked(runs, monkeypatch, *words):
    """Names of the models that the processes of a new branch are given."""
    names = set()

    def client(_cls, stage):
        names.add(stage.launch.settings.text("model"))
        return SlowModel()

    monkeypatch.setattr(Character, "client", classmethod(client))
    return branched(runs, *words), names


def test_a_branch_of_a_branch_asks_the_model_of_the_past_that_both_share(runs, monkeypatch):
    first, names = models_asked(runs, monkeypatch, "parent", "--tick", "9", "--ticks", "4", "--model", "other")
    assert names == {"other"}
    assert models_asked(runs, monkeypatch, first, "--tick", "11", "--ticks", "1")[1] == {"other"}
    assert models_asked(runs, monkeypatch, first, "--tick", "9", "--ticks", "1")[1] == {""}


def test_a_run_from_elsewhere_does_not_choose_where_models_are_asked(runs, tmp_path, monkeypatch):
    given = AGENTS.replace("per_process: 1}", "per_process: 1, env: {LLM_BASE_URL: http://else.where/v1, MOOD: calm}}")
    shutil.copytree(runs / "parent", tmp_path / "parent")
    (tmp_path / "parent" / "agents.yaml").write_text(given)
    monkeypatch.setenv("LLM_BASE_URL", "http://127.0.0.1:9/v1")
    seen = []

    def client(_cls, stage):
        seen.append(stage.env)
        return SlowModel()

    monkeypatch.setattr(Character, "client", classmethod(client))
    branched(tmp_path, "parent", "--tick", "9", "--ticks", "1")
    assert {(env["LLM_BASE_URL"], env["MOOD"]) for env in seen} == {("http://127.0.0.1:9/v1", "calm")}


def mind_of(runs, run_id, who, tick):
    with RunStore(runs).open(run_id) as run:
        minds = RelivedMinds(RunStore(runs), run, [who])
        assert minds.live(tick).exact
    host = minds.host_of(who)
    assert isinstance(host, CharacterHost)
    return host.character(who)


def test_a_mind_gets_and_loses_memories_and_another_voice(runs, asks_model):
    first = next(iter(mind_of(runs, "parent", "entity:1", 25).memory))
    made = branched(
        runs,
        *("parent", "--tick", "25", "--ticks", "3", "--remember", "entity:1=Gita has a feast at the square at 18:00."),
        *("--forget", f"entity:1={first.number}", "--set", "entity:1.persona.voice=in rhymes"),
    )
    before, after = (mind_of(runs, made, "entity:1", tick) for tick in (25, 26))
    assert first in list(before.memory)
    assert after.memory.entry(first.number) is None
    assert [one.tick for one in after.memory if one.text.startswith("Gita has a feast")] == [25]
    assert (before.persona.voice, after.persona.voice) == ("", "in rhymes")


def test_a_branch_names_its_parent_its_tick_and_what_was_changed(runs, changed):
    shown = CliRunner().invoke(app, ["runs", "show", changed["item"], "--runs", str(runs)]).stdout
    assert "parent" in shown
    assert "parent, tick 11" in shown
    assert "after tick 11: --set entity:1.inventory.berries=7" in shown
    listed = CliRunner().invoke(app, ["runs", "--runs", str(runs)]).stdout.splitlines()
    names = [line.split("  ")[0].rstrip() for line in listed]
    place = names.index("parent")
    assert "└ with-item" in " ".join(names[place + 1 :])


def test_a_past_that_does_not_come_out_as_recorded_is_refused_with_tick_and_character(runs, tmp_path):
    other = tmp_path / "agents.yaml"
    other.write_text(AGENTS.replace("[berries]", "[stones]"))
    done = branch(runs, "parent", "--tick", "20", "--agents", str(other), "--replies", "keep", "--run-id", "never")
    assert done.exit_code == 1
    assert "run parent does not come out as recorded" in done.output
    assert "after tick 20: tick " in done.output
    assert "entity:" in done.output
    assert not (runs / "never").exists()


@pytest.fixture(scope="module")
def clocked(tmp_path_factory):
    """Runs by the clock, in which thoughts take several ticks; in one of them a process began anew."""
    folder = tmp_path_factory.mktemp("clocked")
    record_villagers(folder, "parent", AGENTS, lockstep=False)
    record_villagers(folder, "restarted", AGENTS, lockstep=False, begins_anew=8)
    return folder


def past_of(runs, run_id, tick):
    """States, intents and thoughts of a run up to a tick."""
    with RunStore(runs).open(run_id) as run:
        reports = [(one.entity_id, one.thought) for one in run.thoughts() if one.thought.answered_tick <= tick]
        return [(record.state_hash, record.intents.actor.tolist()) for record in run.records(None, tick)], reports


def test_a_run_by_the_clock_is_branched_where_a_thought_is_under_way(clocked, asks_model):
    with RunStore(clocked).open("parent") as run:
        thoughts = [one.thought for one in run.thoughts()]
    tick = max(one.answered_tick for one in thoughts) - 1
    assert any(one.asked_tick < one.answered_tick <= tick for one in thoughts)
    assert any(one.asked_tick <= tick < one.answered_tick for one in thoughts)
    made = branched(clocked, "parent", "--tick", str(tick), "--ticks", "12")
    states, before = past_of(clocked, "parent", tick)
    assert past_of(clocked, made, tick) == (states, before)
    with RunStore(clocked).open(made) as run:
        new = [one.thought for one in run.thoughts() if one.thought.asked_tick > tick]
        assert run.last_tick_id == tick + 12
    assert new, "models are asked anew"
    assert all(one.reply and not one.error_type for one in new)
    with RunStore(clocked).open(made) as run:
        fidelity = RelivedMinds(RunStore(clocked), run).live()
    assert fidelity.exact, fidelity.differences
    assert fidelity.prompts > len(before)
    again = branched(clocked, made, "--tick", str(tick + 5), "--ticks", "3")
    assert hashes(clocked, again)[: tick + 5] == hashes(clocked, made)[: tick + 5]


def test_a_run_by_the_clock_in_which_a_process_began_anew_is_branched_before_that_only(clocked, asks_model):
    done = branch(clocked, "restarted", "--tick", "12", "--run-id", "never")
    assert done.exit_code == 1
    assert "tick 8: the process of entity:3 began anew, with its memories only" in done.output
    assert not (clocked / "never").exists()
    assert branched(clocked, "restarted", "--tick", "7", "--ticks", "3")


def test_a_run_by_the_clock_whose_minds_come_out_otherwise_is_refused_with_tick_and_character(clocked, tmp_path):
    other = tmp_path / "agents.yaml"
    other.write_text(AGENTS.replace("[berries]", "[stones]"))
    done = branch(clocked, "parent", "--tick", "20", "--agents", str(other), "--replies", "keep")
    assert done.exit_code == 1
    assert "after tick 20: tick " in done.output
    assert "entity:" in done.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--tick", "31"], "run parent ends with tick 30"),
        (["--tick", str(TICKS)], "name how long to go on: --ticks 100"),
        (["--tick", "5"], "there is no model to ask after that tick"),
        (["--tick", "5", "--say", "zoe=Hello."], "run parent has no actor 'zoe'; it has entity:1, entity:2, entity:3"),
        (["--tick", "5", "--say", "entity:1"], "--say takes the id of an actor"),
        (["--tick", "5", "--say", "entity:1=A", "--say", "entity:1=B"], "--say names an actor twice"),
        (["--tick", "5", "--set", "entity:1.hunger=3"], "possible are WHO.inventory.ITEM=NUMBER"),
        (["--tick", "5", "--set", "entity:1.inventory.berries=many"], "takes a whole number, not 'many'"),
        (["--tick", "5", "--set", "entity:1.inventory.gold=1", "--replies", "keep"], "there is no item 'gold'"),
        (["--tick", "5", "--set", "door:9.state=open", "--replies", "keep"], "there is no object 'door:9'"),
        (["--tick", "5", "--set", "rules.sight_radius=3", "--replies", "keep"], "there is no rule that can change"),
        (["--tick", "5", "--set", "rules.offer_ticks=long", "--replies", "keep"], "rules.offer_ticks takes a whole"),
        (["--tick", "5", "--set", "entity:1.persona.secret=x"], "persona.secret can't be changed in a branch"),
        (["--tick", "5", "--forget", "entity:1=first"], "--forget takes the number of a memory, not 'first'"),
        (["--tick", "5", "--forget", "entity:1=999", "--replies", "keep"], "entity:1 has no memory 999 after tick 5"),
    ],
)
def test_what_cannot_be_branched_says_what_to_do(runs, words, says):
    before = sorted(path.name for path in runs.iterdir())
    done = branch(runs, "parent", *words)
    assert done.exit_code == 1, done.output
    assert says in done.output
    assert "Traceback" not in done.output
    assert sorted(path.name for path in runs.iterdir()) == before


def plant_berries(tick):
    """Put a berry into somebody's hand now and then."""
    if tick.tick_id % 4 == 0:
        tick.give_items("entity:1", "berries", 1)


def test_a_run_with_rules_of_the_users_own_is_branched_with_them(tmp_path, monkeypatch):
    monkeypatch.setattr(own_rules, "load_own_rules", lambda names: dict.fromkeys(names, plant_berries))
    scenario = f"{SCENARIO}\nown_rules: [plant_berries]\n"
    record_villagers(tmp_path, "ruled", AGENTS, scenario=scenario, ticks=12, own_rules={"plant_berries": plant_berries})
    made = branched(tmp_path, "ruled", "--tick", "6", "--replies", "keep")
    assert compared(tmp_path, "ruled", made).equal
    with RunStore(tmp_path).open(made) as run:
        assert [event.name for event in run.tick(8).rule_events] == ["plant_berries"]


def test_a_picture_that_is_a_link_is_not_copied_into_a_branch(runs, tmp_path):
    shutil.copytree(runs / "parent", tmp_path / "parent")
    (tmp_path / "private.json").write_text("{}")
    (tmp_path / "parent" / "tiles.json").symlink_to(tmp_path / "private.json")
    made = branched(tmp_path, "parent", "--tick", "29", "--replies", "keep")
    assert not (tmp_path / made / "tiles.json").exists()
