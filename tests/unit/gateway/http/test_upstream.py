"""The providers' side of HTTP: whatever the cuts and the framing, a listener hears the same reply, and once."""

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.gateway.http.head_memo import HeadMemo
from tickmind.gateway.http.relay import StreamRelay
from tickmind.gateway.http.reply import ReplyHead, UpstreamExchange
from tickmind.gateway.http.upstream import UpstreamAddress, UpstreamConnection, UpstreamPool
from tickmind.llm.http.protocol import ResponseParser

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
KEY = b"sk-canary-1234"


class FakeTransport:
    def __init__(self) -> None:
        self.written = b""
        self.closed = False
        self.reading = True

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class Hearer:
    """Puts together what a caller would get, by the same relay as calls use."""

    def __init__(self, *, framed: bool = True) -> None:
        self.heads: list[tuple[int, int]] = []
        self.text = b""
        self.ends: list[str] = []
        self.passed = 0  # bytes that came with their framing
        self._framed = framed
        self._relay = StreamRelay((KEY,))

    def carried_by(self, exchange: UpstreamExchange) -> None:
        raise AssertionError("it goes by the connection that it was given")

    def head(self, head: ReplyHead, length: int) -> None:
        self.heads.append((head.status, length))

    def chunks(self, data: bytes) -> bool:
        if not self._framed or not self._relay.passes(data):
            return False
        self.passed += len(data)
        self.text += dechunked(data)
        return True

    def data(self, pieces: list[bytes]) -> None:
        self.text += self._relay.feed(b"".join(pieces))

    def done(self) -> None:
        self.text += self._relay.end()
        self.ends.append("done")

    def whole(self, head: ReplyHead, body: bytes) -> None:
        self.head(head, len(body))
        self.data([body])
        self.done()

    def broken(self, reason: str) -> None:
        self.ends.append(reason)


def dechunked(data: bytes) -> bytes:
    """What a strict reader makes of whole chunks."""
    parser = ResponseParser.after_head(200, {}, None)
    return b"".join(parser.feed(data + b"0\r\n\r\n"))


@pytest.fixture(scope="module")
def pool() -> Iterator[UpstreamPool]:
    loop = asyncio.new_event_loop()
    endpoint = UpstreamAddress.of("http://127.0.0.1:1/v1")
    yield UpstreamPool(endpoint, loop=loop, max_connections=8, tls_context=no_tls, heads=HeadMemo())
    loop.close()


def no_tls() -> Any:
    raise AssertionError("nothing is dialled")


def heard(pool: UpstreamPool, data: bytes, cuts: list[int], *, framed: bool = True) -> Hearer:
    connection = UpstreamConnection(pool)
    connection.connection_made(FakeTransport())  # type: ignore[arg-type]  # a double
    hearer = Hearer(framed=framed)
    connection.start(b"POST", hearer, reused=False)
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    for start, end in itertools.pairwise(places):
        connection.data_received(data[start:end])
    return hearer


def chunked(pieces: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces if piece) + b"0\r\n\r\n"


events = st.lists(
    st.one_of(
        st.just(b'data: {"a":"word "}\n\n'),
        st.just(b"data: " + KEY + b"\n\n"),
        st.sampled_from([KEY[:5], KEY[5:], KEY[:1], b"\n", b"data: [DONE]\n\n", b"x\r\n"]),
        st.binary(max_size=12),
    ),
    max_size=12,
)


@given(pieces=events, cuts=st.lists(st.integers(0, 400), max_size=8))
def test_a_stream_in_any_chunks_and_cuts_is_the_same_with_and_without_its_framing(
    pool: UpstreamPool, pieces: list[bytes], cuts: list[int]
) -> None:
    data = STREAM + chunked(pieces)
    passed, plain = heard(pool, data, cuts), heard(pool, data, cuts, framed=False)
    assert passed.ends == plain.ends == ["done"]
    assert passed.text == plain.text == b"".join(pieces).replace(KEY, b"***")


def test_whole_events_pass_with_their_framing(pool: UpstreamPool) -> None:
    pieces = [b"data: %d\n\n" % number for number in range(20)]
    first = heard(pool, STREAM + chunked(pieces), [len(STREAM)])
    again = heard(pool, STREAM + chunked(pieces), [])  # the head is known now
    framing = len(chunked(pieces)) - len(b"0\r\n\r\n")
    assert (first.passed, again.passed) == (framing, framing)


@pytest.mark.parametrize("bad", [b"5\r\nab\n\n\nXX", b"0x5\r\nabcd\n\r\n", b"-5\r\nabcd\n\r\n"])
def test_chunks_that_can_be_read_in_two_ways_are_not_passed_on(pool: UpstreamPool, bad: bytes) -> None:
    hearer = heard(pool, STREAM + b"6\r\nabcde\n\r\n" + bad + b"0\r\n\r\n", [len(STREAM)])
    assert bad not in hearer.text
    assert hearer.passed <= len(b"6\r\nabcde\n\r\n")
    assert hearer.ends != ["done"]


def test_an_extension_of_a_chunk_is_not_passed_on(pool: UpstreamPool) -> None:
    hearer = heard(pool, STREAM + b"6\r\nabcde\n\r\n" + b"5;a=b\nX\r\nabcd\n\r\n0\r\n\r\n", [len(STREAM)])
    assert hearer.passed == len(b"6\r\nabcde\n\r\n")
    assert (hearer.text, hearer.ends) == (b"abcde\nabcd\n", ["done"])


class SlowHearer(Hearer):
    """Stops reading with the first bytes that it gets, as for a caller that does not keep up."""

    connection: UpstreamConnection

    def data(self, pieces: list[bytes]) -> None:
        super().data(pieces)
        self.connection.pause()


@pytest.mark.parametrize("cuts", [1, 2])
def test_a_connection_that_was_held_back_for_a_slow_caller_is_read_again_for_the_next(
    pool: UpstreamPool, cuts: int
) -> None:
    connection, transport, hearer = UpstreamConnection(pool), FakeTransport(), SlowHearer(framed=False)
    hearer.connection = connection
    connection.connection_made(transport)  # type: ignore[arg-type]  # a double
    connection.start(b"POST", hearer, reused=False)
    data = STREAM + chunked([b"data: a\n\n"] * 5)
    for number in range(cuts):
        connection.data_received(data[number * len(data) // cuts : (number + 1) * len(data) // cuts])
    assert hearer.ends == ["done"]
    assert transport.reading


@given(body=st.binary(max_size=60), cuts=st.lists(st.integers(0, 120), max_size=5))
def test_a_whole_reply_is_heard_once_whether_its_head_is_known_or_not(
    pool: UpstreamPool, body: bytes, cuts: list[int]
) -> None:
    data = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    for places in ([], cuts):
        hearer = heard(pool, data, places)
        assert hearer.heads == [(200, len(body))]
        assert hearer.text == body
        assert hearer.ends == ["done"]


def test_a_reply_with_more_than_its_length_is_not_followed_by_another_on_the_same_connection(
    pool: UpstreamPool,
) -> None:
    data = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\nok"
    heard(pool, data, [])
    idle = pool.statistics()["idle"]
    assert heard(pool, data + b"HTTP/1.1 200 OK", []).ends == ["done"]
    assert pool.statistics()["idle"] == idle
