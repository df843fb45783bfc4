"""What a reply says beside its body is the same for any names and any number of attempts."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from tickmind.base import Secret
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.http.reply_headers import attempts_json, refusal_headers, reply_headers
from tickmind.gateway.queue.job import Attempt, Result
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.refusal import Code, Refusal
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import ApiKey, Provider

NAMES = st.text("ab%d/", min_size=1, max_size=8)
TIMES = st.floats(0.0, 100.0)


class Nobody:
    def send(self, job: Ticket, target: Target) -> None:
        raise AssertionError

    def refuse(self, job: Ticket, refusal: Refusal) -> None:
        raise AssertionError


def fields_of(headers: bytes) -> dict[str, str]:
    lines = headers.decode().split("\r\n")
    assert lines.pop() == ""
    return {name: value for name, _, value in (line.partition(": ") for line in lines)}


@given(NAMES, NAMES, st.lists(st.tuples(TIMES, TIMES), min_size=1, max_size=3))
def test_a_reply_tells_who_answered_after_which_attempts(
    provider: str, model: str, times: list[tuple[float, float]]
) -> None:
    target = Target(Provider(provider, "http://127.0.0.1/v1"), ApiKey("key", Secret("")), model)
    job = Ticket(Plan((target,), model), Session("game", "game"), Nobody(), 0.0)
    job.target = target
    job.attempts = tuple(
        Attempt(provider, "key", model, Result.OK, 200, waited_s, took_s) for waited_s, took_s in times
    )
    fields = fields_of(reply_headers(job, b'{"waitMs":0}', 7))
    assert fields["x-tickmind-provider"] == provider
    assert fields["x-tickmind-waited-ms"] == "7"
    assert fields["x-tickmind-cooldown"] == '{"waitMs":0}'
    assert fields["x-tickmind-attempts"] == attempts_json(job.attempts).decode()
    assert json.loads(fields["x-tickmind-attempts"]) == [
        {
            "provider": provider,
            "model": model,
            "result": "ok",
            "status": 200,
            "waitedMs": int(waited_s * 1000),
            "tookMs": int(took_s * 1000),
        }
        for waited_s, took_s in times
    ]


def test_without_an_attempt_the_list_is_empty() -> None:
    assert attempts_json(()) == b"[]"


def wait_of(retry_after_s: float) -> tuple[str, str]:
    fields = fields_of(refusal_headers(Refusal(Code.OVERLOADED, "slow down", retry_after_s), (), b""))
    return fields["retry-after"], fields["retry-after-ms"]


@example(1017.83444, 50)  # which makes 50.000000000007
@given(st.floats(0.0, 1e6), st.integers(0, 600))
def test_a_wait_until_a_time_is_not_longer_by_the_noise_of_the_clock(now_s: float, wait_s: int) -> None:
    assert wait_of((now_s + wait_s) - now_s) == (str(wait_s), str(1000 * wait_s))


def test_a_wait_is_rounded_up() -> None:
    assert wait_of(0.0004) == ("1", "1")
    assert wait_of(49.9991) == ("50", "50000")
    assert wait_of(-3.0) == ("0", "0")
