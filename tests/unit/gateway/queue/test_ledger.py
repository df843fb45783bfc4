"""The accounts of a key, in figures: credit, leeway, who presses, who is forgotten, and whose turn it is."""

import math
from typing import Any

import pytest

from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.fair import LaneTurns, Ledger, OwnerAccount, TurnHeap

WINDOW_S = 60.0


def session(name: str, *, owner: str = "", group: str = "") -> Session:
    return Session(name, owner or name, group=group)


class Jobs:
    """Jobs of a session that wait, or no longer."""

    def __init__(self, name: str, *, live: bool = True, key: int = 0, **given: str) -> None:
        self.session = session(name, **given)
        self.live = live
        self.key = key

    def first_key(self) -> int:
        return self.key


def jobs_of(name: str, **given: Any) -> Any:
    """What turns ask of a backlog."""
    return Jobs(name, **given)


def charged(ledger, name, times=1, *, now=0.0, weight=1.0, cost=1.0, **given):
    account = ledger.account(session(name, **given))
    for _ in range(times):
        ledger.charge(account, cost, weight, now)
    return account


@pytest.mark.parametrize(
    ("capacity", "cost", "weight", "credit", "leeway"),
    [
        (60.0, 1.0, 1.0, 60.0, 3.0),
        (0.0, 1.0, 1.0, 0.0, 2.0),
        (60.0, 4.0, 2.0, 60.0, 4.0),
        (400.0, 1.0, 1.0, 400.0, 20.0),
    ],
)
def test_the_leeway_is_a_twentieth_of_the_credit_and_two_requests_at_least(capacity, cost, weight, credit, leeway):
    ledger = Ledger(WINDOW_S, capacity=capacity)
    charged(ledger, "a", cost=cost, weight=weight)
    assert (ledger.credit, ledger.leeway) == (credit, leeway)


def test_the_credit_is_a_weights_share_of_what_was_served_within_the_window():
    ledger = Ledger(WINDOW_S)
    charged(ledger, "a", 30)
    charged(ledger, "b", 30, weight=2.0)
    charged(ledger, "a", now=5.0)
    assert ledger.credit == 60 / 3
    assert ledger.modest == 2
    charged(ledger, "a", now=59.9)
    assert ledger.credit == 61 / 3
    charged(ledger, "a", now=64.9)
    charged(ledger, "a", now=69.9)  # what the first part of the window had is gone, and so is b
    assert ledger.credit == 3.0
    assert ledger.modest == 1


def test_a_part_of_the_window_passes_before_the_credit_is_reckoned_anew():
    ledger = Ledger(WINDOW_S)
    charged(ledger, "a", 10)
    assert (ledger.credit, ledger.next_s) == (0.0, 5.0)
    charged(ledger, "a", now=4.999)
    assert ledger.credit == 0.0
    charged(ledger, "a", now=5.0)
    assert (ledger.credit, ledger.next_s) == (11.0, 10.0)


def test_a_long_pause_leaves_no_credit_behind():
    ledger = Ledger(WINDOW_S)
    charged(ledger, "a", 100)
    charged(ledger, "a", now=1000.0)
    assert ledger.credit == 0.0


@pytest.mark.parametrize(
    ("waited_s", "request_s", "presses"),
    [(0.999, 0.0, False), (1.0, 0.0, True), (4.99, 0.1, False), (5.0, 0.1, True), (1.0, 0.02, True)],
)
def test_who_waits_for_fifty_requests_and_a_second_presses(waited_s, request_s, presses):
    ledger = Ledger(WINDOW_S)
    owner = ledger.account(session("a")).owner
    owner.since_s = 0.0
    assert ledger.presses(owner, waited_s, request_s) is presses


def test_who_presses_gives_way_unless_it_has_credit():
    ledger = Ledger(WINDOW_S)
    owner = ledger.account(session("a")).owner
    ledger.virtual, ledger.leeway = 10.0, 2.0
    for pressing, tag, gives_way in ((True, 8.01, True), (True, 8.0, False), (False, 20.0, False)):
        owner.pressing, owner.tag = pressing, tag
        assert ledger.gives_way(owner) is gives_way


def test_the_virtual_time_moves_on_by_what_is_beyond_the_leeway_only():
    ledger = Ledger(WINDOW_S)
    modest = charged(ledger, "a", 2)
    assert (modest.owner.tag, ledger.virtual, ledger.top) == (2.0, 0.0, 2.0)
    ledger.charge(modest, 1.0, 1.0, 0.0)
    ledger.charge(modest, 1.0, 1.0, 0.0)
    assert (modest.owner.tag, ledger.virtual) == (4.0, 1.0)  # it began at 3, two ahead
    modest.owner.pressing = True
    ledger.charge(modest, 1.0, 1.0, 0.0)
    assert (modest.owner.tag, ledger.virtual) == (5.0, 4.0)


def test_who_comes_back_is_one_credit_behind_at_most():
    ledger = Ledger(WINDOW_S, capacity=6.0)
    late = ledger.account(session("late"))
    charged(ledger, "a", 100)
    charged(ledger, "a", now=5.0)
    before = ledger.virtual - ledger.credit
    assert before > 0
    ledger.charge(late, 1.0, 1.0, 5.0)
    assert late.owner.tag == before + 1
    assert late.tag == 1.0


def test_sessions_of_an_owner_have_their_own_virtual_time():
    ledger = Ledger(WINDOW_S)
    first = charged(ledger, "s1", 3, owner="o")
    second = charged(ledger, "s2", owner="o")
    assert (first.tag, first.owner.virtual, first.owner.top, first.owner.tag) == (3.0, 2.0, 3.0, 4.0)
    assert second.tag == 3.0  # it began where the owner's virtual time was
    assert second.owner is first.owner


def test_new_sessions_without_a_key_pay_from_one_account():
    ledger = Ledger(WINDOW_S)
    tags = [charged(ledger, f"s{number}", group="g").owner.tag for number in range(4)]
    assert tags == [1.0, 2.0, 3.0, 4.0]
    again = charged(ledger, "s0", group="g")
    assert again.owner.tag == 2.0


def test_groups_take_turns_by_what_all_of_them_used():
    ledger = Ledger(WINDOW_S)
    first = charged(ledger, "a", group="one")
    grouped = [ledger.is_grouped]
    second = charged(ledger, "b", 3, group="two")
    assert [*grouped, ledger.is_grouped] == [False, True]
    assert (first.owner.ledger, second.owner.ledger.group_tag) == (ledger, 3.0)
    ledger.charge(first, 1.0, 1.0, 0.0)
    assert ledger.group_tag == 3.0  # from the highest tag that was served, which was 2
    third = ledger.account(session("c", group="three"))
    assert third.owner.ledger.group_tag == 2.0


def test_strangers_beyond_the_last_group_are_one():
    ledger = Ledger(WINDOW_S)
    for number in range(256):
        ledger.account(session("a", group=f"g{number}"))
    last = ledger.account(session("x", group="g255")).owner.ledger
    assert ledger.account(session("y", group="another")).owner.ledger is last
    assert ledger.account(session("z", group="g254")).owner.ledger is not last


def test_when_nobody_waits_all_are_even():
    ledger = Ledger(WINDOW_S)
    charged(ledger, "a", 50, group="one")
    other = charged(ledger, "b", 20, group="two").owner.ledger
    ledger.idle()
    assert (ledger.virtual, other.virtual) == (ledger.top, other.top) == (50.0, 20.0)
    assert ledger.group_tag == other.group_tag


def test_a_correction_goes_to_session_owner_and_group():
    ledger = Ledger(WINDOW_S)
    account = charged(ledger, "a", weight=2.0, cost=4.0)
    before = ledger.group_tag
    ledger.correct(account, 2.0)
    assert (account.tag, account.owner.tag, ledger.group_tag - before) == (3.0, 3.0, 2.0)
    ledger.correct(account, -4.0)
    assert (account.tag, account.owner.tag, ledger.group_tag - before) == (1.0, 1.0, -2.0)


@pytest.mark.parametrize(("idle_s", "left"), [(119.0, 101), (120.0, 101), (121.0, 1)])
def test_accounts_are_forgotten_after_two_windows_without_use(idle_s, left):
    ledger = Ledger(WINDOW_S)
    for number in range(100):
        charged(ledger, f"old{number}")
    ledger.idle()
    for account in list(ledger._owners.values()):
        account.virtual = account.top
    charged(ledger, "new", now=idle_s)
    assert len(ledger._owners) == left
    assert "new" in ledger._owners


def test_accounts_with_a_debt_or_with_jobs_are_kept():
    ledger = Ledger(WINDOW_S)
    for number in range(70):
        charged(ledger, f"old{number}")
    ledger.idle()
    for owner in ledger._owners.values():
        owner.virtual = owner.top
    debtor, waiting = ledger._owners["old1"], ledger._owners["old2"]
    debtor.tag = ledger.virtual + 1
    debtor.sessions["old1"].tag = debtor.virtual + 1
    turns = LaneTurns(ledger)
    turns.add(jobs_of("old2"), 0.0)
    charged(ledger, "new", now=500.0)
    assert {"old1", "old2", "new"} == set(ledger._owners)
    assert waiting.sessions


# Turns


def order(turns, ledger, jobs, count, now=0.0):
    """Whose turn it is, again and again, everybody having more to do."""
    found = []
    for _ in range(count):
        first = turns.first(now, 0.0)
        found.append(first.session.id)
        ledger.charge(ledger.account(first.session), 1.0, 1.0, now)
    return found


def test_equals_take_turns_in_the_order_in_which_they_came():
    ledger = Ledger(WINDOW_S)
    turns = LaneTurns(ledger)
    jobs = [jobs_of(name) for name in "abc"]
    for one in jobs:
        turns.add(one, 0.0)
    assert order(turns, ledger, jobs, 6) == list("abcabc")


def test_who_presses_lets_others_go_first_by_the_leeway_and_no_further():
    ledger = Ledger(WINDOW_S)
    turns = LaneTurns(ledger)
    greedy, polite = jobs_of("greedy"), jobs_of("polite")
    turns.add(greedy, 0.0)
    assert order(turns, ledger, [greedy], 3) == ["greedy"] * 3
    ledger.virtual = ledger.top
    assert turns.first(2.0, 0.0) is greedy
    turns.add(polite, 2.0)
    assert turns.first(2.0, 0.0) is polite
    assert ledger._owners["greedy"].pressing
    assert not ledger._owners["polite"].pressing
    assert not turns.is_first_giving_way()
    done = order(turns, ledger, [greedy, polite], 5, now=2.0)
    assert done[:2] == ["polite"] * 2
    assert "greedy" in done


def test_the_first_by_its_own_key_goes_first_within_a_session():
    ledger = Ledger(WINDOW_S)
    turns = LaneTurns(ledger)
    jobs = [jobs_of("a", key=5), jobs_of("a", key=0, live=False), jobs_of("a", key=3)]
    for one in jobs:
        turns.add(one, 0.0)
    assert turns.first(0.0, 0.0) is jobs[2]
    for one in jobs:
        one.live = False
    assert turns.first(0.0, 0.0) is None
    assert len(turns) == 0


def test_who_no_longer_waits_leaves_next_to_nothing_behind():
    ledger = Ledger(WINDOW_S)
    turns = TurnHeap(ledger)
    most = 0
    for number in range(1000):
        place = turns.place(ledger.account(session(f"s{number}")).owner)
        assert isinstance(place.account, OwnerAccount)
        most = max(most, len(turns))
    assert (most, turns._sweep_at) == (64, 64)
    assert sum(bool(owner.places) for owner in ledger._owners.values()) <= 65


def test_the_tag_of_the_first_is_its_groups_where_there_are_groups():
    ledger = Ledger(WINDOW_S)
    turns = LaneTurns(ledger)
    turns.add(jobs_of("a"), 0.0)
    charged(ledger, "a", 5)
    assert turns.first(0.0, 0.0) is not None
    assert turns.first_tag() == 5.0
    grouped = Ledger(WINDOW_S)
    turns = LaneTurns(grouped)
    for name in ("one", "two"):
        turns.add(jobs_of(name, group=name), 0.0)
    charged(grouped, "one", 4, group="one")
    first = turns.first(0.0, 0.0)
    assert first is not None
    assert first.session.id == "two"
    assert turns.first_tag() == 0.0


# What a fault planted in the accounts would change


def test_only_the_first_request_of_a_new_session_is_paid_by_all_new_ones():
    ledger = Ledger(WINDOW_S)
    charged(ledger, "s0", 5, group="g")
    assert ledger.virtual == 2.0
    assert ledger.account(session("s1", group="g")).owner.tag == 2.0
    assert ledger.group_tag == 0.0  # there is one group only


def test_a_session_that_comes_back_is_one_credit_of_its_owner_behind_at_most():
    ledger = Ledger(WINDOW_S)
    late = ledger.account(session("late", owner="o"))
    charged(ledger, "busy", 100, owner="o")
    charged(ledger, "busy", now=5.0, owner="o")
    assert (late.owner.virtual, late.owner.credit, late.owner.total) == (100.0, 50.0, 101.0)
    ledger.charge(late, 1.0, 1.0, 5.0)
    assert late.tag == 51.0


def test_who_was_charged_too_much_is_first_as_soon_as_that_is_known():
    ledger = Ledger(WINDOW_S)
    turns = LaneTurns(ledger)
    for name in "ab":
        turns.add(jobs_of(name), 0.0)
    account = charged(ledger, "a", 3)
    charged(ledger, "b")
    first = turns.first(0.0, 0.0)
    assert first is not None
    assert first.session.id == "b"
    ledger.correct(account, -3.0)
    first = turns.first(0.0, 0.0)
    assert first is not None
    assert first.session.id == "a"


def test_an_owner_waits_since_its_first_job_came():
    ledger = Ledger(WINDOW_S)
    turns = LaneTurns(ledger)
    first = jobs_of("a")
    turns.add(first, 3.0)
    turns.add(jobs_of("a", key=1), 5.0)
    owner = ledger.account(first.session).owner
    assert owner.since_s == 3.0
    owner.pressing = True
    turns.add(jobs_of("a", key=2), 6.0)
    assert owner.pressing
    for place in owner.places:
        for inner in place.inner._places.values() if place.inner is not None else ():
            inner.backlogs.clear()
    assert turns.first(7.0, 0.0) is None
    assert owner.places == []
    turns.add(first, 8.0)
    assert (owner.since_s, owner.pressing) == (8.0, False)


@pytest.mark.parametrize("modest", [0, 1])
def test_who_presses_gives_way_only_to_others_who_do_not(modest):
    ledger = Ledger(WINDOW_S)
    turns = LaneTurns(ledger)
    turns.add(jobs_of("a"), 0.0)
    assert turns.first(9.0, 0.0) is not None
    ledger.modest, ledger.leeway = modest, 1.0
    assert turns.is_first_giving_way() is bool(modest)


def test_accounts_are_looked_through_when_there_are_64_and_then_seldom():
    ledger = Ledger(WINDOW_S)
    for number in range(63):
        charged(ledger, f"old{number}")
    ledger.idle()
    for owner in ledger._owners.values():
        owner.virtual = owner.top
    charged(ledger, "new", now=500.0)
    assert list(ledger._owners) == ["new"]
    assert ledger._sweep_at == 66


def test_the_credit_forgets_what_was_served_before_a_pause_and_keeps_a_whole_window():
    ledger = Ledger(WINDOW_S)
    charged(ledger, "a", 10)
    account = charged(ledger, "a", now=1000.0)
    assert ledger.credit == 0.0
    for number in range(1, 13):
        ledger.charge(account, 0.0, 1.0, 1000.0 + 5 * number)
        assert ledger.credit == 1.0
    ledger.charge(account, 0.0, 1.0, 1065.0)
    assert ledger.credit == 0.0


@pytest.mark.parametrize(("now", "credit", "modest"), [(60.0, 30.0, 2), (60.5, 0.0, 0)])
def test_an_owner_shares_the_credit_until_its_last_request_is_a_window_old(now, credit, modest):
    ledger = Ledger(WINDOW_S, capacity=60.0)
    charged(ledger, "b")
    charged(ledger, "a", now=now)
    assert (ledger.credit, ledger.modest) == (credit, modest)


def test_the_credit_among_sessions_is_reckoned_anew_as_soon_as_a_part_of_the_window_is_over():
    ledger = Ledger(WINDOW_S)
    owner = charged(ledger, "a", 10).owner
    charged(ledger, "a", now=5.0)
    assert owner.credit == 10.0
    charged(ledger, "a", now=10.0)
    assert owner.credit == 11.0


def test_an_owner_leads_another_by_what_it_used_more():
    ledger = Ledger(WINDOW_S, capacity=1.0)
    charged(ledger, "a", 5)
    charged(ledger, "b")
    assert (ledger.virtual, ledger.credit) == (2.0, 1.0)
    assert ledger.lead("a", "b") == 5.0 - 3.0
    assert ledger.lead("b", "a") == 3.0 - 5.0
    assert ledger.lead("a", "stranger") == 5.0 - (2.0 - 1.0)  # who comes next is one credit behind at most
    assert ledger.lead("stranger", "a") == -math.inf


def test_what_is_corrected_while_there_is_one_group_is_no_lead_of_it_over_the_next():
    ledger = Ledger(WINDOW_S)
    ledger.correct(charged(ledger, "a", group="one"), 1000.0)
    second = ledger.account(session("b", group="two")).owner.ledger
    assert ledger.group_tag == second.group_tag == 0.0


def test_a_correction_by_nothing_costs_no_turn():
    ledger = Ledger(WINDOW_S)
    turns = LaneTurns(ledger)
    for name in "ab":
        turns.add(jobs_of(name), 0.0)
    account = ledger.account(session("a"))
    ledger.correct(account, 0.0)
    first = turns.first(0.0, 0.0)
    assert first is not None
    assert first.session.id == "a"


def test_a_session_that_was_charged_too_much_goes_before_others_of_its_owner():
    ledger = Ledger(WINDOW_S)
    turns = LaneTurns(ledger)
    for name in "ab":
        turns.add(jobs_of(name, owner="o"), 0.0)
    account = charged(ledger, "a", cost=5.0, owner="o")
    charged(ledger, "b", cost=3.0, owner="o")
    first = turns.first(0.0, 0.0)
    assert first is not None
    assert first.session.id == "b"
    ledger.correct(account, -5.0)
    first = turns.first(0.0, 0.0)
    assert first is not None
    assert first.session.id == "a"


def test_accounts_are_looked_through_again_when_there_are_twice_as_many():
    ledger = Ledger(WINDOW_S)
    for number in range(64):
        charged(ledger, f"old{number}")
    charged(ledger, "new", now=5.0)
    assert (len(ledger._owners), ledger._sweep_at) == (65, 2 * 65 + 64)


def test_of_two_alike_within_a_session_the_first_goes_first():
    ledger = Ledger(WINDOW_S)
    turns = LaneTurns(ledger)
    jobs = [jobs_of("a", key=3), jobs_of("a", key=3)]
    for one in jobs:
        turns.add(one, 0.0)
    assert turns.first(0.0, 0.0) is jobs[0]


def test_a_place_that_is_moved_up_again_and_again_leaves_next_to_nothing_behind():
    ledger = Ledger(WINDOW_S)
    turns = LaneTurns(ledger)
    turns.add(jobs_of("a"), 0.0)
    place = ledger.account(session("a")).owner.places[0]
    most = 0
    for _ in range(1000):
        place.turns.move_up(place)
        most = max(most, len(turns))
    assert most == 64 + 2  # places that need not be swept, and twice those that wait


def test_turns_go_by_what_was_used_after_a_sweep_too():
    ledger = Ledger(WINDOW_S)
    turns = LaneTurns(ledger)
    for name, tag in [("late", 3.0), ("early", 2.0), ("last", 4.0)]:
        ledger.account(session(name)).owner.tag = tag
    for name in ("late", "early"):
        turns.add(jobs_of(name), 0.0)
    for number in range(62):
        turns.add(jobs_of(f"gone{number}", live=False), 0.0)
    turns.add(jobs_of("last"), 0.0)
    assert len(turns) == 3
    first = turns.first(0.0, 0.0)
    assert first is not None
    assert first.session.id == "early"


def test_before_the_first_request_is_charged_nobody_gives_way():
    ledger = Ledger(WINDOW_S)
    turns = LaneTurns(ledger)
    turns.add(jobs_of("a"), 0.0)
    assert turns.first(9.0, 0.0) is not None
    ledger.leeway = 1.0
    assert not turns.is_first_giving_way()


def test_an_account_that_was_swept_away_is_made_again_for_the_same_session():
    ledger = Ledger(WINDOW_S)
    first = session("a")
    old = ledger.account(first)
    assert ledger.account(first) is old
    for number in range(64):
        charged(ledger, f"s{number}", now=0.0)
    charged(ledger, "late", now=3 * WINDOW_S)
    new = ledger.account(first)
    assert new is not old
    assert new is ledger.account(session("a"))


def test_one_account_serves_all_sessions_of_the_same_name():
    ledger = Ledger(WINDOW_S)
    assert ledger.account(session("a")) is ledger.account(session("a"))
