"""A gateway as a picture in the terminal: it fits, and what others named stays harmless."""

import http.server
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tickmind.base import ConfigError, Secret
from tickmind.cli.gateway.figures import GatewayAwayError, GatewayFigures, Overview
from tickmind.cli.gateway.picture import count, divide, duration, money, picture

TIMES = {"count": 3, "p50Ms": 12.0, "p99Ms": 1500.0}
NASTY = "\x1b[2Jevil[/bold][red]\x07\nsecond line"


def figures(name="village", rows=1):
    """An overview in which everything that others named has one name."""
    return {
        "at": 1_000_000,
        "upMs": 61_000,
        "sharing": "fair",
        "shared": {"problem": ""},
        "stopping": False,
        "requests": 12,
        "answered": 10,
        "queued": 2, "expected": 10, "waitMs": 94_000,
        "inFlight": 1,
        "fallbacks": 3,
        "total": {"usd": 0.5},
        "lately": {"servedPerS": 1.5, "fallbacks": 1, "usd": 0.1, "waits": TIMES},
        "lanes": [
            {
                "provider": name, "model": name, "state": "limited", "inFlight": 1, "concurrency": 4.0, "waiting": 2,
                "limitedForMs": 9000, "reason": name, "served": 1, "limited": 2, "failed": 3,
                "limits": [{"unit": "tokens", "limit": 12_000, "perS": 60.0, "used": 600.0}],
            }
        ] * rows,
        "chains": [
            {
                "model": name, "chain": [{"provider": name}], "depth": 2, "capacity": 100,
                "expected": 10, "waitMs": 94_000,
                "waiting": [{"session": name, "jobs": 2}],
            }
        ] * rows,
        "sessions": [
            {
                "session": name, "weight": 2.0, "share": 0.25, "dueShare": 0.5, "served": 7, "queued": 1, "deferred": 0,
                "waits": TIMES,
            }
        ] * rows,
        "targets": [
            {
                "provider": name, "model": name, "served": 1, "promptTokens": 1, "completionTokens": 1, "usd": 0.0,
                "unpriced": 1, "latencies": TIMES,
            }
        ] * rows,
        "events": [
            {
                "at": 990_000, "kind": "circuit_opened", "provider": name, "model": name, "session": name,
                "forMs": 15_000, "detail": name, "count": 2,
            }
        ] * rows,
    }  # fmt: skip


def drawn(overview, *, width=140, **options):
    console = Console(width=width, force_terminal=False, record=False, color_system=None)
    with console.capture() as capture:
        console.print(picture(Overview.model_validate(overview), "http://x", width=width, **options))
    return capture.get()


def test_the_picture_tells_what_the_overview_holds():
    text = drawn(figures())
    for words in (
        "up 1 min, fair sharing  live",
        "served/s 1.5   waiting 12, about 1.6 min   in flight 1   median wait 12 ms   p99 1.5 s",
        "limited 9.0 s village",
        "600/12K tokens/min",
        "25%, due 50%",
        "2/100",
        "no price",
        "village/village for 15 s: village, asked by village (2 times)",
        "10 s ago",
    ):
        assert words in text


def test_countdowns_go_on_between_two_answers():
    assert "limited 5.0 s" in drawn(figures(), age_s=4.0)
    assert "limited village" in drawn(figures(), age_s=10.0)


def test_a_lost_connection_stands_in_the_title():
    assert "connection lost" in drawn(figures(), problem="connection lost: no answer").splitlines()[0]


@pytest.mark.parametrize("height", [1, 5, 8, 12, 24, 50])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_it_fits_into_the_window(width, height):
    lines = drawn(figures("a-rather-long-name-for-a-game", rows=20), width=width, height=height).splitlines()
    assert len(lines) <= max(2, height)
    assert max(map(len, lines)) <= width


def test_names_of_others_neither_move_the_cursor_nor_style_anything():
    text = drawn(figures(NASTY), width=400)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "evil[/bold][red]" in text
    assert not any(line.startswith("second line") for line in text.splitlines())


@given(st.integers(-5, 100), st.lists(st.integers(0, 60), min_size=5, max_size=5))
def test_rows_are_divided_within_the_lines_and_no_table_gets_more_than_it_has(lines, wanted):
    given_rows = divide(lines, wanted)
    assert all(0 <= rows <= want for rows, want in zip(given_rows, wanted, strict=True))
    used = sum(rows + 2 for rows in given_rows if rows)
    assert used <= max(0, lines)
    if lines >= sum(want + 2 for want in wanted if want):
        assert given_rows == wanted


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (count(999), "999"), (count(9_999), "9,999"), (count(12_345), "12.3K"), (count(1_000_000), "1M"),
        (duration(0), "0 s"), (duration(999), "999 ms"), (duration(1_200), "1.2 s"), (duration(45_000), "45 s"),
        (duration(59_700), "1 min"), (duration(9_000_000), "2.5 h"), (duration(2 * 86_400_000), "2 d"),
        (money(0), "$0.00"), (money(12.5), "$12.50"), (money(0.0123), "$0.0123"), (money(0.00001), "$1e-05"),
    ],
)  # fmt: skip
def test_figures_are_short(made, words):
    assert made == words


@pytest.mark.parametrize(
    "url", ["ftp://x", "127.0.0.1:8766", "http://", "http://a:b@c", "http://x:99999", "http://x y"]
)
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(ConfigError, match="--url takes the address of a gateway"):
        GatewayFigures(url, Secret(""))


def test_a_key_that_can_not_be_sent_is_refused_without_showing_it():
    with pytest.raises(ConfigError) as caught:
        GatewayFigures("http://127.0.0.1:1", Secret("sk-tm-secret\r\nX-Evil: 1"))
    assert "sk-tm" not in str(caught.value)


@pytest.fixture
def answering():
    """A server that gives one answer to everything, and the requests that it got."""
    servers = []

    def make(status, body=b"", **headers):
        class Handler(http.server.BaseHTTPRequestHandler):
            seen: list[str] = []  # noqa: RUF012 - one class for each server

            def do_GET(self):
                self.seen.append(self.headers.get("authorization", ""))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_address[1]}", Handler.seen

    yield make
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"at": "x"}'])
def test_what_is_no_gateway_is_told_from_one(answering, body):
    url, _ = answering(200, body)
    with pytest.raises(GatewayAwayError, match="no gateway of this version"):
        GatewayFigures(url, Secret("")).ask()


def test_a_redirect_gets_no_key(answering):
    elsewhere, seen = answering(200)
    url, _ = answering(302, Location=elsewhere)
    with pytest.raises(GatewayAwayError, match="status 302"):
        GatewayFigures(url, Secret("sk-tm-not-for-others")).ask()
    assert seen == []
