import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.llm.http.protocol import HttpCutError, HttpFormatError, ResponseParser

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
bodies = st.lists(st.binary(min_size=1, max_size=30), max_size=6)


def parse(pieces: list[bytes], *, ended: bool = False) -> tuple[ResponseParser, bytes]:
    parser = ResponseParser()
    body = b"".join(part for piece in pieces for part in parser.feed(piece))
    if ended:
        parser.end()
    return parser, body


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in itertools.pairwise(marks)]


def chunked(parts: list[bytes]) -> bytes:
    return b"".join(b"%x;note=1\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\nTrailer: x\r\n\r\n"


@given(bodies, st.lists(st.integers(0, 600), max_size=12), st.sampled_from(["length", "chunked", "close"]))
def test_a_response_is_read_the_same_however_it_is_cut(parts: list[bytes], places: list[int], form: str) -> None:
    whole = b"".join(parts)
    if form == "chunked":
        wire = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(parts)
    elif form == "length":
        wire = HEAD + b"Content-Length: %d\r\n\r\n" % len(whole) + whole
    else:
        wire = HEAD + b"\r\n" + whole
    parser, body = parse(cut(wire, places), ended=form == "close")
    assert (parser.status, parser.done, body) == (200, True, whole)
    assert parser.headers["content-type"] == "text/plain"
    assert parser.reusable is (form != "close")


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_garbage_is_an_error_or_waits_for_more(data: bytes, places: list[int]) -> None:
    try:
        parser, _ = parse(cut(data, places))
    except HttpFormatError:
        return
    assert not parser.done or data.startswith(b"HTTP/1.")


@given(st.binary(max_size=60), st.lists(st.integers(0, 200), max_size=5))
def test_garbage_chunks_never_raise_anything_else(data: bytes, places: list[int]) -> None:
    try:
        parse([HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *cut(data, places)])
    except HttpFormatError:
        return


@pytest.mark.parametrize(
    "head",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
        HEAD + b"no colon\r\n\r\n",
        HEAD + b" folded: x\r\n\r\n",
        HEAD + b"X: " + b"a" * 70_000,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n+1\r\na\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
    ],
)
def test_what_is_not_http_is_refused(head: bytes) -> None:
    with pytest.raises(HttpFormatError):
        parse([head])


def test_interim_responses_are_passed_over() -> None:
    parser, body = parse([b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"Content-Length: 2\r\n\r\nok"])
    assert (parser.status, body) == (200, b"ok")


def test_a_cut_response_is_an_error() -> None:
    parser, _ = parse([HEAD + b"Content-Length: 5\r\n\r\nab"])
    with pytest.raises(HttpCutError):
        parser.end()


def test_a_connection_with_more_than_the_reply_is_not_reused() -> None:
    parser, body = parse([HEAD + b"Content-Length: 2\r\n\r\nokHTTP/1.1 200"])
    assert (body, parser.done, parser.reusable) == (b"ok", True, False)


def test_a_connection_that_says_close_is_not_reused() -> None:
    parser, _ = parse([HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\nok"])
    assert parser.done
    assert not parser.reusable
