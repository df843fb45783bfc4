"""The ladder of runtimes: the fastest that works, tried once for each machine, and never one that is forbidden."""

import json
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tickmind.llm.errors import LLMCancelledError, LLMConfigError
from tickmind.llm.local.machine import Processor
from tickmind.llm.local.runtimes.ladder import RuntimeLadder, RuntimeTrier
from tickmind.llm.local.runtimes.runtime import SKULK, XLLAMACPP, Runtime, runtime_folder
from tickmind.llm.local.runtimes.trial import Trial, TrialVerdict, try_runtime

FAKE = Path(__file__).with_name("fake_runtime.py")
PROCESSOR = Processor("linux", "x86_64", "Toy CPU", frozenset({"avx2"}), 2)
GOOD, BETTER = Trial(TrialVerdict.WORKS, "", 20, 6), Trial(TrialVerdict.WORKS, "", 40, 10)
DEAD, SLOW = Trial(TrialVerdict.LACKS_INSTRUCTIONS), Trial(TrialVerdict.TIMEOUT)
pytestmark = [pytest.mark.timeout(180), pytest.mark.usefixtures("no_package")]


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "toy.gguf"
    path.write_bytes(b"GGUF")
    return path


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache with both known runtimes in it."""
    folder = tmp_path / "cache"
    for source in (SKULK, XLLAMACPP):
        (runtime_folder(folder=folder, source=source) / source.module).mkdir(parents=True)
    return folder


class Trier:
    """Says what a trial of each runtime comes to, and remembers which were tried."""

    def __init__(self, **results: Trial) -> None:
        self.results, self.tried = results, list[str]()

    def __call__(
        self, runtime: Runtime, weights: Path, *, threads: int, counts: bool, given_up: threading.Event | None
    ) -> Trial:
        self.tried.append(runtime.name)
        return self.results[runtime.name.partition("-")[0]]


def ladder(cache: Path, trier: RuntimeTrier, processor: Processor = PROCESSOR, **env: str) -> RuntimeLadder:
    return RuntimeLadder(cache, env={"PATH": "", **env}, threads=2, processor=processor, trier=trier)


def test_the_fastest_that_works_is_used(cache: Path, gguf: Path) -> None:
    assert ladder(cache, Trier(skulk=BETTER, xllamacpp=GOOD)).choose(gguf).name == SKULK.package


def test_speed_and_not_order_decides(cache: Path, gguf: Path) -> None:
    assert ladder(cache, Trier(skulk=GOOD, xllamacpp=BETTER)).choose(gguf).name == XLLAMACPP.package


@pytest.mark.parametrize("verdict", [verdict for verdict in TrialVerdict if verdict is not TrialVerdict.WORKS])
def test_one_that_fails_gives_way_to_the_next(cache: Path, gguf: Path, verdict: TrialVerdict) -> None:
    assert ladder(cache, Trier(skulk=Trial(verdict), xllamacpp=GOOD)).choose(gguf).name == XLLAMACPP.package


def test_each_is_tried_once_on_a_machine(cache: Path, gguf: Path) -> None:
    trier = Trier(skulk=DEAD, xllamacpp=GOOD)
    for _ in range(2):
        assert ladder(cache, trier).choose(gguf).name == XLLAMACPP.package
    assert trier.tried == [SKULK.package, XLLAMACPP.package]


def test_another_processor_or_other_weights_need_new_trials(cache: Path, gguf: Path) -> None:
    trier = Trier(skulk=DEAD, xllamacpp=GOOD)
    ladder(cache, trier).choose(gguf)
    newer = replace(PROCESSOR, flags=PROCESSOR.flags | {"avx512f"})
    ladder(cache, trier, newer).choose(gguf)
    gguf.write_bytes(b"GGUF of another size")
    ladder(cache, trier).choose(gguf)
    assert len(trier.tried) == 6


def test_a_new_program_under_an_old_name_is_tried_again(cache: Path, gguf: Path, tmp_path: Path) -> None:
    own = tmp_path / "bin" / "llama-server"
    own.parent.mkdir()
    own.write_text("old")
    own.chmod(0o700)
    trier = Trier(llama=GOOD, skulk=DEAD, xllamacpp=GOOD)
    for words in ("old", "newer"):
        own.write_text(words)
        ladder(cache, trier, PATH=str(own.parent)).choose(gguf)
    assert trier.tried.count("llama-server") == 2
    assert trier.tried.count(SKULK.package) == 1


def test_a_single_runtime_is_used_without_a_trial(cache: Path, gguf: Path) -> None:
    trier = Trier()
    assert ladder(cache, trier, TICKMIND_LLAMA_SKIP=SKULK.package).choose(gguf).name == XLLAMACPP.package
    assert trier.tried == []


def test_a_forced_runtime_is_used_even_if_another_is_faster(cache: Path, gguf: Path) -> None:
    trier = Trier(skulk=GOOD, xllamacpp=BETTER)
    ladder(cache, trier).choose(gguf)
    assert ladder(cache, trier, TICKMIND_LLAMA_SERVER=SKULK.package).choose(gguf).name == SKULK.package


def test_where_none_works_the_error_says_why_for_each(cache: Path, gguf: Path) -> None:
    wrong = Trial(TrialVerdict.WRONG_ANSWER, "it went on with 'x'")
    with pytest.raises(LLMConfigError, match=r"lacks(.|\n)*went on with(.|\n)*TICKMIND_LLAMA_SERVER"):
        ladder(cache, Trier(skulk=DEAD, xllamacpp=wrong)).choose(gguf)


def test_one_that_is_only_slow_is_better_than_none(cache: Path, gguf: Path) -> None:
    assert ladder(cache, Trier(skulk=DEAD, xllamacpp=SLOW)).choose(gguf).name == XLLAMACPP.package


def test_results_are_kept_only_if_one_works(cache: Path, gguf: Path) -> None:
    busy = Trier(skulk=SLOW, xllamacpp=SLOW)
    for _ in range(2):
        assert ladder(cache, busy).choose(gguf).name == SKULK.package
    assert len(busy.tried) == 4
    ladder(cache, Trier(skulk=SLOW, xllamacpp=GOOD)).choose(gguf)
    assert ladder(cache, Trier()).choose(gguf).name == XLLAMACPP.package
    ladder(cache, busy).measure(gguf)
    assert [rung.trial for rung in ladder(cache, Trier()).rungs(gguf)] == [None, None]


def test_without_any_the_error_says_how_to_get_one(tmp_path: Path, gguf: Path) -> None:
    with pytest.raises(LLMConfigError, match="tickmind model install"):
        ladder(tmp_path / "empty", Trier()).choose(gguf)


def test_measuring_tries_all_again_and_keeps_the_new_result(cache: Path, gguf: Path) -> None:
    ladder(cache, Trier(skulk=BETTER, xllamacpp=GOOD)).choose(gguf)
    shown: list[str] = []
    again = ladder(cache, Trier(skulk=DEAD, xllamacpp=GOOD))
    rungs = again.measure(gguf, on_trial=lambda runtime: shown.append(runtime.name))
    assert [rung.runtime.name for rung in rungs] == [XLLAMACPP.package, SKULK.package]
    assert sorted(shown) == [SKULK.package, XLLAMACPP.package]
    assert again.rungs(gguf) == rungs
    assert str(rungs[0].trial) == "20 read, 6.0 written tokens/s"


def test_what_was_not_tried_yet_is_shown_as_such(cache: Path, gguf: Path) -> None:
    assert [rung.trial for rung in ladder(cache, Trier()).rungs(gguf)] == [None, None]


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"machine": "x"}]', '{"a": 1}'])
def test_a_broken_file_of_results_means_new_trials(cache: Path, gguf: Path, text: str) -> None:
    book = cache / "runtime" / "trials.json"
    book.write_text(text)
    trier = Trier(skulk=DEAD, xllamacpp=GOOD)
    ladder(cache, trier).choose(gguf)
    assert len(trier.tried) == 2
    assert {row["verdict"] for row in json.loads(book.read_text())} == {"LACKS_INSTRUCTIONS", "WORKS"}


def test_a_result_without_a_speed_is_not_believed(cache: Path, gguf: Path) -> None:
    ladder(cache, Trier(skulk=BETTER, xllamacpp=GOOD)).choose(gguf)
    book = cache / "runtime" / "trials.json"
    book.write_text(book.read_text().replace('"read_per_s": 40', '"read_per_s": 0'))
    assert [rung.trial for rung in ladder(cache, Trier()).rungs(gguf)] == [None, None]


def test_where_results_can_not_be_kept_the_choice_is_made_all_the_same(
    cache: Path, gguf: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (cache / "runtime" / "trials.json").mkdir()
    assert ladder(cache, Trier(skulk=BETTER, xllamacpp=GOOD)).choose(gguf).name == SKULK.package
    assert "can't keep the trials" in caplog.text


def test_a_cancelled_trial_is_not_a_verdict(cache: Path, gguf: Path) -> None:
    def cancelled(*_arguments: object, **_options: object) -> Trial:
        raise LLMCancelledError("the trial was cancelled")

    with pytest.raises(LLMCancelledError):
        ladder(cache, cancelled).choose(gguf)
    assert not (cache / "runtime" / "trials.json").exists()


@pytest.mark.slow
def test_real_children_that_die_answer_wrongly_or_miss_a_library_are_passed_over(
    tmp_path: Path, gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = ("illegal", "no-library", "wrong", "fine", "fast")
    fakes = tuple(Runtime((sys.executable, "-I", "-S", str(FAKE), mode), "a fake", mode, "1") for mode in modes)
    monkeypatch.setattr("tickmind.llm.local.runtimes.ladder.find_runtimes", lambda *_env, **_folder: fakes)
    chosen = ladder(tmp_path / "cache", try_runtime).choose(gguf)
    assert chosen.name == "fast"
    rungs = ladder(tmp_path / "cache", Trier()).rungs(gguf)
    assert [rung.runtime.name for rung in rungs] == ["fast", "fine", "illegal", "no-library", "wrong"]
