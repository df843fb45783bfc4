import json
import math

from hypothesis import given
from hypothesis import strategies as st

from tickmind.gateway.refusal import STATUS_OF, Code
from tickmind.llm.errors import LLMCooldownError, LLMDroppedError, LLMError
from tickmind.llm.http.errors import error_from_reply
from tickmind.llm.served import Served, ServedAttempt, SessionCooldown, read_cooldown, read_served

COOLDOWN = {
    "nextAllowedAt": 1735927800000,
    "waitMs": 8000,
    "activeGames": 4,
    "rateLimit": {"requestsPerMinute": 30, "effectiveRPM": 7.5},
}


def test_a_reply_that_no_gateway_carried_says_nothing():
    assert read_served({"content-type": "application/json"}) is None


def test_everything_that_a_gateway_says_is_read():
    headers = {
        "x-tickmind-provider": "cerebras",
        "x-tickmind-attempts": json.dumps([{"provider": "groq", "result": "rate_limited", "status": 429}, "cerebras"]),
        "x-tickmind-waited-ms": "1500",
        "x-tickmind-cooldown": json.dumps(COOLDOWN),
    }
    served = read_served(headers)
    assert served == Served(
        "cerebras",
        (ServedAttempt("groq", "", "rate_limited", 429), ServedAttempt("cerebras")),
        1.5,
        SessionCooldown(8.0, 1735927800000.0, 4, 30.0, 7.5),
    )
    assert served.cooldown is not None
    assert served.cooldown.spacing_s == 8.0


def test_a_wait_without_end_is_believed_for_a_day():
    cooldown = read_cooldown({"waitMs": 1e300})
    assert cooldown is not None
    assert cooldown.wait_s == 86_400
    assert SessionCooldown(1.0, effective_rpm=1e-300).spacing_s == 86_400
    assert SessionCooldown(1.0).spacing_s == 0.0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
COOLDOWNS = st.fixed_dictionaries(
    {}, optional={"waitMs": JSON, "nextAllowedAt": JSON, "activeGames": JSON, "rateLimit": JSON}
)


@given(COOLDOWNS | JSON)
def test_whatever_stands_there_a_cooldown_is_a_time_or_none(value):
    cooldown = read_cooldown(value)
    if cooldown is not None:
        assert 0 <= cooldown.wait_s <= 86_400
        assert 0 <= cooldown.spacing_s <= 86_400
        assert math.isfinite(cooldown.active_games)


@given(st.text(), st.text(), st.text())
def test_headers_that_can_not_be_read_lose_no_reply(attempts, waited, cooldown):
    served = read_served(
        {
            "x-tickmind-provider": "p",
            "x-tickmind-attempts": attempts,
            "x-tickmind-waited-ms": waited,
            "x-tickmind-cooldown": cooldown,
        }
    )
    assert served is not None
    assert served.provider == "p"


def refused(code):
    body = json.dumps({"error": {"message": "no", "type": "gateway", "code": code}}).encode()
    return error_from_reply("http://host", STATUS_OF[code], body)


def test_the_gateways_codes_are_known_by_the_same_words():
    held = {code for code in Code if isinstance(refused(code), LLMCooldownError)}
    dropped = {code for code in Code if isinstance(refused(code), LLMDroppedError)}
    limits = {Code.RATE_LIMIT_COOLDOWN, Code.DEFERRED, Code.ALL_LIMITED}
    assert held == {*limits, Code.QUEUE_FULL, Code.QUEUE_TIMEOUT, Code.OVERLOADED}
    assert dropped == {Code.REPLACED, Code.EXPIRED}
    assert all(isinstance(refused(code), LLMError) for code in Code)


def test_a_refusal_in_the_plain_form_is_read_as_well():
    body = json.dumps({"error": "RATE_LIMIT_COOLDOWN", "message": "Must wait 8000ms", "cooldown": COOLDOWN}).encode()
    error = error_from_reply("http://host", 429, body)
    assert isinstance(error, LLMCooldownError)
    assert (error.retry_after_s, error.code) == (8.0, "RATE_LIMIT_COOLDOWN")
    assert "Must wait 8000ms" in str(error)
