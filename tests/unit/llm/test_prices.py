import pytest

from tickmind.llm.prices import Price, UsageMeter, cost_usd, find_price
from tickmind.llm.results import LLMResult
from tickmind.llm.transport import Usage


def test_cost_is_by_million_tokens_with_cached_ones_cheaper() -> None:
    usage = Usage(prompt_tokens=1_000_000, completion_tokens=100_000, cached_tokens=400_000)
    assert cost_usd("gpt-4o-mini", usage) == pytest.approx(0.6 * 0.15 + 0.4 * 0.075 + 0.1 * 0.6)


@pytest.mark.parametrize("model", ["gpt-4o-mini-2024-07-18", "claude-sonnet-4-5-20250929", "claude-3-5-haiku-latest"])
def test_a_dated_name_costs_what_the_model_costs(model: str) -> None:
    assert find_price(model) is not None


@pytest.mark.parametrize("model", ["gpt-4o-audio-preview", "my-finetune", ""])
def test_an_unknown_model_has_no_price(model: str) -> None:
    assert cost_usd(model, Usage(1, 1)) is None


def test_unknown_counts_have_no_price() -> None:
    assert cost_usd("gpt-4o", Usage(completion_tokens=1)) is None


def test_a_table_of_your_own_is_used() -> None:
    assert cost_usd("mine", Usage(2_000_000, 0, cached_tokens=1_000_000), {"mine": Price(1.0, 2.0)}) == 2.0


def test_a_meter_sums_up_a_run() -> None:
    meter = UsageMeter()
    meter.add(LLMResult("a", "", "stop", prompt_tokens=10, completion_tokens=5, cost_usd=0.25, model="m"))
    meter.add(LLMResult("b", "", "stop", attempts=2, model="n"))
    meter.add_failure()
    total = meter.statistics()
    assert (total.calls, total.attempts, total.total_tokens, total.cost_usd) == (3, 4, 15, 0.25)
    assert (total.unpriced_calls, total.failed_calls) == (1, 1)
    assert meter.by_model()["m"].calls == 1


def test_an_endpoint_that_makes_names_up_does_not_fill_the_meter() -> None:
    meter = UsageMeter()
    for number in range(1000):
        meter.add(LLMResult("hi", "", "stop", prompt_tokens=1, completion_tokens=1, model=f"m{number}"))
    by_model = meter.by_model()
    assert len(by_model) == 257
    assert sum(total.calls for total in by_model.values()) == meter.statistics().calls == 1000
