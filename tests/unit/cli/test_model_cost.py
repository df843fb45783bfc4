"""`tickmind model cost`: an estimate from measured tokens, with no model asked."""

from dataclasses import replace

import pytest
from tests.kits.lived_runs import record_villagers

from tickmind.cli.model import cost
from tickmind.cli.model.cost import DayTokens, read_price, tokens_of
from tickmind.protocol import ThoughtReport
from tickmind.record import RunStore
from tickmind.record.testing import RandomRun


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(cost, "WILLOWBROOK", DayTokens(20_000, 5_000, 1_000, "a village"))


def test_an_estimate_is_tokens_times_villagers_days_and_runs(tickmind, known):
    arguments = ("--villagers", "10", "--days", "2", "--runs", "5", "--price", "1,2,0.2")
    result = tickmind("model", "cost", "any", *arguments)
    assert result.exit_code == 0, result.output
    assert "20,000 read, of which 5,000 from a cache" in result.stdout
    assert "2,100,000 tokens" in result.stdout  # of 100 villager-days
    assert "About $1.80 with any, at the price given." in result.stdout  # 1.5 M fresh, 0.5 M cached, 0.1 M written


def test_a_model_without_a_known_price_gets_none(tickmind, known):
    result = tickmind("model", "cost", "no-such-model")
    assert (result.exit_code, "$" in result.stdout) == (0, False)
    assert "No price of no-such-model is known" in result.stdout
    assert "list prices" in tickmind("model", "cost", "gpt-4o-mini-2024-07-18").stdout


@pytest.mark.parametrize("price", ["1", "1,2,3,4", "a,b", "-1,2", "nan,1", "1,inf"])
def test_a_price_that_is_none_is_refused(tickmind, known, price):
    result = tickmind("model", "cost", "any", "--price", price)
    assert result.exit_code != 0
    assert "--price takes" in result.stderr


def test_tokens_of_a_run_are_per_thinker_and_day(tmp_path):
    store, world = RunStore(tmp_path), RandomRun(seed=4)
    with store.create(world.info, "random") as log:
        for _ in range(world.info.setting.calendar.day_ticks // 4):
            log.publish(world.tick())
    record_villagers(tmp_path, "lived", ticks=30)
    with store.open("lived") as run:
        thought = next(iter(run.thoughts())).thought
    with store.create(world.info, "counted") as log:
        counted = replace(thought, prompt_tokens=300, cached_tokens=100, completion_tokens=20, error_type="")
        for who in (world.info.actors[0].entity_id, world.info.actors[1].entity_id):
            log.thought(ThoughtReport(who, 1, counted))
        for _ in range(world.info.setting.calendar.day_ticks // 4):
            log.publish(world.tick())
    with store.open("counted") as run:
        days = (run.last_tick_id or 0) / run.info.setting.calendar.day_ticks
        found = tokens_of(run)
    assert (found.prompt, found.cached, found.completion) == pytest.approx((300 / days, 100 / days, 20 / days))


def test_a_run_without_a_model_is_no_measure(tickmind, tmp_path):
    store, world = RunStore(tmp_path), RandomRun(seed=4)
    with store.create(world.info, "random") as log:
        log.publish(world.tick())
    result = tickmind("model", "cost", "gpt-4o-mini", "--like", "random", "--folder", str(tmp_path))
    assert result.exit_code == 1
    assert "no thought whose tokens were counted" in result.stderr


def test_prices_are_read():
    assert read_price("0.15, 0.60").output_usd == 0.6
