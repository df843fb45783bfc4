"""The corpus of real and broken replies: what was measured stays."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def corpus() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        yield importlib.import_module("benchmarks.corpus")


def test_the_score_stays_at_what_was_measured(corpus: Any) -> None:
    scores = corpus.score(corpus.parse)
    assert scores["all"] >= 94.5


def test_every_broken_reply_is_mended(corpus: Any) -> None:
    assert corpus.score(corpus.parse)["broken"] == 100.0


def test_nothing_is_made_up_from_the_garbage_of_small_models(corpus: Any) -> None:
    assert corpus.score(corpus.parse)["garbage"] == 100.0


def test_it_reads_more_than_the_libraries_alone(corpus: Any) -> None:
    ours = corpus.score(corpus.parse)["all"]
    assert ours > corpus.score(corpus.parse_with_yaml)["all"] + 20
    assert ours > corpus.score(corpus.parse_with_json_repair)["all"] + 20
