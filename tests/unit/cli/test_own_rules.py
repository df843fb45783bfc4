"""Rules of the user's own come from installed packages, when a world runs, and at no other time."""

import json
import re
import sys
from pathlib import Path

import pytest

import tickmind
from tickmind.base import ConfigError
from tickmind.cli.world.own_rules import find_own_rules, load_own_rules
from tickmind.cli.world.run import WorldRuns
from tickmind.cli.world.serving import Serving
from tickmind.record import RunStore
from tickmind.server import ServerConfig, TickPace

SRC = Path(tickmind.__file__).parent
FAIR = """
world: fair
floors: {grass: {}}
items: {coin: {}}
map: {width: 3, height: 3, floor: grass}
actors: [{id: ada, at: [0, 0]}]
own_rules: [lottery]
"""
MODULE = """
def lottery(tick):
    tick.give_items("ada", "coin", 1)
    if tick.tick_id == 2:
        tick.score("ada", 5, "won")
    if tick.tick_id == 4:
        tick.end("no tickets left")


def broken(tick):
    raise RuntimeError("no tickets")


NUMBER = 7
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A folder of installed packages, with one that offers rules; its module is forgotten afterwards."""
    folder = tmp_path / "site"
    info = folder / "fair_rules-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fair-rules\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[tickmind.rules]\nlottery = fair_rules:lottery\nbroken = fair_rules:broken\n"
        "number = fair_rules:NUMBER\ngone = fair_rules:gone\nnowhere = no_such_module:rule\n"
    )
    (folder / "fair_rules.py").write_text(MODULE)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "fair_rules", raising=False)
    yield folder
    sys.modules.pop("fair_rules", None)


def serve(run, folder, ticks=None):
    pace = TickPace.of(1000, 500, tps=1000)
    Serving(run.scenario, ServerConfig("127.0.0.1:0"), pace, ticks, run, folder).run()


@pytest.mark.usefixtures("package")
def test_rules_are_found_without_being_imported():
    assert find_own_rules(["lottery"])["lottery"].value == "fair_rules:lottery"
    assert "fair_rules" not in sys.modules
    assert load_own_rules([]) == {}
    assert load_own_rules(["lottery"])["lottery"].__name__ == "lottery"


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lotery", r"'lotery'.*group tickmind.rules \(did you mean 'lottery'\?\); install the package"),
        ("number", r"the rule 'number' \(fair_rules:NUMBER\) is no function, but int"),
        ("gone", r"the rule 'gone' \(fair_rules:gone\) can't be loaded: AttributeError"),
        ("nowhere", r"can't be loaded: ModuleNotFoundError: No module named 'no_such_module'"),
        ("os:system", r"'os:system'.*no installed package"),
    ],
)
def test_a_rule_that_can_not_be_used_says_why(name, message):
    with pytest.raises(ConfigError, match=message):
        load_own_rules([name])


def test_two_packages_that_offer_the_same_rule_are_a_mistake(package):
    other = package / "other_rules-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other-rules\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[tickmind.rules]\nlottery = other_rules:lottery\n")
    with pytest.raises(ConfigError, match="fair_rules:lottery, other_rules:lottery; uninstall all but one"):
        find_own_rules(["lottery"])


@pytest.mark.usefixtures("package")
def test_a_world_runs_its_rules_is_resumed_with_them_and_ended_by_them(tmp_path, capsys):
    runs = WorldRuns(tmp_path / "runs")
    serve(runs.begin(FAIR, "fair.yaml", "one"), tmp_path, ticks=2)
    assert "Rule lottery in tick 2 for ada: won (score 5).\n" in capsys.readouterr().err
    serve(runs.resume("one"), tmp_path)
    assert "Rule lottery in tick 4: no tickets left: the run is over.\n" in capsys.readouterr().err
    with RunStore(tmp_path / "runs").open("one") as run:
        assert run.last_tick_id == 4
        assert run.inventories_at(4) == {"ada": {"coin": 4}}


@pytest.mark.usefixtures("package")
def test_a_rule_that_fails_is_said_once(tmp_path, capsys):
    run = WorldRuns(tmp_path / "runs").begin(FAIR.replace("lottery", "broken"), "fair.yaml", "one")
    serve(run, tmp_path, ticks=3)
    said = capsys.readouterr().err
    words = "Rule broken in tick 1: switched off after an error: RuntimeError: no tickets (fair_rules.py, line 11).\n"
    assert said.count("broken") == said.count(words) == 1


def test_a_world_whose_rule_is_not_installed_does_not_begin(tickmind, tmp_path):
    (tmp_path / "fair.yaml").write_text(FAIR)
    for command in (["world", "fair.yaml", "--port", "0"], ["check", "fair.yaml"]):
        done = tickmind(*command)
        assert done.exit_code != 0
        assert "the scenario names the rule 'lottery'" in done.stderr
    assert not list((tmp_path / "runs").glob("*"))


@pytest.fixture
def recorded(package, tmp_path):
    """A finished run of a world with own rules, whose module raises when it is imported again."""
    serve(WorldRuns(tmp_path / "runs").begin(FAIR, "fair.yaml", "one"), tmp_path)
    sys.modules.pop("fair_rules")
    (package / "fair_rules.py").write_text("raise SystemExit('imported by a reader')\n")
    return tmp_path / "runs"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["report", "one"], 0, "lottery"),
        (["runs", "show", "one"], 0, "rule_events.parquet"),
        (["runs"], 0, "one"),
        (["runs", "compare", "one", "one"], 0, ""),
        (["recover", "one"], None, ""),
        (["mind", "one", "ada"], 1, ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_no_reader_of_a_run_imports_its_rules(tickmind, recorded, words, code, says):
    done = tickmind(*words, "--runs", str(recorded)) if words[0] in ("report", "mind") else tickmind(*words)
    assert "imported by a reader" not in done.output
    assert "fair_rules" not in sys.modules
    assert says in done.output
    if code is not None:
        assert done.exit_code == code, done.output


def test_only_a_world_that_runs_loads_rules():
    calls = {
        str(file.relative_to(SRC))
        for file in SRC.rglob("*.py")
        if re.search(r"load_own_rules\(|entry_points\(", file.read_text()) and file.name != "own_rules.py"
    }
    assert calls == {"cli/lab/branch.py", "cli/world/serving.py"}  # a branch runs its world on


def test_a_reader_has_all_ticks_of_a_run_without_its_rules(recorded):
    with RunStore(recorded).open("one") as run:
        events = [event for record in run.records() for event in record.rule_events]
    assert [event.text for event in events if event.text] == ["won", "no tickets left"]
    assert json.loads((recorded / "one" / "meta.json").read_text())["world"]["name"] == "fair"
    assert "fair_rules" not in sys.modules
