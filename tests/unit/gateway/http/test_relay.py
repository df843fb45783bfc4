"""A streamed reply: the caller gets what it would get alone, and its tokens are counted however they come."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.gateway.http.relay import StreamRelay, error_of_stream

DONE = b"data: [DONE]\n\n"
USAGE = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7}}


def event(document: Any, end: bytes = b"\n\n") -> bytes:
    return b"data: " + json.dumps(document).encode() + end


def delta(text: str, **fields: Any) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "model": "m", "choices": [{"index": 0, "delta": {"content": text, **fields}}]}


def relayed(stream: bytes, cuts: list[int], **options: Any) -> tuple[bytes, StreamRelay]:
    relay = StreamRelay((b"sk-secret",), **options)
    said = b""
    for size in cuts:
        said += relay.feed(stream[:size])
        stream = stream[size:]
    return said + relay.feed(stream) + relay.end(), relay


@given(st.lists(st.integers(1, 80), max_size=30), st.sampled_from([b"\n\n", b"\r\n\r\n"]))
def test_an_event_of_token_counts_that_the_caller_did_not_ask_for_is_left_out_however_it_is_cut(cuts, end):
    texts = b"".join(event(delta(text), end) for text in ("Run", "!", '"usage" "choices":[]'))
    filters = event({"choices": [], "prompt_filter_results": []}, end)
    last = b"data: [DONE]" + end
    said, relay = relayed(filters + texts + event(USAGE, end) + last, cuts, hides_usage=True)
    assert said == filters + texts + last
    assert relay.counts(99) == (5, 7)


@given(st.lists(st.integers(1, 80), max_size=30))
def test_what_the_caller_asked_for_passes_as_it_is(cuts):
    stream = event(delta("Run!")) + event(USAGE) + DONE
    said, relay = relayed(stream, cuts)
    assert said == stream
    assert relay.counts(99) == (5, 7)


def test_token_counts_beside_an_answer_pass():
    last = event({**delta("!"), "usage": {"prompt_tokens": 1, "completion_tokens": 2}})
    said, relay = relayed(event(delta("Run")) + last + DONE, [10, 50], hides_usage=True)
    assert said.endswith(last + DONE)
    assert relay.counts(99) == (1, 2)


def test_an_event_without_an_end_is_not_held_for_ever():
    relay = StreamRelay((b"",), hides_usage=True)
    assert relay.feed(b"data: " + b"x" * 1000) == b""
    assert len(relay.feed(b"x" * 100_000)) > 100_000


@pytest.mark.parametrize("framed", [True, False])
@pytest.mark.parametrize(
    ("texts", "tokens"), [(["word "] * 300, 300), (["many words at once " * 10] * 20, 950), (["x" * 9000], 2250)]
)
def test_deltas_are_counted_by_number_and_by_length(framed: bool, texts: list[str], tokens: int) -> None:
    relay = StreamRelay((b"sk-secret",))
    for piece in [event(delta("", role="assistant")), *(event(delta(text)) for text in texts), DONE]:
        if framed:
            assert relay.passes(b"%x\r\n%b\r\n" % (len(piece), piece))
        else:
            relay.feed(piece)
    prompt, completion = relay.counts(42)
    assert prompt == 42
    assert completion == pytest.approx(tokens, rel=0.3, abs=5)


def test_a_stream_of_anything_has_a_count_that_is_not_negative():
    for stream in (b"", b"data:" * 100, b"\n\n", b"data: {\n\n", DONE, b"data: []\n\n" * 500):
        relay = StreamRelay((b"",))
        relay.feed(stream)
        assert relay.counts(0)[1] >= 0


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'data: {"error":{"code":429}}\n\n', b'{"error":{"code":429}}'),
        (b': wait\n\nevent: error\ndata: {"error":{}}\n\n', b'{"error":{}}'),
        (event(delta("Run")) + b'data: {"error":{}}\n\n', b""),
        (b'data: {"error":null,"choices":[]}\n\n', b""),
        (b'data: {"error":{"x":', b""),
        (b": wait\n\n", b""),
    ],
)
def test_only_an_error_in_the_first_event_is_the_reply(data: bytes, found: bytes) -> None:
    assert error_of_stream(data) == found
