"""Logins at the dashboard: one key, then a cookie that shows figures to the gateway's own page and nothing more."""

import json
import re
from typing import Any

import pytest

from tickmind.base import ManualClock
from tickmind.gateway.fairness.caller_keys import CallerKeys, hash_key, new_key
from tickmind.gateway.http.exchange import Head, Request, Responder
from tickmind.gateway.settings.config import Caller
from tickmind.gateway.surface.logins import MAX_AGE_S, MAX_IDLE_S, MAX_LOGINS, MAX_WRONG_KEYS, WINDOW_S, Logins

ADMIN, ADA = new_key(), new_key()
HOST = "127.0.0.1:8766"
JSON = {"content-type": "application/json", "origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}


class Wire:
    """What a responder wrote."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data

    def finish(self, data: bytes, keep_alive: bool) -> None:
        self.data += data


class Desk:
    """Logins, and a browser's side of them."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        callers = (Caller("root", hash_key(ADMIN), admin=True), Caller("ada", hash_key(ADA)))
        self.logins = Logins(CallerKeys(callers), self.clock, required=True)

    def request(self, headers: dict[str, str], body: bytes = b"", peer: str = "10.0.0.1") -> Request:
        all_headers = {"host": HOST, **headers}
        pairs = {name.encode(): value.encode("latin-1") for name, value in all_headers.items()}
        return Request(Head(b"POST", b"/dashboard/login", pairs, keep_alive=True), body, peer)

    def log_in(self, key: Any, peer: str = "10.0.0.1", **headers: str) -> str:
        """The whole reply to a login."""
        wire = Wire()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = self.request({**JSON, **named}, json.dumps({"key": key}).encode(), peer)
        self.logins.log_in(request, Responder(wire, request.head))
        return wire.data.decode()

    def log_out(self, headers: dict[str, str]) -> str:
        wire = Wire()
        request = self.request(headers)
        self.logins.log_out(request, Responder(wire, request.head))
        return wire.data.decode()

    def name(self, headers: dict[str, str]) -> str:
        """Whose login these headers have; empty if none."""
        caller = self.logins.caller_of(self.request(headers))
        return caller.name if caller else ""


def status(reply: str) -> int:
    return int(reply.split(" ")[1])


def cookie(reply: str) -> dict[str, str]:
    """The header with the cookie that a reply sets."""
    found = re.search(r"set-cookie: ([^;]+);", reply)
    assert found, reply
    return {"cookie": found[1]}


def test_a_key_gives_a_cookie_that_no_script_and_no_other_site_gets() -> None:
    desk = Desk()
    reply = desk.log_in(ADMIN)
    assert status(reply) == 204
    (line,) = [line for line in reply.splitlines() if line.startswith("set-cookie: ")]
    assert {"HttpOnly", "SameSite=Strict", "Path=/", f"Max-Age={MAX_AGE_S.maximum:.0f}"} <= set(line.split("; "))
    assert "Secure" not in line
    assert "Secure" in desk.log_in(ADMIN, x_forwarded_proto="https")
    assert ADMIN not in reply
    assert desk.name(cookie(reply)) == "root"
    assert desk.name(cookie(desk.log_in(ADA))) == "ada"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:3000"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_a_login_is_worth_nothing_to_another_page(headers: dict[str, str]) -> None:
    desk = Desk()
    have = cookie(desk.log_in(ADMIN))
    assert desk.name({**have, **headers}) == ""
    assert status(desk.log_out({**have, **headers})) == 403
    sent = {"sec-fetch-site": "none", **headers}  # a browser sends none to plain HTTP on another machine
    assert status(desk.log_in(ADMIN, **{name.replace("-", "_"): value for name, value in sent.items()})) == 403
    assert desk.name(have) == "root"


def test_the_own_page_logs_in_also_behind_a_proxy_that_changes_the_host() -> None:
    """Which origins get as far as here is decided before, by `allowed_origins`."""
    desk = Desk()
    page = {"origin": "https://gateway.example"}
    reply = desk.log_in(ADMIN, **page)
    assert status(reply) == 204
    assert "Secure" in reply
    have = {**cookie(reply), **page, "sec-fetch-site": "same-origin"}
    assert desk.name(have) == "root"
    assert status(desk.log_out(have)) == 204
    assert desk.name(have) == ""


def test_a_login_ends_unused_and_with_age_and_by_logging_out() -> None:
    desk = Desk()
    have = cookie(desk.log_in(ADMIN))
    desk.clock.advance(MAX_IDLE_S.maximum)
    assert desk.name(have) == "root"
    desk.clock.advance(MAX_IDLE_S.maximum + 1)
    assert desk.name(have) == ""
    have, since_s = cookie(desk.log_in(ADMIN)), 0.0
    while since_s < MAX_AGE_S.maximum:
        assert desk.name(have) == "root"
        desk.clock.advance(MAX_IDLE_S.maximum)
        since_s += MAX_IDLE_S.maximum
    desk.clock.advance(1)
    assert desk.name(have) == ""
    have = cookie(desk.log_in(ADMIN))
    gone = desk.log_out({**JSON, **have})
    assert (status(gone), "Max-Age=0" in gone) == (204, True)
    assert desk.name(have) == ""


def test_wrong_keys_are_slowed_down_by_address_also_before_a_right_one() -> None:
    desk = Desk()
    wrong = int(MAX_WRONG_KEYS.maximum)
    assert [status(desk.log_in(new_key())) for _ in range(wrong)] == [401] * wrong
    held = desk.log_in(ADMIN)
    assert (status(held), "retry-after: 60" in held) == (429, True)
    assert status(desk.log_in(ADMIN, peer="10.0.0.2")) == 204
    desk.clock.advance(WINDOW_S)
    assert status(desk.log_in(ADMIN)) == 204


def test_one_network_of_ipv6_is_one_address_that_gives_wrong_keys() -> None:
    desk = Desk()
    wrong = int(MAX_WRONG_KEYS.maximum)
    replies = [desk.log_in(new_key(), peer=f"2001:db8::{number}") for number in range(wrong + 1)]
    assert [status(reply) for reply in replies] == [401] * wrong + [429]
    assert status(desk.log_in(ADMIN, peer="2001:db8:0:1::1")) == 204


def test_a_key_that_is_known_gives_no_more_wrong_ones() -> None:
    desk = Desk()
    tried = [desk.log_in(key) for _ in range(int(MAX_WRONG_KEYS.maximum)) for key in (new_key(), ADA)]
    assert status(tried[-1]) == 429


def test_a_proxy_of_this_machine_says_whose_wrong_keys_they_are_and_nobody_else_does() -> None:
    desk = Desk()
    for number in range(int(MAX_WRONG_KEYS.maximum)):
        sent = f"10.9.9.{number}, 10.0.0.66"  # the last is the proxy's own word
        assert status(desk.log_in(new_key(), peer="127.0.0.1", x_forwarded_for=sent)) == 401
    assert status(desk.log_in(ADMIN, peer="127.0.0.1", x_forwarded_for="10.0.0.66")) == 429
    assert status(desk.log_in(ADMIN, peer="127.0.0.1", x_forwarded_for="10.0.0.7")) == 204
    for number in range(int(MAX_WRONG_KEYS.maximum)):
        assert status(desk.log_in(new_key(), x_forwarded_for=f"10.9.9.{number}")) == 401
    assert status(desk.log_in(ADMIN, x_forwarded_for="10.9.9.99")) == 429


@pytest.mark.parametrize("key", ["", None, 7, ["x"], "two words", "\u0000", "é" * 10, "x" * 201])
def test_what_is_no_key_is_refused(key: Any) -> None:
    reply = Desk().log_in(key)
    assert status(reply) in {400, 401}
    assert "set-cookie" not in reply


def test_a_form_of_another_page_can_not_log_in() -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert status(Desk().log_in(ADMIN, content_type=kind)) == 400


@pytest.mark.parametrize("value", ["", "x", "a" * 65, "../" * 10, "a;b", "\xff" * 30])
def test_an_invented_cookie_is_no_login(value: str) -> None:
    desk = Desk()
    desk.log_in(ADMIN)
    assert desk.name({"cookie": f"tickmind-gateway-8766={value}"}) == ""
    assert desk.name({"cookie": f"; =; {value}; tickmind-gateway-8766"}) == ""


def test_logins_are_bounded_and_a_second_one_replaces_the_first() -> None:
    desk = Desk()
    first = cookie(desk.log_in(ADMIN))
    second = cookie(desk.log_in(ADMIN, **first))
    assert [desk.name(first), desk.name(second)] == ["", "root"]
    for _ in range(int(MAX_LOGINS.maximum)):
        desk.log_in(ADMIN)
    assert desk.name(second) == ""
    assert len(desk.logins._logins) == MAX_LOGINS.maximum


def test_a_caller_ends_no_logins_of_others() -> None:
    desk = Desk()
    have = cookie(desk.log_in(ADMIN))
    for _ in range(int(MAX_LOGINS.maximum) + 1):
        last = desk.log_in(ADA)
    assert (desk.name(have), desk.name(cookie(last))) == ("root", "ada")
    assert len(desk.logins._logins) == MAX_LOGINS.maximum


def test_without_keys_there_is_nothing_to_log_in_for() -> None:
    desk = Desk()
    desk.logins = Logins(CallerKeys(()), desk.clock, required=False)
    assert status(desk.log_in(ADMIN)) == 400
