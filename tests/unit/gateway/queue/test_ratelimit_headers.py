"""Every form in which providers tell their limits, and no harm from anything else."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.gateway.queue.limits.ratelimit_headers import MAX_RESET_S, parse_reset, read_rate_limits

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("120ms", 0.12),
        ("2m59.56s", 179.56),
        ("1h2m3s", 3723.0),
        ("1d", 86_400.0),
        ("12.5", 12.5),
        ("0", 0.0),
        (" 7 ", 7.0),
        ("1700000030", 30.0),
        ("1700000030500", 30.5),
        ("1699999990", 0.0),  # passed already
        ("99999999", MAX_RESET_S),
    ],
)
def test_reset_is_read_in_each_form(text, seconds):
    assert parse_reset(text, now_wall_s=NOW) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", " ", "soon", "-3", "1e9", "nan", "inf", "5x", "1s2m", "٣", "1_000", "s", "--1"])
def test_garbage_is_no_reset(text):
    assert parse_reset(text, now_wall_s=NOW) is None


@given(st.text(max_size=40))
def test_any_text_gives_a_bounded_time_or_nothing(text):
    value = parse_reset(text, now_wall_s=NOW)
    assert value is None or (math.isfinite(value) and 0 <= value <= MAX_RESET_S)


def test_plain_headers_are_about_requests():
    said = {"x-ratelimit-limit": "20", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000030000"}
    limits = read_rate_limits(said, now_wall_s=NOW)
    assert limits is not None
    (found,) = limits.allowances
    assert (found.kind, found.window_s, found.limit, found.remaining) == ("requests", 60.0, 20.0, 0.0)
    assert found.reset_s == pytest.approx(30.0)


NAMES = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] + [
    f"x-ratelimit-{what}-{kind}{end}"
    for what in ("limit", "remaining", "reset")
    for kind in ("requests", "tokens")
    for end in ("", "-minute", "-day")
]


@given(
    st.dictionaries(
        st.sampled_from(NAMES),
        st.one_of(st.text(max_size=12), st.integers(-5, 10**14).map(str), st.floats().map(str)),
    )
)
@pytest.mark.slow
def test_any_headers_give_figures_that_can_be_used_or_nothing(headers):
    limits = read_rate_limits(headers, now_wall_s=NOW)
    for allowance in limits.allowances if limits is not None else ():
        assert allowance.limit is None or 1 <= allowance.limit < math.inf
        assert allowance.remaining is None or 0 <= allowance.remaining < math.inf
        assert allowance.reset_s is None or 0 <= allowance.reset_s <= MAX_RESET_S
        assert allowance.window_s in {60.0, 86_400.0}
        assert allowance.refills in {True, False}


def read(limit, remaining, reset, **options):
    headers = {
        "x-ratelimit-limit-requests": limit,
        "x-ratelimit-remaining-requests": remaining,
        "x-ratelimit-reset-requests": reset,
    }
    limits = read_rate_limits(headers, now_wall_s=NOW, **options)
    assert limits is not None
    (allowance,) = limits.allowances
    return allowance


def test_request_limit_is_per_day_where_its_reset_is_far():
    assert read("14400", "14370", "2m59.56s").window_s == 86_400.0  # 30 used, one comes back every 6 s
    assert read("14400", "14370", "2m59.56s").refills
    assert read("1000", "900", "5h0m0s").window_s == 86_400.0
    assert read("14400", "14399", "1s", requests_window_s=86_400.0).window_s == 86_400.0


def test_request_limit_is_per_minute_otherwise():
    assert read("60", "59", "1s").window_s == 60.0
    assert read("60", "59", "1s").refills
    assert read("500", "100", "12s").window_s == 60.0
    assert not read("500", "100", "12s").refills


def test_windows_that_are_named_are_believed():
    headers = {"x-ratelimit-limit-requests-day": "14400", "x-ratelimit-limit-tokens-minute": "60000"}
    limits = read_rate_limits(headers, now_wall_s=NOW)
    assert limits is not None
    assert limits.limit("requests", 86_400.0) == 14_400
    assert limits.limit("tokens", 60.0) == 60_000
    assert limits.limit("requests", 60.0) is None


def test_headers_without_limits_are_nothing():
    assert read_rate_limits({"content-type": "application/json"}, now_wall_s=NOW) is None
    assert read_rate_limits({"x-ratelimit-limit-requests": "0"}, now_wall_s=NOW) is None
    assert read_rate_limits({"x-ratelimit-remaining-requests": "3"}, now_wall_s=NOW) is None
