"""Files of experiments: what they mean, and what is said of those that mean nothing."""

import importlib
import json

import pytest
from tests.kits.experiments import CLEARING, TINY

from tickmind.base import ConfigError
from tickmind.base.problems import ConfigFileError
from tickmind.lab.experiments.code_digest import code_digest, measures_digest
from tickmind.lab.experiments.experiment import Keep, MeasureKind
from tickmind.lab.experiments.experiment_file import experiment_schema_text, read_experiment


def read(folder, text):
    file = folder / "e.yaml"
    file.write_text(text)
    return read_experiment(file)


def small(**changed):
    """An experiment of one line for each part, some of them changed; None leaves one out."""
    parts: dict[str, str | None] = {
        "experiment": "small",
        "scenario": str(CLEARING),
        "ticks": "5",
        "seeds": "2",
        "measures": "{said: {sql: SELECT count(*) FROM utterances}}",
    }
    parts.update(changed)
    return "".join(f"{name}: {value}\n" for name, value in parts.items() if value is not None)


def test_a_file_says_what_an_experiment_is(tmp_path):
    found = read(tmp_path, TINY)
    assert [condition.name for condition in found.conditions] == ["sight=far", "sight=near"]
    assert found.seeds == (1, 2)
    assert found.trials == 4
    assert found.keep is Keep.MEASURES
    assert [measure.kind for measure in found.measures[:3:2]] == [MeasureKind.SQL, MeasureKind.PYTHON]
    assert '"sight_radius": 1' in found.conditions[1].scenario_text
    assert found.conditions[0].scenario_text == CLEARING.read_text()


def test_levels_of_several_factors_are_combined_in_their_order(tmp_path):
    factors = "{a: {x: {}, y: {seed: 5}}, b: {p: {}, q: {rules.hearing_radius: 2}}}"
    found = read(tmp_path, small(factors=factors, seeds="[7, 9]"))
    assert [one.name for one in found.conditions] == ["a=x, b=p", "a=x, b=q", "a=y, b=p", "a=y, b=q"]
    assert found.seeds == (7, 9)


def test_a_level_reaches_the_mapping_too(tmp_path):
    found = read(tmp_path, small(factors="{mind: {plain: {}, bold: {agents.walker.settings: {bold: true}}}}"))
    assert '"bold": true' in found.conditions[1].agents_text


@pytest.mark.parametrize(
    ("changed", "line", "says"),
    [
        ({"scenario": None}, 1, "'scenario' is missing"),
        ({"sceanrio": "x"}, 6, "there is no such setting"),
        ({"ticks": "0"}, 3, "a whole number"),
        ({"seeds": "[1, 1]"}, 4, "each once"),
        ({"seeds": "many"}, 4, "a whole number from 1"),
        ({"experiment": "../up"}, 1, "a name of up to 40"),
        ({"measures": "{}"}, 5, "measures"),
        ({"measures": "{a: {}}"}, 5, "give one of built_in, sql, python"),
        ({"measures": "{a: {sql: SELECT 1, built_in: needs}}"}, 5, "give one of"),
        ({"measures": "{a: {built_in: densty}}"}, 5, "did you mean 'density'"),
        ({"measures": "{a: {built_in: diffusion}}"}, 5, "write `fact: SENTENCE`"),
        ({"measures": "{a: {built_in: needs, fact: x}}"}, 5, "takes no fact"),
        ({"measures": "{a: {built_in: needs, curve: true}}"}, 5, "only diffusion"),
        ({"measures": "{a: {python: os.system}}"}, 5, "module:function"),
        ({"measures": "{a/b: {sql: SELECT 1}}"}, 5, "a name of up to 60"),
        ({"factors": "{seed: {a: {}}}"}, 6, "have a column 'seed' already"),
        ({"factors": "{Error: {a: {}}}"}, 6, "have a column 'Error' already"),
        ({"factors": "{f: {a: {rules..x: 1}}}"}, 6, "is no path"),
        ({"factors": "{f: {a: {rules.sight_radius: -1}}}"}, 6, "the scenario is wrong"),
        ({"factors": "{f: {a: {kinds.nothing.opaque: true}}}"}, 6, "no 'nothing' in kinds"),
        ({"factors": "{f: {a: {agents.walker.cmd: 5}}}"}, 6, "the scenario is wrong"),
        ({"factors": "{f: {}}"}, 6, "at least one"),
        ({"repeats": "3"}, 6, "without a model every repeat is the same"),
        ({"model": "{}"}, 6, "names no model"),
        ({"model": "{base_url: 'http://h', gateway_url: 'http://g'}"}, 6, "not both"),
        ({"model": "{base_url: 'ftp://h'}"}, 6, "http://"),
        ({"budget": "{tokens: 0}"}, 6, "a whole number"),
        ({"keep": "all"}, 6, "none or measures or runs"),
        ({"agents": "nowhere.yaml"}, 6, "there is no file"),
        ({"seeds": "10000", "factors": "{f: {a: {}, b: {}, c: {}, d: {}, e: {}, g: {}}}"}, 6, "number of trials"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, changed, line, says):
    with pytest.raises(ConfigFileError) as caught:
        read(tmp_path, small(**changed))
    assert f"e.yaml:{line}:" in str(caught.value)
    assert says in str(caught.value)


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    with pytest.raises(ConfigFileError) as caught:
        read(
            tmp_path, small(measures="{a: {built_in: nothing}, b: {built_in: diffusion}}", factors="{f: {a: {'': 1}}}")
        )
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize("text", ["", "[]", "experiment: [", "a: &x 1\nb: *x", "\t", "experiment: !!python/object x"])
def test_hostile_files_are_refused(tmp_path, text):
    with pytest.raises(ConfigError):
        read(tmp_path, text)


def test_an_unknown_scenario_and_a_missing_module_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.yaml"):
        read(tmp_path, small(scenario="nowhere.yaml"))
    with pytest.raises(ConfigError, match=r"e\.yaml:5: measures\.a: there is no module not_there"):
        measures_digest(read(tmp_path, small(measures="{a: {python: 'not_there:f'}}")))


def test_the_digest_of_measures_follows_their_functions_and_that_of_the_code_does_not(tmp_path):
    (tmp_path / "mine.py").write_text("def f(run): return 1")
    found = read(tmp_path, small(measures="{a: {python: 'mine:f'}}"))
    code, before = code_digest(found), measures_digest(found)
    assert measures_digest(found) == before
    (tmp_path / "mine.py").write_text("def f(run): return 2")
    assert measures_digest(found) != before
    assert code_digest(found) == code


def test_the_digest_of_the_code_follows_rules_of_the_users_own(tmp_path, monkeypatch):
    (tmp_path / "fair_rules.py").write_text("def lottery(tick): return None")
    monkeypatch.syspath_prepend(tmp_path)
    rules = {"lottery": importlib.import_module("fair_rules").lottery}
    found = read(tmp_path, small(factors="{rules: {none: {}, own: {own_rules: [lottery]}}}"))
    asked = []

    def load_rules(names):
        asked.append(list(names))
        return rules

    before = code_digest(found, load_rules)
    (tmp_path / "fair_rules.py").write_text("def lottery(tick): return 1")
    assert code_digest(found, load_rules) != before
    assert asked == [["lottery"]] * 2


def test_the_schema_explains_every_setting():
    for name, part in json.loads(experiment_schema_text())["properties"].items():
        assert part["description"].endswith("."), name
