"""The ladder: what a user gets by default, and that it is said."""

import stat
from pathlib import Path

import pytest

from tickmind.llm.local.model_choice import LadderFacts, ModelKind, choose_model, gather_facts
from tickmind.llm.local.weights import WeightStore

QWEN, SMOL = "qwen2.5-coder-1.5b", "smollm2-135m"


def test_a_gateway_comes_before_everything_and_is_told() -> None:
    facts = LadderFacts(gateway_url="http://gate.example:8766", base_url="http://x/v1", has_key=True, installed=(QWEN,))
    choice = choose_model(facts)
    assert (choice.kind, choice.base_url, choice.is_real) == (ModelKind.GATEWAY, "http://gate.example:8766", True)
    assert "LLM_GATEWAY_URL" in choice.why
    assert "gate.example" in choice.why


def test_an_endpoint_comes_first() -> None:
    address = "https://user:hunter2secret@models.example/v1"
    choice = choose_model(LadderFacts(base_url=address, model="big", installed=(QWEN,), runtime="x"))
    assert (choice.kind, choice.name) == (ModelKind.ENDPOINT, "big")
    assert "models.example" in choice.why
    assert "hunter2secret" not in choice.why


def test_an_endpoint_without_a_model_is_still_used() -> None:
    assert choose_model(LadderFacts(base_url="http://localhost:1/v1")).name == "default"


def test_capable_weights_come_before_tiny_ones() -> None:
    choice = choose_model(LadderFacts(installed=(SMOL, QWEN), runtime="x"))
    assert (choice.kind, choice.weights) == (ModelKind.LOCAL, QWEN)
    assert "LLM_BASE_URL" in choice.why


def test_tiny_weights_say_how_to_get_better_ones() -> None:
    choice = choose_model(LadderFacts(installed=(SMOL,), runtime="x"))
    assert (choice.kind, choice.weights) == (ModelKind.LOCAL_TINY, SMOL)
    assert f"tickmind model install {QWEN}" in choice.why


def test_without_weights_a_scripted_double_is_used_and_said() -> None:
    choice = choose_model(LadderFacts(runtime="x"))
    assert (choice.kind, choice.weights, choice.is_real) == (ModelKind.SCRIPTED, "", False)
    assert f"tickmind model install {QWEN}" in choice.why


def test_weights_without_a_runtime_say_how_to_get_one() -> None:
    choice = choose_model(LadderFacts(installed=(SMOL,)))
    assert choice.kind is ModelKind.SCRIPTED
    assert f"tickmind model install {SMOL}` adds one" in choice.why


def test_a_runtime_that_cannot_be_used_is_named() -> None:
    choice = choose_model(LadderFacts(installed=(SMOL,), runtime_problem="TICKMIND_LLAMA_SERVER names /nowhere"))
    assert choice.kind is ModelKind.SCRIPTED
    assert "/nowhere" in choice.why


def test_unknown_installed_names_are_ignored() -> None:
    assert choose_model(LadderFacts(installed=("strange",), runtime="x")).kind is ModelKind.SCRIPTED


@pytest.mark.parametrize(
    "facts",
    [
        LadderFacts(base_url="http://localhost:1"),
        LadderFacts(installed=(QWEN,), runtime="x"),
        LadderFacts(installed=(SMOL,), runtime="x"),
        LadderFacts(installed=(SMOL,)),
        LadderFacts(),
    ],
)
def test_every_rung_gives_a_sentence(facts: LadderFacts) -> None:
    why = choose_model(facts).why
    assert why.startswith("Using ")
    assert why.endswith(".")


def test_facts_come_from_the_environment_and_the_cache(tmp_path: Path) -> None:
    program = tmp_path / "llama-server"
    program.touch(mode=0o700)
    facts = gather_facts(
        {"LLM_BASE_URL": " http://a/v1 ", "LLM_MODEL": "m", "TICKMIND_LLAMA_SERVER": str(program)},
        store=WeightStore(tmp_path),
    )
    assert (facts.base_url, facts.model, facts.installed) == ("http://a/v1", "m", ())
    assert str(program) in facts.runtime


def test_a_server_that_may_not_be_run_is_a_fact_and_no_crash(tmp_path: Path) -> None:
    program = tmp_path / "llama-server"
    program.touch()
    program.chmod(stat.S_IRUSR)
    facts = gather_facts({"TICKMIND_LLAMA_SERVER": str(program)}, store=WeightStore(tmp_path))
    assert "chmod +x" in facts.runtime_problem
