"""`tickmind model probe`: what a model is asked, what is said of it, and what is kept."""

import pytest

from tickmind.cli.model import served_model
from tickmind.cli.model.probe import is_fit_to_decide, keep_result
from tickmind.llm.errors import LLMConnectionError
from tickmind.llm.local import model_choice
from tickmind.llm.local.model_choice import ModelChoice, ModelKind
from tickmind.llm.testing import FakeProvider, Respond
from tickmind.llm.transport import ModelReply
from tickmind.mind.choice_probe import ProbeResult
from tickmind.mind.options import read_menu


@pytest.fixture
def probed(monkeypatch, tmp_path, tickmind):
    """The command with a model that chooses by a function of the menu."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TICKMIND_CACHE", str(tmp_path))

    def run(choose):
        def answer(request):
            return Respond(ModelReply(choose(request.messages[-1].text), "stop"))

        with FakeProvider.in_thread(answer) as server:
            monkeypatch.setenv("LLM_BASE_URL", server.base_url)
            monkeypatch.setenv("LLM_MODEL", "fake-1")
            result = tickmind("model", "probe")
            return result, len(server.seen)

    return run


def test_a_model_that_takes_the_first_does_not_choose_by_content(probed):
    result, asked = probed(lambda prompt: read_menu(prompt)[0])
    assert (result.exit_code, asked) == (0, 12)
    assert "3 of 12 choices were sensible; 12 took the first. It does not choose by content" in result.stdout


def test_a_model_that_reads_chooses_by_content(probed):
    def choose(prompt):
        return "eat bread" if "Hunger 95" in prompt else "rest at home" if "energy 3" in prompt else "visit Tom"

    result, _ = probed(choose)
    assert "12 of 12 choices were sensible; 3 took the first. It chooses by content." in result.stdout


def test_without_a_model_there_is_nothing_to_probe(monkeypatch, tmp_path, tickmind):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TICKMIND_CACHE", str(tmp_path))
    for name in ("LLM_BASE_URL", "LLM_API_KEY", "LLM_GATEWAY_URL"):
        monkeypatch.delenv(name, raising=False)
    result = tickmind("model", "probe")
    assert result.exit_code == 2
    assert "There is no model to probe." in result.stderr


def test_a_script_that_speaks_for_a_model_that_does_not_start_is_not_judged(monkeypatch, tmp_path, tickmind):
    monkeypatch.setenv("TICKMIND_CACHE", str(tmp_path))
    choice = ModelChoice(ModelKind.LOCAL, "large", "Using Large with this machine.")
    monkeypatch.setattr(model_choice, "choose_model", lambda *_given, **_more: choice)
    monkeypatch.setattr(served_model, "choose_model", lambda *_given, **_more: choice)
    monkeypatch.setattr(served_model, "LocalModel", does_not_start)
    result = tickmind("model", "probe")
    assert result.exit_code == 2
    assert "does not start" in " ".join(result.stderr.split())
    assert not (tmp_path / "choices.json").exists()


def does_not_start(*_given, **_more):
    raise LLMConnectionError("no such file")


def test_what_a_probe_found_is_kept_for_each_model(tmp_path):
    book = tmp_path / "cache" / "choices.json"
    assert not is_fit_to_decide(book, "large")
    keep_result(book, "large", ProbeResult(11, 3, 12))
    keep_result(book, "small", ProbeResult(3, 12, 12))
    assert is_fit_to_decide(book, "large")
    assert not is_fit_to_decide(book, "small")
    keep_result(book, "large", ProbeResult(2, 12, 12))
    assert not is_fit_to_decide(book, "large")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"large": 3}', '{"large": {"right": "x"}}', '{"large": {"odd": 1}}'])
def test_a_book_that_can_not_be_read_says_nothing(tmp_path, text):
    book = tmp_path / "choices.json"
    book.write_text(text)
    assert not is_fit_to_decide(book, "large")
    keep_result(book, "large", ProbeResult(12, 3, 12))
    assert is_fit_to_decide(book, "large")
