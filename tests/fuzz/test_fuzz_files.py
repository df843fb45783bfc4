"""Spoilt files of people, of worlds and of experiments are read, or refused in words; no other error comes of them."""

import random
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kits.experiments import TINY
from tests.long import short_or_long
from tests.unit.world.test_persona_files import FAR, PEOPLE, SCENARIO

from tickmind.base import ConfigError
from tickmind.base.shipped import find_scenario
from tickmind.lab.experiments.experiment_file import read_experiment
from tickmind.lab.experiments.trial import TrialOutcome
from tickmind.world import load_scenario
from tickmind.world.scenario.scenario_reader import parse_to_keep

CASES = short_or_long(60, 20_000)
MOST_S = 5.0  # of a processor, for one file
VALUES = (
    *(
        "null",
        "true",
        "-1",
        "0",
        "7",
        "1e400",
        ".nan",
        ".inf",
        "9" * 40,
        "9" * 5000,
        "0x10",
        "1_000",
        "12:30:45",
        "~",
        "''",
    ),
    *(
        "[]",
        "{}",
        "[[]]",
        "{x: 1}",
        "[0, 0]",
        "*a",
        "!x 1",
        "!!binary x",
        "\u0663",
        "x" * 3000,
        "../people.yaml",
        "/etc/passwd",
    ),
)  # instead of a word, so that most files are YAML still
ODD = (
    *("", " ", "\n", "\t", "  ", "- ", ": ", "? ", "#", ", ", "|\n", ">\n", "---\n", "%YAML 9.9\n", "{", "}", "[", "]"),
    *('"', "'", "[" * 60, "[" * 5000, "{a: " * 40, "]" * 5, "&a ", "<<: *a", "&a [*a, *a]", "!!python/object:x "),
    *("\0", "\x85", "\u2028", "\ufeff", "\ud800", "\\", "${HOME}"),
)
_WORD = re.compile(r"\w+")


def spoil(text: str, chance: random.Random) -> str:
    """Return a text with some words replaced, or a piece cut out, doubled, moved or replaced by an odd one."""
    if chance.random() < 0.7:
        for _ in range(chance.randint(1, 3)):
            words = list(_WORD.finditer(text))
            at = chance.choice(words)
            value = chance.choice((chance.choice(VALUES), chance.choice(words)[0]))
            text = text[: at.start()] + value + text[at.end() :]
        return text
    start, other = chance.randint(0, len(text)), chance.randint(0, len(text))
    end = min(len(text), start + chance.choice((0, 1, 5, 40)))
    piece = chance.choice((chance.choice(ODD), text[start:end] * 2, text[other : other + 40]))
    return text[:start] + piece + text[end:]


def written(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


def people(folder: Path, text: str) -> None:
    written(folder / "people.yaml", text)
    load_scenario(folder / "hamlet.yaml")


def world(folder: Path, text: str) -> None:
    written(folder / "spoilt.yaml", text)
    load_scenario(folder / "spoilt.yaml")
    parse_to_keep((folder / "spoilt.yaml").read_text(), folder=folder)


def experiment(folder: Path, text: str) -> None:
    written(folder / "tiny.yaml", text)
    read_experiment(folder / "tiny.yaml", find_scenario)


def trial(_folder: Path, text: str) -> None:
    try:
        TrialOutcome.from_json(text)
    except (ValueError, RecursionError) as error:  # the store does the trial again
        raise ConfigError(str(error)) from error


OUTCOME = TrialOutcome(
    digest="0" * 32,
    condition="shout=yes",
    levels=(("shout", "yes"),),
    seed=1,
    repeat=1,
    last_tick=6,
    values={"met": 3.0, "share": None},
    curves={"met": ((1, 0.0), (2, 1.0))},
    errors={"share": "division by zero"},
).to_json()
DOORS: dict[str, tuple[str, Callable[[Path, str], None]]] = {
    "people": (PEOPLE, people),
    "world": (SCENARIO, world),
    "experiment": (TINY, experiment),
    "trial": (OUTCOME, trial),
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "guests").mkdir()
    written(tmp_path / "people.yaml", PEOPLE)
    written(tmp_path / "guests" / "far.yaml", FAR)
    written(tmp_path / "hamlet.yaml", SCENARIO)
    (tmp_path / "own_measures.py").touch()
    return tmp_path


@pytest.mark.parametrize("door", DOORS)
def test_a_spoilt_file_is_read_or_refused_in_words(folder, door):
    text, read = DOORS[door]
    outcomes: Counter[str] = Counter()
    cases = CASES // 3 if door == "experiment" else CASES
    for seed in range(cases):
        spoilt = spoil(text, random.Random(f"{door} {seed}"))
        began_s = time.thread_time()
        try:
            read(folder, spoilt)
            outcomes["read"] += 1
        except ConfigError as error:
            outcomes["refused" if str(error).strip() else "refused without a word"] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed} of {door} raises {error!r}:\n{spoilt}") from error
        assert time.thread_time() - began_s < MOST_S, seed
    assert outcomes["refused without a word"] == 0
    assert min(outcomes["read"], outcomes["refused"]) > cases / 50, outcomes
