"""Chunks that are passed on with their framing: only whole ones, of whole lines, are counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.llm.http.protocol import SEVERAL_BYTES, ResponseParser

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LINES = st.binary(max_size=300).map(lambda text: text + b"\n")
RESTS = [b"", b"0\r\n\r\n", b"0\r\n", b"5\r\nab", b"zz\r\n", b"3\r\nabc\r\n"]


def framed(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)


def counted(data: bytes) -> int:
    parser = ResponseParser()
    assert parser.feed(HEAD) == []
    return parser.whole_chunks(data)


def are_whole_lines(data: bytes) -> bool:
    """Read chunks one by one."""
    while data:
        size, _, rest = data.partition(b"\r\n")
        length = int(size, 16)
        if not length or rest[length - 1 : length + 2] != b"\n\r\n":
            return False
        data = rest[length + 2 :]
    return True


@given(st.lists(LINES, max_size=20), st.sampled_from(RESTS))
def test_all_chunks_of_whole_lines_count_and_nothing_behind_them(chunks: list[bytes], rest: bytes) -> None:
    whole = framed(*chunks)
    assert counted(whole + rest) == len(whole)


@given(st.lists(LINES, min_size=3, max_size=20), st.data())
def test_what_counts_of_spoilt_chunks_are_whole_chunks(chunks: list[bytes], data: st.DataObject) -> None:
    whole = framed(*chunks)
    place = data.draw(st.integers(0, len(whole) - 1))
    spoilt = whole[:place] + bytes([data.draw(st.integers(0, 255))]) + whole[place + 1 :]
    assert are_whole_lines(spoilt[: counted(spoilt)])


@pytest.mark.parametrize("line", [b"x" * SEVERAL_BYTES, b"a\r\n" * SEVERAL_BYTES, b"0\r\n\r\n" * SEVERAL_BYTES])
def test_breaks_within_a_chunk_are_no_framing(line: bytes) -> None:
    first = framed(line + b"\n")
    whole = first + framed(b"short\n")
    assert counted(whole) == len(whole)
    assert counted(whole[:-1]) == len(first)
    assert counted(framed(line + b" ")) == 0


def test_a_size_that_is_none_before_an_empty_chunk_is_left_to_the_parser() -> None:
    assert counted(b"z" * SEVERAL_BYTES + b"\r\r\n") == 0
    whole = framed(b"line\n" * SEVERAL_BYTES)
    assert counted(whole + b"0\r\r\n") == len(whole)
