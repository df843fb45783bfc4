"""Keys of callers: random, hashed, and checked without telling anything."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import ConfigError, redact
from tickmind.gateway.fairness.caller_keys import CallerKeys, check_exposure, hash_key, new_key
from tickmind.gateway.settings.config import Caller, GatewayConfig

KEY, OTHER = (
    "sk-tm-0123456789abcdefghijklmnopqrstuvwxyzABCDEFG",
    "sk-tm-GFEDCBAzyxwvutsrqponmlkjihgfedcba9876543210",
)  # not random: they are part of test ids
ARENA, LAB = Caller("arena", hash_key(KEY)), Caller("lab", hash_key(OTHER))
KEYS = CallerKeys([ARENA, LAB])


def test_a_key_tells_whose_it_is():
    assert KEYS.check(f"Bearer {KEY}") is ARENA
    assert KEYS.check(f"Bearer {OTHER}") is LAB


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer "])
def test_the_scheme_is_read_as_http_says(scheme):
    assert KEYS.check(f"{scheme} {KEY}") is ARENA


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        KEY,
        f"Basic {KEY}",
        f"Bearer {KEY[:-1]}",
        f"Bearer {KEY}x",
        f"Bearer {KEY} ",
        f"Bearer {KEY}\n",
        f"Bearer {KEY} {KEY}",
        f" Bearer {KEY}",
        f"Bearer {KEY.upper()}",
        f"Bearer {ARENA.key_hash}",
        f"Bearer {ARENA.key_hash.removeprefix('sha256:')}",
        f"Bearer {'x' * 10_000}",
        "Bearer \udcff",
        "Bearer schlüssel",
    ],
)
def test_anything_else_is_nobody(header):
    assert KEYS.check(header) is None


@given(st.text(max_size=60))
def test_no_text_opens_the_door(text):
    assert KEYS.check(text) is None
    assert KEYS.check(f"Bearer {text}") is None


def test_keys_are_long_different_and_masked_in_logs():
    keys = {new_key() for _ in range(1000)}
    assert len(keys) == 1000
    assert all(len(key) >= 43 for key in keys)
    assert all(key not in redact(f"unexpected header {key}") for key in keys)


def test_a_hash_does_not_hold_the_key():
    assert KEY not in hash_key(KEY)
    assert KEY not in repr(ARENA)


def test_only_right_headers_are_remembered_and_not_without_bound(monkeypatch):
    monkeypatch.setattr("tickmind.gateway.fairness.caller_keys._MOST_SEEN", 8)
    keys = CallerKeys([ARENA])
    for number in range(100):
        assert keys.check(f"Bearer {new_key()}") is None
        assert keys.check(f"Bearer{' ' * (number + 1)}{KEY}") is ARENA
        assert keys.check(f"Bearer {KEY}") is ARENA
    assert 0 < len(keys._seen) <= 8


def test_without_callers_a_key_is_nobodys():
    assert CallerKeys([]).check(f"Bearer {KEY}") is None


@pytest.mark.parametrize("key_hash", ["", KEY, "sha256:", f"sha256:{'g' * 64}", f"scrypt:{'0' * 64}"])
def test_a_caller_without_a_hash_is_an_error_that_does_not_repeat_it(key_hash):
    with pytest.raises(ConfigError) as caught:
        CallerKeys([Caller("arena", key_hash)])
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.5", "gateway.example", "127.0.0.1.example"])
def test_others_may_not_use_it_without_keys(host):
    for config in (GatewayConfig(host=host), GatewayConfig(host=host, plaintext=True)):
        with pytest.raises(ConfigError, match="tickmind gateway key NAME"):
            check_exposure(config, has_tls=True)
    check_exposure(GatewayConfig(host=host, callers=(ARENA,)), has_tls=True)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.5", "gateway.example"])
def test_keys_leave_this_machine_in_the_clear_only_if_the_operator_says_so(host):
    config = GatewayConfig(host=host, callers=(ARENA,))
    with pytest.raises(ConfigError, match="--tls"):
        check_exposure(config, has_tls=False)
    check_exposure(replace(config, plaintext=True), has_tls=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_this_machine_may_use_it_without_keys(host):
    check_exposure(GatewayConfig(host=host), has_tls=False)
