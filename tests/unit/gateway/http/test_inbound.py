"""The callers' side of HTTP: whatever comes in whatever pieces is served in order, or refused and closed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import ManualClock
from tickmind.gateway.http.inbound import MAX_PIPELINED, MAX_URL_BYTES, InboundConnection, Request, Responder
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

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else None


class Caller:
    """A connection with whatever the handler was given."""

    def __init__(self, *, at_once: bool = True, **wire: Any) -> None:
        self.clock = ManualClock()
        self.seen: list[Request] = []
        self.responders: list[Responder] = []
        self.at_once = at_once
        self.closed: list[InboundConnection] = []
        self.connection = InboundConnection(self._handle, WireConfig(**wire), self.clock, self.closed.append)
        self.transport = FakeTransport()
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]  # a double

    def _handle(self, request: Request, responder: Responder) -> None:
        self.seen.append(request)
        self.responders.append(responder)
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
    for beginning in (HEAD + b"X", HEAD + b"Content-Length: 100\r\n\r\nab"):
        caller = Caller(header_timeout_s=10.0)
        caller.send(beginning)
        caller.clock.advance(9.0)
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

    class Work:
        left = 0

        def gone(self) -> None:
            self.left += 1

        def hold(self) -> None: ...

        def go_on(self) -> None: ...

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
