"""Heads are known again only if all that matters is the same, and then say just what the parser would say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.gateway.http.head_memo import MAX_HEAD_BYTES, MAX_HEADS, HeadMemo, Recall

HEAD = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\nX-A: b\r\n\r\n"


def test_a_head_is_known_again_with_any_length() -> None:
    memo: HeadMemo[str] = HeadMemo()
    memo.keep(HEAD % 5 + b"12345", "it")
    for length in (0, 5, 123456):
        known = memo.find(HEAD % length + b"x")
        assert known == ("it", len(HEAD % length), length)


def test_a_head_without_a_length_is_known_by_all_of_its_bytes() -> None:
    memo: HeadMemo[str] = HeadMemo()
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    memo.keep(head, "it")
    assert memo.find(head + b"5\r\n") == ("it", len(head), -1)
    assert memo.find(head.replace(b"200", b"201")) is None


@given(at=st.integers(0, len(HEAD % 5) - 1), byte=st.integers(0, 255))
def test_no_other_byte_than_a_digit_of_the_length_may_differ(at: int, byte: int) -> None:
    memo: HeadMemo[str] = HeadMemo()
    head = HEAD % 5
    memo.keep(head, "it")
    other = head[:at] + bytes([byte]) + head[at + 1 :]
    known = memo.find(other)
    if known is not None:
        length = int(other.split(b"Content-Length: ")[1].split(b"\r\n")[0])
        assert known == ("it", len(head), length)
        assert other == HEAD % length


@given(extra=st.binary(max_size=8))
def test_an_unfinished_head_is_never_known(extra: bytes) -> None:
    memo: HeadMemo[str] = HeadMemo()
    memo.keep(HEAD % 5, "it")
    unfinished = (HEAD % 5)[:-4] + extra.replace(b"\n", b"")
    assert memo.find(unfinished) is None


@pytest.mark.parametrize(
    "lines",
    [
        b"Content-Length: 5\r\nContent-Length: 5",
        b"X-Length: 5\r\nContent-Length: 5",
        b"Content-Length:5",
        b"Content-Length: 5 ",
        b"Content-Length: +5",
        b"X-Content-Length: 5",
        b"CONTENT-LENGTH: 5",
        b"X: " + b"x" * MAX_HEAD_BYTES,
    ],
)
def test_a_length_in_an_odd_form_is_left_to_the_parser(lines: bytes) -> None:
    memo: HeadMemo[str] = HeadMemo()
    data = b"POST / HTTP/1.1\r\n" + lines + b"\r\n\r\n12345"
    memo.keep(data, "it")
    assert memo.find(data) is None


def test_a_length_of_too_many_digits_is_left_to_the_parser() -> None:
    memo: HeadMemo[str] = HeadMemo()
    memo.keep(HEAD % 5, "it")
    assert memo.find(HEAD % 10**12) is None


def test_what_is_kept_is_bounded() -> None:
    memo: HeadMemo[int] = HeadMemo()
    for number in range(3 * MAX_HEADS):
        memo.keep(b"GET /%d HTTP/1.1\r\n\r\n" % number, number)
        assert len(memo) <= MAX_HEADS


OTHER = b"POST / HTTP/1.1\r\nHost: there\r\nContent-Length: %d\r\n\r\n"
PIECES = st.sampled_from(
    [
        HEAD % 5,
        HEAD % 77,
        OTHER % 5,
        OTHER % 0,
        HEAD % 10**12,
        (HEAD % 5)[:-3],
        HEAD[:40],
        b"GET / HTTP/1.1\r\n\r\n",
        b"12345",
    ]
)
CHANGES = st.tuples(st.integers(0, 200), st.integers(0, 255)) | st.none()


@given(st.lists(st.tuples(PIECES, PIECES, CHANGES), max_size=12))
def test_a_connection_recalls_just_what_the_memo_knows(came: list[tuple[bytes, bytes, tuple[int, int] | None]]) -> None:
    memo: HeadMemo[str] = HeadMemo()
    memo.keep(HEAD % 5, "it")
    memo.keep(OTHER % 5, "other")
    memo.keep(b"GET / HTTP/1.1\r\n\r\n", "bare")
    recall = Recall(memo)
    for first, second, change in came:
        data = bytearray(first + second)
        if change is not None and change[0] < len(data):
            data[change[0]] = change[1]
        assert recall.find(bytes(data)) == memo.find(bytes(data))
