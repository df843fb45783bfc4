"""Scenarios by name."""

from pathlib import Path

import pytest

from tickmind.base import ConfigError
from tickmind.base.shipped import find_scenario, scenario_file


@pytest.mark.parametrize(
    "name", ["arena", "bakery", "bridge", "clearing", "commons", "escape", "island", "willowbrook"]
)
def test_a_name_finds_what_comes_with_tickmind(name):
    assert find_scenario(Path(name)) == scenario_file(name)
    assert scenario_file(name).name == f"{name}.yaml"


def test_a_file_is_taken_as_it_is_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("arena").write_text("mine")
    for given in ("arena", "nowhere.yaml", "some/where", str(tmp_path / "meadow")):
        assert find_scenario(Path(given)) == Path(given)


def test_a_name_that_nobody_knows_is_answered_with_those_that_there_are():
    with pytest.raises(ConfigError, match=r"no scenario 'arean'; there are arena, .*willowbrook, or give a file"):
        find_scenario(Path("arean"))


def test_a_file_that_is_not_there_but_comes_with_tickmind_is_answered_with_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for given in ("scenarios/clearing.yaml", "clearing.yaml"):
        with pytest.raises(ConfigError, match=f"no file {given}; .* comes with tickmind write clearing"):
            find_scenario(Path(given))
