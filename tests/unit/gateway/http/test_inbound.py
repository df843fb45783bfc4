"""The callers' side of HTTP: whatever comes in whatever pieces is served in order, or refused and closed."""

import asyncio
import gc
import itertools
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import ManualClock
from tickmind.gateway.http.exchange import Head, Request, Responder
from tickmind.gateway.http.head_memo import HeadMemo
from tickmind.gateway.http.inbound import MAX_PIPELINED, MAX_URL_BYTES, InboundConnection
from tickmind.gateway.settings.config import WireConfig

HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: here\r\n"


class FakeTransport:
    def __init__(self) -> None:
        self.written = b""
        self.closed = self.aborted = False
        self.reading = True

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = self.closed = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return self.closed

    def can_write_eof(self) -> bool:
        return False

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else None


class Caller:
    """A connection with whatever the handler was given."""

    def __init__(self, *, at_once: bool = True, heads: HeadMemo[Head] | None = None, **wire: Any) -> None:
        self.clock = ManualClock()
        self.seen: list[Request] = []
        self.responders: list[Responder] = []
        self.at_once = at_once
        self.closed: list[InboundConnection] = []
        self.connection = InboundConnection(
            self._handle, WireConfig(**wire), self.clock, self.closed.append, HeadMemo() if heads is None else heads
        )
        self.transport = FakeTransport()
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]  # a double

    def _handle(self, request: Request, responder: Responder) -> None:
        self.seen.append(request)
        self.responders.append(responder)
        if request.path == b"/fails":
            raise ValueError("a fault of ours")
        if self.at_once:
            responder.reply(200, b"", b"ok %d" % len(self.seen))

    def send(self, data: bytes) -> None:
        self.connection.data_received(data)

    @property
    def written(self) -> bytes:
        return self.transport.written


def post(body: bytes, *headers: bytes) -> bytes:
    lines = b"".join(header + b"\r\n" for header in headers)
    return HEAD + lines + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def test_a_request_is_served_with_its_path_headers_and_body() -> None:
    caller = Caller()
    caller.send(post(b'{"a":1}', b"X-Tickmind-Session: g"))
    (request,) = caller.seen
    assert (request.method, request.path, request.body) == (b"POST", b"/v1/chat/completions", b'{"a":1}')
    assert request.headers[b"x-tickmind-session"] == b"g"
    assert caller.written == b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nok 1"
    assert not caller.transport.closed


@given(st.lists(st.integers(1, 400), max_size=30), st.lists(st.binary(max_size=60), min_size=1, max_size=5))
def test_any_cut_of_any_requests_gives_the_same_replies(cuts: list[int], bodies: list[bytes]) -> None:
    data = b"".join(post(body) for body in bodies)
    whole = Caller()
    whole.send(data)
    cut = Caller()
    for size in cuts:
        if data:
            cut.send(data[:size])
            data = data[size:]
    if data:
        cut.send(data)
    assert [request.body for request in whole.seen] == [request.body for request in cut.seen] == bodies
    assert whole.written == cut.written


@given(st.binary(max_size=400), st.lists(st.integers(1, 100), max_size=6))
def test_no_bytes_raise_out_of_a_connection(noise: bytes, cuts: list[int]) -> None:
    caller = Caller()
    for prefix in (b"", HEAD):
        data = prefix + noise
        for size in cuts:
            caller.send(data[:size])
            data = data[size:]
        caller.send(data)
    assert not caller.written or caller.written.startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize(
    "data",
    [
        HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /admin HTTP/1.1\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        HEAD + b"Content-Length: 3, 3\r\n\r\nabc",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: +3\r\n\r\nabc",
        HEAD + b"Content-Length: 0x3\r\n\r\nabc",
        HEAD + b"Content-Length : 3\r\n\r\nabc",
        HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding\x00: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc",
        HEAD + b"Folded: a\r\n b\r\nContent-Length: 0\r\n\r\n",
        HEAD + b"Bad Name: a\r\nContent-Length: 0\r\n\r\n",
        b"POST /x HTTP/1.1\nHost: a\nContent-Length: 0\n\n",
        b"POST /x HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
        b"POST /x HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 0\r\n\r\n",
        b"POST /x HTTP/2.0\r\nHost: a\r\n\r\n",
        b"POST /x HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nAuthorization: y\r\nContent-Length: 0\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_two_servers_might_read_differently_is_refused_and_the_connection_closed(data: bytes) -> None:
    caller = Caller()
    caller.send(data)
    assert not caller.seen
    assert caller.written.startswith((b"HTTP/1.1 400", b"HTTP/1.1 505", b"HTTP/1.1 413"))
    assert caller.transport.closed
    before = caller.written
    caller.send(post(b"{}"))  # what follows can't be trusted
    assert (caller.seen, caller.written) == ([], before)


def test_a_chunked_request_is_put_together() -> None:
    caller = Caller()
    caller.send(HEAD + b'Transfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n')
    assert caller.seen[0].body == b'{"a":1}'


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"POST /" + b"x" * MAX_URL_BYTES + b" HTTP/1.1\r\nHost: a\r\n\r\n", b"414"),
        (HEAD + b"X: " + b"y" * 3000 + b"\r\nContent-Length: 0\r\n\r\n", b"431"),
        (HEAD + b"".join(b"X%d: y\r\n" % i for i in range(200)) + b"\r\n", b"431"),
        (HEAD + b"Content-Length: 5000\r\n\r\n", b"413"),
        (
            HEAD
            + b"Transfer-Encoding: chunked\r\n\r\n"
            + b"3e8\r\n"
            + b"x" * 1000
            + b"\r\n"
            + b"7d0\r\n"
            + b"y" * 2000,
            b"413",
        ),
    ],
)
def test_what_is_too_large_is_refused_before_it_is_kept(data: bytes, status: bytes) -> None:
    caller = Caller(max_header_bytes=2000, max_request_bytes=2500)
    caller.send(data)
    assert caller.written.startswith(b"HTTP/1.1 " + status)
    assert not caller.seen
    assert caller.transport.closed


def test_pipelined_requests_are_answered_one_at_a_time_and_in_order() -> None:
    caller = Caller(at_once=False)
    caller.send(post(b"1") + post(b"2") + post(b"3"))
    assert [request.body for request in caller.seen] == [b"1"]
    caller.responders[0].reply(200, b"", b"one")
    caller.responders[1].reply(200, b"", b"two")
    caller.responders[2].reply(200, b"", b"three")
    assert caller.written.index(b"one") < caller.written.index(b"two") < caller.written.index(b"three")


def test_a_caller_that_sends_without_reading_is_not_read_any_further() -> None:
    caller = Caller(at_once=False)
    for _ in range(MAX_PIPELINED + 1):
        caller.send(post(b"x"))
    stopped = not caller.transport.reading
    caller.responders[0].reply(200, b"", b"")
    assert (stopped, caller.transport.reading) == (True, True)
    flood = Caller(at_once=False)
    flood.send(post(b"x") * 100)
    assert flood.transport.aborted


def test_slow_headers_and_slow_bodies_end_after_their_time() -> None:
    for beginning, most_s in ((HEAD + b"X", 10.0), (HEAD + b"Content-Length: 100\r\n\r\nab", 30.0)):
        caller = Caller(header_timeout_s=10.0, body_timeout_s=30.0)
        caller.send(beginning)
        caller.clock.advance(most_s - 1)
        caller.send(b"c")  # a drip does not win time
        caller.connection.check(caller.clock.monotonic())
        assert not caller.transport.closed
        caller.clock.advance(1.5)
        caller.connection.check(caller.clock.monotonic())
        assert caller.written.startswith(b"HTTP/1.1 408")
        assert caller.transport.closed


def test_a_silent_connection_is_closed_and_one_that_waits_for_its_reply_is_not() -> None:
    caller = Caller(at_once=False, idle_timeout_s=75.0)
    caller.send(post(b"x"))
    caller.clock.advance(500.0)
    caller.connection.check(caller.clock.monotonic())
    assert not caller.transport.closed
    caller.responders[0].reply(200, b"", b"late")
    caller.clock.advance(76.0)
    caller.connection.check(caller.clock.monotonic())
    assert caller.transport.closed


def test_a_lost_caller_is_told_to_whoever_works_for_it_once() -> None:
    caller = Caller(at_once=False)
    caller.send(post(b"x") + post(b"y"))

    work = Work()
    caller.responders[0].pending = work
    caller.connection.connection_lost(None)
    assert work.left == 1
    assert caller.closed == [caller.connection]
    caller.responders[0].reply(200, b"", b"too late")
    assert caller.written == b""
    assert len(caller.seen) == 1


def test_http_1_0_and_connection_close_are_closed_after_the_reply() -> None:
    for data in (b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"):
        caller = Caller()
        caller.send(data)
        assert b"connection: close" in caller.written
        assert caller.transport.closed


def test_a_streamed_reply_is_framed_in_chunks_and_ends_once() -> None:
    caller = Caller(at_once=False)
    caller.send(post(b"x"))
    responder = caller.responders[0]
    responder.begin(200, b"content-type: text/event-stream\r\n")
    responder.piece(b"data: 1\n\n")
    responder.piece(b"")
    responder.end(b"data: 2\n\n")
    responder.end()
    responder.piece(b"never")
    head, _, body = caller.written.partition(b"\r\n\r\n")
    assert b"transfer-encoding: chunked" in head
    assert body == b"9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n"


class Work:
    """What is being done for a caller."""

    def __init__(self) -> None:
        self.left = 0
        self.held: list[bool] = []

    def gone(self) -> None:
        self.left += 1

    def hold(self) -> None:
        self.held.append(True)

    def go_on(self) -> None:
        self.held.append(False)


@pytest.mark.parametrize(
    "beginning", [HEAD + b"X: ", HEAD + b"X", HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: "]
)
def test_a_header_or_trailer_without_an_end_is_refused_while_it_comes(beginning: bytes) -> None:
    caller = Caller(max_header_bytes=2000, max_request_bytes=2500)
    caller.send(beginning)
    for _ in range(12):
        caller.send(b"y" * 1000)
    assert caller.written.startswith((b"HTTP/1.1 431", b"HTTP/1.1 413"))
    assert caller.transport.closed


def test_a_body_in_small_chunks_costs_its_framing_too() -> None:
    caller = Caller(max_request_bytes=2500)
    caller.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    for _ in range(200):
        caller.send(b"1;" + b"e" * 500 + b"\r\nx\r\n")
    assert caller.written.startswith(b"HTTP/1.1 413")


def test_trailers_are_not_taken_for_headers() -> None:
    caller = Caller()
    caller.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Tickmind-Session: other\r\nHost: b\r\n\r\n")
    assert caller.seen[0].headers.keys() == {b"host", b"transfer-encoding"}


def test_the_answer_to_head_has_no_body_whatever_it_says() -> None:
    caller = Caller()
    caller.send(b"HEAD /v1/chat/completions HTTP/1.1\r\nHost: a\r\n\r\n")
    assert caller.written == b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n"


def test_connect_is_refused_once() -> None:
    caller = Caller()
    caller.send(b"CONNECT elsewhere:443 HTTP/1.1\r\nHost: elsewhere:443\r\n\r\n")
    assert caller.seen == []
    assert caller.written.startswith(b"HTTP/1.1 501")
    assert caller.written.count(b"HTTP/1.1") == 1
    assert caller.transport.closed


UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n"


@pytest.mark.parametrize("at_once", [True, False])
def test_an_offer_to_upgrade_is_passed_over_and_the_request_is_served(at_once: bool) -> None:
    caller = Caller(at_once=at_once)
    caller.send(b"GET /metrics HTTP/1.1\r\nHost: a\r\n" + UPGRADE + b"\r\nwhatever")
    if not at_once:
        caller.responders[0].reply(200, b"", b"late")
    assert caller.written.startswith(b"HTTP/1.1 200 OK\r\nconnection: close\r\n")
    caller.send(post(b"{}"))
    assert (len(caller.seen), caller.written.count(b"HTTP/1.1")) == (1, 1)


def test_an_offer_to_upgrade_with_a_body_is_refused_once() -> None:
    caller = Caller()
    caller.send(HEAD + UPGRADE + b"Content-Length: 2\r\n\r\n{}")
    assert (caller.seen, caller.written[:12], caller.written.count(b"\r\n\r\n")) == ([], b"HTTP/1.1 501", 1)


def test_what_follows_a_request_that_closes_is_not_read_and_does_not_end_its_reply() -> None:
    caller = Caller(at_once=False)
    caller.send(post(b"x", b"Connection: close") + b"\r\nGET /more HTTP/1.1\r\nHost: a\r\n\r\n")
    caller.send(b"and \x00 so on")
    assert not caller.transport.closed
    caller.responders[0].reply(200, b"", b"whole")
    assert caller.written.endswith(b"whole")
    assert len(caller.seen) == 1


def test_a_stray_line_end_does_not_end_the_reply_under_way() -> None:
    caller = Caller(at_once=False, header_timeout_s=10.0)
    caller.send(post(b"x"))
    caller.send(b"\r\n")
    caller.clock.advance(30.0)
    caller.connection.check(caller.clock.monotonic())
    assert not caller.transport.closed


def test_a_request_that_we_did_not_read_on_is_not_late() -> None:
    caller = Caller(at_once=False, header_timeout_s=10.0)
    for _ in range(MAX_PIPELINED + 1):
        caller.send(post(b"x"))
    caller.send(HEAD)  # was on its way when reading stopped
    caller.clock.advance(30.0)
    caller.connection.check(caller.clock.monotonic())
    assert not caller.transport.closed
    caller.responders[0].reply(200, b"", b"")
    caller.connection.check(caller.clock.monotonic())
    assert not caller.transport.closed
    caller.clock.advance(11.0)
    caller.connection.check(caller.clock.monotonic())
    assert caller.transport.closed


def test_a_caller_that_does_not_read_gets_no_more_replies_until_it_does() -> None:
    caller = Caller()
    caller.send(post(b"x"))
    caller.connection.pause_writing()
    caller.send(post(b"y") + post(b"z"))
    assert (len(caller.seen), caller.transport.reading) == (1, False)
    caller.connection.resume_writing()
    assert (len(caller.seen), caller.transport.reading) == (3, True)
    assert caller.written.count(b"HTTP/1.1 200") == 3


def test_a_caller_that_never_reads_is_dropped() -> None:
    caller = Caller(idle_timeout_s=75.0)
    caller.send(post(b"x"))
    caller.connection.pause_writing()
    caller.clock.advance(76.0)
    caller.connection.check(caller.clock.monotonic())
    assert caller.transport.aborted
    closing = Caller(idle_timeout_s=75.0)
    closing.send(post(b"x", b"Connection: close"))  # closed, but what was written does not go out
    closing.clock.advance(76.0)
    closing.connection.check(closing.clock.monotonic())
    assert closing.transport.aborted


def test_a_fault_of_ours_is_told_to_the_caller_and_the_next_request_is_served(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caller = Caller()
    caller.send(b"GET /fails HTTP/1.1\r\nHost: a\r\n\r\n" + post(b"x"))
    assert caller.written.startswith(b"HTTP/1.1 500")
    assert b"INTERNAL" in caller.written
    assert caller.written.endswith(b"ok 2")


def test_a_streamed_reply_to_http_1_0_is_not_in_chunks() -> None:
    caller = Caller(at_once=False)
    caller.send(b"POST / HTTP/1.0\r\nContent-Length: 1\r\n\r\nx")
    caller.responders[0].begin(200, b"")
    caller.responders[0].piece(b"data: 1\n\n")
    caller.responders[0].end(b"data: 2\n\n")
    head, _, body = caller.written.partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert body == b"data: 1\n\ndata: 2\n\n"
    assert caller.transport.closed


@given(bodies=st.lists(st.binary(max_size=30), min_size=1, max_size=6), cuts=st.lists(st.integers(0, 600), max_size=6))
def test_requests_with_known_heads_are_served_as_the_first_was(bodies: list[bytes], cuts: list[int]) -> None:
    heads: HeadMemo[Head] = HeadMemo()
    Caller(heads=heads).send(post(b"12"))
    assert len(heads) == 1
    caller = Caller(heads=heads)
    data = b"".join(map(post, bodies))
    places = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    for start, end in itertools.pairwise(places):
        caller.send(data[start:end])
    assert [request.body for request in caller.seen] == bodies
    assert all(request.path == b"/v1/chat/completions" for request in caller.seen)
    assert caller.written.count(b"HTTP/1.1 200 OK") == len(bodies)


@pytest.mark.parametrize(
    "head",
    [
        b"Expect: 100-continue\r\nContent-Length: 2",
        b"Connection: close\r\nContent-Length: 2",
        b"Transfer-Encoding: chunked",
    ],
)
def test_heads_that_ask_for_more_than_an_answer_are_always_parsed(head: bytes) -> None:
    heads: HeadMemo[Head] = HeadMemo()
    caller = Caller(heads=heads)
    caller.send(HEAD + head + b"\r\n\r\n" + (b"2\r\nok\r\n0\r\n\r\n" if b"chunked" in head else b"ok"))
    assert [request.body for request in caller.seen] == [b"ok"]
    assert len(heads) == 0


def test_a_known_head_does_not_lift_the_bound_on_the_body() -> None:
    heads: HeadMemo[Head] = HeadMemo()
    Caller(heads=heads).send(post(b"12"))
    caller = Caller(heads=heads, max_request_bytes=100)
    caller.send(post(b"x" * 101))
    assert caller.seen == []
    assert caller.written.startswith(b"HTTP/1.1 413 ")


def test_pipelined_requests_with_known_heads_are_bounded() -> None:
    heads: HeadMemo[Head] = HeadMemo()
    caller = Caller(at_once=False, heads=heads)
    caller.send(post(b"12"))
    caller.send(post(b"34") * (4 * MAX_PIPELINED + 1))
    assert caller.transport.aborted


def test_a_lost_connection_leaves_no_garbage_for_the_collector() -> None:
    caller = Caller()
    caller.send(post(b"12"))
    caller.connection.connection_lost(None)
    caller.connection.data_received(post(b"34"))  # nobody hears it
    assert len(caller.seen) == 1
    holders = {type(holder).__name__ for holder in gc.get_referrers(caller.connection)}
    assert holders.isdisjoint({"method", "HttpRequestParser"})


@pytest.mark.parametrize("end", ["close", "abort"])
def test_a_connection_that_is_closed_before_it_is_made_is_dropped_when_it_is(end):
    """As while its TLS handshake goes on."""
    connection = InboundConnection(lambda *_: None, WireConfig(), ManualClock(), lambda _: None, HeadMemo())
    getattr(connection, end)()
    transport = Mock(spec=asyncio.Transport)
    connection.connection_made(transport)
    transport.abort.assert_called_once_with()
