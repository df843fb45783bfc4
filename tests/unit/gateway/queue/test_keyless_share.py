"""Sessions without keys: inventing more of them, or ever new ones, brings an address no more than its share."""

from typing import Any

import pytest

from tickmind.gateway.fairness.sessions import LOCAL, Session, group_of_peer
from tickmind.gateway.settings.config import Limits

LIMITS = {"a": Limits(requests_per_second=10)}


@pytest.fixture
def crowd(desk, time):
    """Runs workers for a minute, each `(session, address)`; how much each address was served in the last 40 s."""

    def run(*workers, limits=None, rotate=()):
        d = desk(limits or LIMITS)
        served: dict[str, list[Any]] = {}
        for name, address in workers:
            d.sessions[name] = Session(name, name, group=address)
            d.worker(name, 60.0, served.setdefault(name, []))
        for address, count in rotate:
            for _ in range(count):
                forge(d, address, served.setdefault(f"new names at {address}", []))
        time.run_until(60.0)
        d.dispatcher.shutdown()
        return {name: sum(ticket.over_s > 20 for ticket in tickets) for name, tickets in served.items()}

    def forge(d, address, served):
        """Ask under a new name each time."""

        def ask():
            if time.monotonic() < 60.0:
                name = f"forged-{len(d.sessions)}"
                d.sessions[name] = Session(name, name, group=address)
                d.submit(name, on_over=again)

        def again(ticket):
            if ticket.refused is None:
                served.append(ticket)
            time.after(0.0 if ticket.refused is None else 0.1, ask)

        time.after(0.0, ask)

    return run


def test_many_sessions_of_one_address_get_together_what_one_of_another_gets(crowd):
    forged = [(f"forged-{number}", "10.0.0.1") for number in range(20)]
    served = crowd(*forged, *[("honest", "10.0.0.2")] * 20)
    total = sum(served.values())
    assert total >= 0.95 * 10 * 40
    assert served["honest"] == pytest.approx(total / 2, rel=0.1)


def test_within_an_address_sessions_share_as_ever(crowd):
    served = crowd(*[("one", LOCAL)] * 20, ("two", LOCAL), ("three", LOCAL))
    assert served["two"] == pytest.approx(served["three"], rel=0.1)
    assert served["two"] >= 0.9 * sum(served.values()) / 3


@pytest.mark.parametrize("address", [LOCAL, "10.0.0.1"])
def test_ever_new_names_get_no_more_than_one_share(crowd, address):
    served = crowd(*[("honest", LOCAL)] * 20, rotate=[(address, 20)])
    total = sum(served.values())
    assert served["honest"] == pytest.approx(total / 2, rel=0.15)


def test_a_new_session_goes_before_the_backlog_of_a_greedy_one(desk, time):
    d = desk({"a": Limits(requests_per_second=2)})
    for name in ("greedy", "new"):
        d.sessions[name] = Session(name, name, group=LOCAL)
    for _ in range(60):
        d.submit("greedy")
    time.run_until(10.0)
    new = d.submit("new")
    time.run_for(1.6)
    assert new.sent
    d.dispatcher.shutdown()


def test_forged_sessions_do_not_crowd_an_honest_one_out_of_a_full_queue(desk, time, tune):
    d = desk({"a": Limits(requests_per_minute=6)}, config=tune(queue={"capacity": 10}))
    for number in range(12):
        name = f"forged-{number}"
        d.sessions[name] = Session(name, name, group="10.0.0.1")
        d.submit(name)
    d.sessions["honest"] = Session("honest", "honest", group="10.0.0.2")
    honest = [d.submit("honest") for _ in range(3)]
    assert all(ticket.refused is None for ticket in honest)
    assert sum(ticket.refused is not None for ticket in d.tickets.values()) == 1 + 3
    d.dispatcher.shutdown()


def test_within_an_address_the_greedy_session_gives_way_in_a_full_queue(desk, time, tune):
    d = desk({"a": Limits(requests_per_minute=6)}, config=tune(queue={"capacity": 10}))
    for name in ("greedy", "modest"):
        d.sessions[name] = Session(name, name, group=LOCAL)
    greedy = [d.submit("greedy") for _ in range(11)]
    assert d.submit("modest").refused is None
    assert sum(ticket.refused is not None for ticket in greedy) == 1
    d.dispatcher.shutdown()


@pytest.mark.parametrize(
    ("peer", "group"),
    [
        ("127.0.0.1", LOCAL),
        ("127.8.9.1", LOCAL),
        ("::1", LOCAL),
        ("::ffff:127.0.0.1", LOCAL),
        ("10.0.0.7", "10.0.0.7"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::9", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("local", "local"),
        ("", ""),
    ],
)
def test_addresses_of_one_machine_are_one(peer, group):
    assert group_of_peer(peer) == group
