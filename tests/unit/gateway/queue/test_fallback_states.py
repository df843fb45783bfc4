"""Whatever state the others of a chain are in: while one provider is healthy, every request succeeds."""

import random
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kits.queue_doubles import ScriptedProvider, SimulatedTime
from tests.long import short_or_long
from tests.unit.gateway.conftest import Desk

from tickmind.gateway.queue.job import Outcome, Result
from tickmind.gateway.settings.config import Limits

STATES: dict[str, Callable[[random.Random], Outcome | None]] = {
    "healthy": lambda _chance: None,
    "limited": lambda chance: Outcome(Result.RATE_LIMITED, 429, retry_after_s=chance.choice([None, 0.1, 5.0, 9e9])),
    "failing": lambda chance: Outcome(Result.FAILED, chance.choice([500, 502, 503])),
    "unreachable": lambda _chance: Outcome(Result.BROKEN, 0),
    "unreadable": lambda _chance: Outcome(Result.BROKEN, 200),
    "refused": lambda _chance: Outcome(Result.ACCOUNT, 401),
    "declining": lambda chance: Outcome(Result.DECLINED, chance.choice([402, 403, 413])),
}
LIMITS = st.sampled_from([Limits(), Limits(concurrency=1), Limits(concurrency=3), Limits(requests_per_second=5)])
PROVIDERS = st.lists(st.tuples(st.lists(st.sampled_from(sorted(STATES)), min_size=1, max_size=4), LIMITS), max_size=3)


@settings(max_examples=short_or_long(30, 60), deadline=None)
@given(
    others=PROVIDERS,
    place=st.integers(0, 3),
    healthy=LIMITS,
    pauses_s=st.lists(st.sampled_from([0.0, 0.1, 1.0, 20.0, 400.0]), min_size=1, max_size=12),
    seed=st.integers(0, 1000),
)
def test_every_request_succeeds_while_one_provider_is_healthy(others, place, healthy, pauses_s, seed):
    time, chance = SimulatedTime(), random.Random(seed)
    chain = list(others)
    chain.insert(min(place, len(chain)), (["healthy"], healthy))

    def scripted(states):
        return ScriptedProvider(time, script=lambda _job, _now: STATES[chance.choice(states)](chance))

    upstream = {f"p{number}": scripted(states) for number, (states, _) in enumerate(chain)}
    d = Desk(upstream, {f"p{number}": limits for number, (_, limits) in enumerate(chain)}, time, seed=seed)
    for number, pause_s in enumerate(pauses_s):
        d.submit(f"s{number % 3}")
        time.run_for(pause_s)
    time.run_for(200)
    assert {ticket.ended and ticket.ended.result for ticket in d.tickets.values()} == {Result.OK}, d.tickets.values()
    d.assert_clean()
