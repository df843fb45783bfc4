import itertools

from hypothesis import given
from hypothesis import strategies as st

from tickmind.llm.http.sse import SseDecoder

line_ends = st.sampled_from([b"\n", b"\r\n", b"\r"])
payloads = st.lists(
    st.text(alphabet=st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1, max_size=12)
    .map(str.encode)
    .filter(lambda data: not data.startswith((b" ", b"\xef\xbb\xbf"))),
    max_size=6,
)


def read(pieces: list[bytes]) -> list[bytes]:
    decoder = SseDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.finish()


@given(payloads, line_ends, st.lists(st.integers(0, 400), max_size=12), st.booleans())
def test_events_are_the_same_however_the_stream_is_cut(
    events: list[bytes], end: bytes, places: list[int], last_is_cut_short: bool
) -> None:
    stream = b"".join(b"data: " + event + end + end for event in events)
    if last_is_cut_short and events:
        stream = stream[: -2 * len(end)]
    marks = sorted({place % (len(stream) + 1) for place in places} | {0, len(stream)})
    pieces = [stream[a:b] for a, b in itertools.pairwise(marks)]
    assert read(pieces) == events
    assert read([bytes([byte]) for byte in stream]) == events


def test_comments_and_other_fields_are_skipped() -> None:
    assert read([b": ping\nevent: x\nid: 1\nretry: 5\ndata: a\n\n: bye\n\n"]) == [b"a"]


def test_several_data_lines_are_one_event() -> None:
    assert read([b"data: a\ndata:b\ndata\n\n"]) == [b"a\nb\n"]


def test_an_event_without_data_is_none() -> None:
    assert read([b"event: x\n\n\n\ndata: a\n\n"]) == [b"a"]


def test_an_event_comes_as_soon_as_its_blank_line_does() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\r\n\r") == [b"a"]
    assert decoder.feed(b"\ndata: b\n\n") == [b"b"]


def test_a_byte_order_mark_is_ignored() -> None:
    assert read([b"\xef\xbb", b"\xbfdata: a\n\n"]) == [b"a"]
