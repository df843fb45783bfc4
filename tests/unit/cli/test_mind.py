"""`tickmind mind`: a mind of a recorded run, lived again up to a tick."""

import asyncio
import json
import math
import os
import shutil
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kits.lived_runs import AGENTS, SCENARIO, TICKS, record_villagers

from tickmind.cli.minds.asking import WholeMinds
from tickmind.cli.minds.commands import _source, plain
from tickmind.viewer.errors import NoWholeMindError


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of villagers in lockstep, with their mapping beside it; another that has only its scenario's agents."""
    folder = tmp_path_factory.mktemp("runs")
    for run_id, agents in (("lived", AGENTS), ("bare", None)):
        record_villagers(folder, run_id, agents)
    return folder


def test_a_mind_is_printed_with_how_much_of_its_past_came_out_as_recorded(tickmind, runs):
    done = tickmind("mind", "lived", "entity:1", "--tick", "20", "--runs", str(runs))
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("entity:1 after tick 20 of lived, at (")
    assert "Blackboard:" in done.stdout
    assert "memories:" in done.stdout
    assert "lived again: 20 of 20 intents and " in done.stdout


@pytest.mark.parametrize(
    ("told_by", "times", "words"),
    [("", 1, ""), ("bram", 1, " (told by bram)"), ("", 3, " (3 times)"), ("bram", 2, " (told by bram) (2 times)")],
)
def test_a_memory_is_printed_with_its_source(told_by, times, words):
    assert _source({"told_by": told_by, "times": times}) == words


def test_a_character_that_comes_later_and_leaves_is_lived_again_while_it_is_there(tickmind, tmp_path):
    visit = 'id: "entity:2", arrives: {tick: 5}, leaves: {tick: 20}'
    record_villagers(tmp_path, "visit", scenario=SCENARIO.replace('id: "entity:2"', visit))
    before, there, after = (
        tickmind("mind", "visit", "entity:2", "--tick", tick, "--runs", str(tmp_path)) for tick in ("3", "10", "25")
    )
    assert "the agent of entity:2 took part in no tick up to 3" in before.output
    assert there.stdout.startswith("entity:2 after tick 10 of visit, at (")
    assert "lived again: 6 of 6 intents" in there.stdout
    assert after.stdout.startswith("entity:2 after tick 25 of visit, away\n")
    assert "lived again: 15 of 15 intents" in after.stdout
    report = tickmind("report", "visit", "--runs", str(tmp_path))
    assert "1 arrived, 1 left, at most 3 there at once" in report.stdout


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


def test_what_a_person_did_with_a_character_is_no_decision_of_its_mind(tickmind, tmp_path):
    record_villagers(tmp_path, "played", played=range(5, 9))
    lived = json.loads(tickmind("mind", "played", "entity:1", "--json", "--runs", str(tmp_path)).stdout)["lived_again"]
    assert lived["equal_intents"] == lived["intents"] == TICKS - len(range(5, 9))


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
        ("[python, hostless.py]", "can't be loaded: KeyError"),
    ],
)
def test_a_program_that_cannot_be_lived_again_is_named(tickmind, runs, tmp_path, cmd, says):
    (tmp_path / "broken.py").write_text("def")
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)")
    (tmp_path / "hostless.py").write_text("from tickmind.agent.running import run\nrun(lambda context: {}['host'])")
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


def test_what_a_program_prints_is_kept_out_of_the_answer(tickmind, runs, tmp_path):
    """It would be no JSON with it; programs print while they are loaded, and whenever they act."""
    (tmp_path / "chatty.py").write_text(
        "from tickmind.characters.villager import Villager\n"
        "print('loaded')\n"
        "class Chatty(Villager):\n"
        "    def decide(self, tactics):\n"
        "        print('deciding')\n"
        "        super().decide(tactics)\n"
        "Chatty.run()\n"
    )
    done = tickmind(*with_agent(runs, tmp_path, "[python, chatty.py]"), "--tick", "3", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["tick"] == 3
    assert "loaded\ndeciding" in done.stderr


def test_a_program_finds_what_lies_beside_it_and_its_own_variables(tickmind, runs, tmp_path, monkeypatch):
    (tmp_path / "beside_it.py").write_text("from tickmind.characters.villager import Villager as Poet\n")
    (tmp_path / "poet.py").write_text(
        "from tickmind.agent import CharacterHost, Settings, Start\n"
        "from tickmind.agent.running import run\n"
        "from beside_it import Poet\n\n"
        "def make(context):\n"
        "    food = {'food': [context.env['FOOD']]}\n"
        "    return CharacterHost(Poet, lambda name: Start(name, Settings(food)), past=context.past)\n\n"
        "run(make)\n"
    )
    monkeypatch.setattr("sys.path", list(sys.path))
    for cmd in ("[python, poet.py]", "[python, -m, poet]"):
        done = tickmind(*with_agent(runs, tmp_path, f"{cmd}, env: {{FOOD: berries}}"), "--tick", "5")
        assert done.exit_code == 0, done.output
        assert "lived again: 5 of 5 intents" in done.output


def test_a_character_whose_agent_took_part_in_no_tick_is_named(tickmind, tmp_path):
    record_villagers(tmp_path, "unmanned", ticks=0, idle=4)
    done = tickmind("mind", "unmanned", "entity:1", "--runs", str(tmp_path))
    assert done.exit_code == 1
    assert "the agent of entity:1 took part in no tick up to 4" in done.output


@pytest.mark.parametrize(
    ("program", "kept_from", "says"),
    [
        ("evil.py", "{runs}/lived/agents.yaml", "no program is started from a record"),
        ("evil.py", "{runs}/other/agents.yaml", "no program is started from a record"),
        ("foreign/other/evil.py", "", "no program is started from a record"),
        ("../other/evil.py", "", "the agent's program is not at"),
        ("evil.py", "foreign/other/agents.yaml", "the agent's program is not at"),
    ],
)
def test_no_program_is_started_from_the_folder_of_runs(tickmind, runs, tmp_path, monkeypatch, program, kept_from, says):
    """A run may come from elsewhere, with others beside it: what lies there is data."""
    foreign = tmp_path / "foreign"
    shutil.copytree(runs / "lived", foreign / "lived")
    ran = tmp_path / "ran"
    for name in ("lived", "other"):
        (foreign / name).mkdir(exist_ok=True)
        (foreign / name / "evil.py").write_text(f"open({str(ran)!r}, 'w')")
    mapping = AGENTS.replace("-m, tickmind.characters.villager", program)
    first = f"# kept from {kept_from.format(runs=foreign)}\n" if kept_from else ""
    (foreign / "lived" / "agents.yaml").write_text(f"{first}{mapping}")
    monkeypatch.chdir(tmp_path)
    done = tickmind("mind", "lived", "entity:1", "--runs", str(foreign))
    assert done.exit_code == 1
    assert says in done.output
    assert not ran.exists()


@pytest.mark.parametrize("link", [None, "other/agents.yaml", "../beside/agents.yaml"])
def test_no_module_is_imported_from_what_came_with_a_run(tickmind, runs, tmp_path, monkeypatch, link):
    """A link in place of the kept mapping makes no other folder one of programs."""
    foreign, ran = tmp_path / "foreign", tmp_path / "ran"
    shutil.copytree(runs / "lived", foreign / "lived")
    mapping = AGENTS.replace("tickmind.characters.villager", "evil_module")
    for folder in (foreign / "lived", foreign / "other", tmp_path / "beside"):
        folder.mkdir(exist_ok=True)
        (folder / "evil_module.py").write_text(f"import os\nos.mkdir({str(ran)!r})")
        (folder / "agents.yaml").write_text(mapping)
    if link is not None:
        kept = foreign / "lived" / "agents.yaml"
        kept.unlink()
        kept.symlink_to(foreign / link)
    monkeypatch.setattr("sys.path", list(sys.path))
    done = tickmind("mind", "lived", "entity:1", "--runs", str(foreign))
    assert done.exit_code == 1
    assert "can't be loaded" in done.output
    assert not ran.exists()


def test_a_module_beside_the_mapping_is_found_from_everywhere(tickmind, runs, tmp_path, monkeypatch):
    own = tmp_path / "own"
    shutil.copytree(runs / "lived", tmp_path / "runs" / "lived")
    own.mkdir()
    (own / "poet_module.py").write_text("from tickmind.characters.villager import Villager\nVillager.run()\n")
    mapping = AGENTS.replace("tickmind.characters.villager", "poet_module")
    (tmp_path / "runs" / "lived" / "agents.yaml").write_text(f"# kept from {own / 'agents.yaml'}\n{mapping}")
    monkeypatch.setattr("sys.path", list(sys.path))
    done = tickmind("mind", "lived", "entity:1", "--tick", "5", "--runs", str(tmp_path / "runs"))
    assert done.exit_code == 0, done.output
    assert "lived again: 5 of 5 intents" in done.output


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.tuples(st.text()) | st.text(), inner) | st.sets(st.integers()),
)


@given(VALUES)
def test_every_value_of_a_blackboard_can_be_printed_as_json(value):
    json.dumps(plain(value), allow_nan=False)


def test_values_keep_their_shape_and_lose_their_secrets():
    given_ = {"a": [1, (2.5, None)], 3: True, "key": "sk-abcdefghijklmnopqrstuvwxyz0123456789", "odd": math.inf}
    shown = plain(given_)
    assert (shown["a"], shown["3"], shown["odd"]) == ([1, [2.5, None]], True, "inf")
    assert "abcdefghij" not in shown["key"]
    ring: list[object] = []
    ring.append(ring)
    assert "…" in json.dumps(plain(ring), ensure_ascii=False)


def whole_mind(minds, *words):
    return asyncio.run(minds(*words))


@pytest.mark.slow
def test_a_viewer_gets_what_the_command_prints_and_asks_once_for_each_tick(tickmind, runs, tmp_path, monkeypatch):
    """From wherever it was started: what was unpacked with a run there is no module of ours."""
    for name in ("orjson.py", "tickmind.py", "typer.py"):
        (tmp_path / name).write_text("raise SystemExit('a file of the working folder was imported')")
    monkeypatch.chdir(tmp_path)
    minds = WholeMinds(runs, "lived")
    printed = json.loads(tickmind("mind", "lived", "entity:1", "--tick", "9", "--json", "--runs", str(runs)).stdout)
    assert whole_mind(minds, "entity:1", 9) == printed

    async def refuse(*_words, **_options):
        raise AssertionError("it was answered before")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse)
    assert whole_mind(minds, "entity:1", 9) == printed


@pytest.mark.slow
def test_a_viewer_learns_why_a_mind_cannot_be_lived_again(runs):
    with pytest.raises(NoWholeMindError, match="its agent is no Character"):
        whole_mind(WholeMinds(runs, "bare"), "entity:1", 5)


@pytest.mark.slow
def test_a_mind_that_nobody_waits_for_any_more_is_not_lived_on(runs, tmp_path):
    """The page that asked for it was left."""
    endless = tmp_path / "endless"
    shutil.copytree(runs / "lived", endless / "lived")
    program = tmp_path / "endless.py"
    began = tmp_path / "began"
    program.write_text(
        "import os, pathlib, signal\n"
        f"pathlib.Path({str(began)!r}).write_text(str(os.getpid()))\n"
        "while True: signal.pause()\n"
    )
    mapping = AGENTS.replace("-m, tickmind.characters.villager", str(program))
    (endless / "lived" / "agents.yaml").write_text(mapping)

    async def leave():
        asked = asyncio.ensure_future(WholeMinds(endless, "lived")("entity:1", 5))
        async with asyncio.timeout(60):
            while not (began.exists() and began.read_text()):  # noqa: ASYNC110  # a file has no event
                await asyncio.sleep(0.01)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        return int(began.read_text())

    process = asyncio.run(leave())
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
