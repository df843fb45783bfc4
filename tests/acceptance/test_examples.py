"""Every example runs by itself, as a person would run it: for a few ticks, and without a model."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
SHORTENED = {
    "--ticks": ["--ticks", "20"],
    "--scripted": ["--scripted"],
    "--seconds": ["--seconds", "2"],
}  # option -> how it is used here


def arguments_for(source):
    """The options that make an example short and free, as far as it has them."""
    return [word for option, words in SHORTENED.items() if f'"{option}"' in source for word in words]


def test_there_are_examples():
    assert EXAMPLES, f"no examples/[0-9]*.py in {ROOT}: they were moved, or this test looks in the wrong place"


def test_examples_are_numbered_without_repeats():
    numbers = [file.name.split("_")[0] for file in EXAMPLES]
    assert len(set(numbers)) == len(numbers)


def test_every_example_can_be_kept_short_or_needs_no_model():
    for example in EXAMPLES:
        source = example.read_text(encoding="utf-8")
        assert arguments_for(source), f"{example.name} has neither --ticks nor --scripted"
        assert '"--scripted"' in source or "tickmind.llm" not in source, f"{example.name} can't do without a model"


@pytest.fixture
def run(warm_python, tmp_path):
    """Run an example as a person would, but not on a terminal."""
    folder = tmp_path / "empty"
    folder.mkdir()

    def whole(example, *arguments):
        done = warm_python(example, folder, *arguments)
        assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    return whole


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.name)
def test_an_example_runs_and_shows_something(run, example):
    shown = run(example, *arguments_for(example.read_text(encoding="utf-8")))
    assert shown.strip()
    assert "\x1b[" not in shown, "plain output must have no colours or cursor movements"


@pytest.mark.slow
def test_the_hunt_goes_on_without_a_model_and_a_run_repeats(run):
    example = ROOT / "examples" / "05_arena_strategist.py"
    shown = [run(example, "--ticks", "150", "--outage", "20:80") for _ in range(2)]
    first, second = [[line for line in text.splitlines() if " ticks in " not in line] for text in shown]
    assert first == second
    thoughts, errors, catches, *_ = first
    assert re.fullmatch(r"thoughts: asked \d+, answered [1-9]\d*, failed [1-9]\d*; p50 [01]\.\d\d s", thoughts)
    assert "network_error" in errors
    assert re.match(r"catches: [1-9]", catches)
