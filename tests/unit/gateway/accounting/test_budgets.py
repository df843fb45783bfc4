from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import Limit, ManualClock
from tickmind.gateway.accounting.budgets import FREE, NOTHING, OTHER, Budgets, Hold, Spent
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.refusal import Code, Refusal
from tickmind.gateway.settings.config import Budget, Caller, SharingConfig
from tickmind.llm.prices import Price, find_price

MIDNIGHT = 19_676 * 86_400.0
PRICES = {"priced": Price(1.0, 2.0)}
GAME = Session("game", "game")


def house(budget, *, clock=None, **more):
    clock = clock or ManualClock(wall=MIDNIGHT + 3600)
    return Budgets(SharingConfig(budget=budget), clock, price_of=lambda model: find_price(model, PRICES), **more), clock


def held(outcome):
    assert isinstance(outcome, Hold), outcome
    return outcome


def refused(outcome):
    assert isinstance(outcome, Refusal)
    assert outcome.code is Code.BUDGET_SPENT
    assert outcome.status == 402
    return outcome


def test_without_a_budget_nothing_is_kept():
    budgets, _ = house(Budget())
    assert budgets.reserve(GAME, "m", 10, 10) is FREE
    budgets.settle(FREE, 100, 1.0)
    budgets.release(FREE)
    assert budgets.listing() == ()


def test_requests_under_way_count():
    budgets, _ = house(Budget(requests=2))
    first = held(budgets.reserve(GAME, "m", 0, 0))
    second = held(budgets.reserve(GAME, "m", 0, 0))
    refusal = refused(budgets.reserve(GAME, "m", 0, 0))
    assert "all 2 requests" in refusal.message
    assert "23 h 0 min" in refusal.message
    assert refusal.retry_after_s == 23 * 3600
    budgets.release(first)
    budgets.release(first)
    third = held(budgets.reserve(GAME, "m", 0, 0))
    budgets.settle(second, 5, None)
    budgets.settle(third, 5, None)
    refused(budgets.reserve(GAME, "m", 0, 0))


def test_a_reservation_is_replaced_by_what_was_used():
    budgets, _ = house(Budget(tokens=1000))
    hold = held(budgets.reserve(GAME, "m", 100, 800))
    refusal = refused(budgets.reserve(GAME, "m", 100, 100))
    assert "100 of 1,000 tokens are left, 200 needed" in refusal.message
    budgets.settle(hold, 150, None)
    budgets.settle(hold, 150, None)
    held(budgets.reserve(GAME, "m", 100, 750))
    refused(budgets.reserve(GAME, "m", 1, 0))


def test_money_is_reserved_by_the_models_price():
    budgets, _ = house(Budget(usd=0.01))
    hold = held(budgets.reserve(GAME, "priced-2025-01-01", 1000, 4000))
    refusal = refused(budgets.reserve(GAME, "priced", 1000, 1000))
    assert "0.0010 of 0.01 US dollars are left, up to 0.0030 needed" in refusal.message
    budgets.settle(hold, 2000, 0.003)
    held(budgets.reserve(GAME, "priced", 1000, 1000))
    (status,) = budgets.listing()
    assert (status.requests, status.tokens, status.usd, status.reserved_requests) == (1, 2000, 0.003, 1)


def test_an_unknown_price_is_visible_and_costs_nothing():
    budgets, _ = house(Budget(usd=0.01))
    for _ in range(3):
        budgets.settle(held(budgets.reserve(GAME, "nobody-knows", 10**6, 10**6)), 10, None)
    (status,) = budgets.listing()
    assert (status.unpriced, status.usd, status.requests) == (3, 0.0, 3)


def test_a_spent_budget_of_money_takes_unpriced_requests_no_more():
    budgets, _ = house(Budget(usd=0.01))
    budgets.settle(held(budgets.reserve(GAME, "priced", 0, 0)), 0, 0.02)
    refused(budgets.reserve(GAME, "nobody-knows", 1, 1))


def test_a_day_renews_at_midnight():
    budgets, clock = house(Budget(requests=1))
    budgets.settle(held(budgets.reserve(GAME, "m", 0, 0)), 0, None)
    clock.advance(23 * 3600 - 1)
    assert "midnight UTC" in refused(budgets.reserve(GAME, "m", 0, 0)).message
    clock.advance(1)
    assert budgets.listing()[0].requests == 0
    held(budgets.reserve(GAME, "m", 0, 0))


def test_what_is_under_way_at_midnight_counts_for_the_new_day():
    budgets, clock = house(Budget(requests=1))
    hold = held(budgets.reserve(GAME, "m", 0, 0))
    clock.advance(24 * 3600)
    refused(budgets.reserve(GAME, "m", 0, 0))
    budgets.settle(hold, 10, None)
    refused(budgets.reserve(GAME, "m", 0, 0))


def test_a_clock_set_back_grants_nothing_twice():
    budgets, clock = house(Budget(requests=1), clock=ManualClock(wall=MIDNIGHT - 10))
    budgets.settle(held(budgets.reserve(GAME, "m", 0, 0)), 0, None)
    clock.advance(20)
    budgets.settle(held(budgets.reserve(GAME, "m", 0, 0)), 0, None)
    for _ in range(5):
        clock.jump_wall(-3600)
        refused(budgets.reserve(GAME, "m", 0, 0))
        clock.jump_wall(3600)
        refused(budgets.reserve(GAME, "m", 0, 0))


def test_after_a_clock_was_set_back_a_day_lasts_a_day():
    budgets, clock = house(Budget(requests=1))
    held(budgets.reserve(GAME, "m", 0, 0))
    clock.jump_wall(-3 * 86_400)
    refusal = refused(budgets.reserve(GAME, "m", 0, 0))
    assert refusal.retry_after_s == 86_400
    budgets, clock = house(Budget(requests=1))
    budgets.settle(held(budgets.reserve(GAME, "m", 0, 0)), 0, None)
    clock.jump_wall(-3 * 86_400)
    clock.advance(86_399)
    refused(budgets.reserve(GAME, "m", 0, 0))
    clock.advance(1)
    held(budgets.reserve(GAME, "m", 0, 0))


def test_a_budget_in_all_never_renews():
    budgets, clock = house(Budget(requests=1, per_day=False))
    budgets.settle(held(budgets.reserve(GAME, "m", 0, 0)), 0, None)
    clock.advance(10 * 86_400)
    refusal = refused(budgets.reserve(GAME, "m", 0, 0))
    assert refusal.retry_after_s is None
    assert "does not renew" in refusal.message


def test_a_new_session_name_brings_no_new_budget_when_keys_are_on():
    callers = (Caller("ann", "hash", budget=Budget(requests=2)), Caller("bob", "hash"))
    budgets, _ = house(Budget(requests=1), callers=callers)
    for name in ("one", "two"):
        held(budgets.reserve(Session(name, "ann", caller="ann"), "m", 0, 0))
    refused(budgets.reserve(Session("three", "ann", caller="ann"), "m", 0, 0))
    held(budgets.reserve(Session("one", "bob", caller="bob"), "m", 0, 0))
    refused(budgets.reserve(Session("two", "bob", caller="bob"), "m", 0, 0))


def test_a_callers_budget_does_not_concern_a_session_of_that_name():
    budgets, _ = house(Budget(), callers=(Caller("ann", "hash", budget=Budget(requests=1)),))
    for _ in range(3):
        assert budgets.reserve(Session("ann", "ann"), "m", 0, 0) is FREE


def test_owners_beyond_the_bound_share_one_account():
    budgets, clock = house(Budget(requests=2), max_accounts=Limit("owners", 3))
    for name in ("a", "b", "c", "d", "e"):
        budgets.settle(held(budgets.reserve(Session(name, name), "m", 0, 0)), 0, None)
    refused(budgets.reserve(Session("f", "f"), "m", 0, 0))
    assert [status.owner for status in budgets.listing()] == ["a", "b", "c", OTHER]
    clock.advance(86_400)
    held(budgets.reserve(Session("f", "f"), "m", 0, 0))


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 120), st.booleans(), st.booleans()),
        max_size=60,
    )
)
def test_a_budget_is_never_exceeded_by_what_was_reserved(steps):
    budgets, _ = house(Budget(requests=10, tokens=500))
    open_holds, requests, tokens = [], 0, 0
    for prompt, reply, used, settle, serve in steps:
        got = budgets.reserve(GAME, "m", prompt, reply)
        if isinstance(got, Hold):
            open_holds.append(got)
        if settle and open_holds:
            hold = open_holds.pop(0)
            if serve:
                real = min(used, hold.tokens)
                budgets.settle(hold, real, None)
                requests, tokens = requests + 1, tokens + real
            else:
                budgets.release(hold)
        assert requests + len(open_holds) <= 10
        assert tokens + sum(hold.tokens for hold in open_holds) <= 500
    for status in budgets.listing():
        assert status.reserved_requests == len(open_holds)
        assert status.reserved_tokens == sum(hold.tokens for hold in open_holds)
        assert (status.requests, status.tokens) == (requests, tokens)


def test_what_other_gateways_used_counts_and_what_is_untold_is_not_lost():
    budgets, clock = house(Budget(requests=10))
    budgets.publishes = True
    for _ in range(2):
        budgets.settle(held(budgets.reserve(GAME, "m", 0, 0)), 5, 0.5)
    ((owner, day, spent, known),) = budgets.to_share(10, 60.0)
    assert (owner, spent, known) == ("game", Spent(2, 10, 1.0), Spent(2, 10, 1.0))
    budgets.settle(held(budgets.reserve(GAME, "m", 0, 0)), 5, 0.5)
    budgets.not_shared(owner, day, spent)
    ((_, _, again, known),) = budgets.to_share(10, 60.0)
    assert again == known == Spent(3, 15, 1.5)
    budgets.settle(held(budgets.reserve(GAME, "m", 0, 0)), 5, 0.5)
    budgets.shared(owner, day, Spent(9, 45, 4.5))
    assert budgets.listing()[0].requests == 10
    refused(budgets.reserve(GAME, "m", 0, 0))
    clock.advance(24 * 3600)
    held(budgets.reserve(GAME, "m", 0, 0))
    budgets.shared(owner, day, Spent(9, 45, 4.5))
    assert budgets.listing()[0].requests == 0, "that was yesterday's"
    assert budgets.to_share(10, 60.0)[0].spent is NOTHING


def test_every_owner_gets_its_turn_to_be_told_of_however_many_there_are():
    budgets, clock = house(Budget(requests=10))
    budgets.publishes = True
    names = [f"game{number}" for number in range(25)]
    told = []
    for _ in range(3):
        for name in names:  # all of them use something all the time
            budgets.settle(held(budgets.reserve(Session(name, name), "m", 0, 0)), 0, None)
        told += [share.owner for share in budgets.to_share(10, 60.0)]
        clock.advance(0.05)
    assert set(told) == set(names)
