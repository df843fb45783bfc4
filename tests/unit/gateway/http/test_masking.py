"""A provider that echoes our key does not give it to callers, however it cuts its stream."""

import json
import re
from collections.abc import Callable

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.gateway.http.masking import StreamMask, masked, masked_error, spellings

KEY = b"sk-canary-0123456789"


def fed(pieces: list[bytes], key: bytes = KEY) -> bytes:
    mask = StreamMask((key,))
    return b"".join(mask.feed(piece) for piece in pieces) + mask.end()


def test_a_key_in_a_whole_reply_is_masked() -> None:
    assert masked(b'{"echo":"Bearer ' + KEY + b'"}', (KEY,)) == b'{"echo":"Bearer ***"}'
    assert masked(b"as it was", (KEY,)) == b"as it was"
    assert masked(b"no key, nothing to mask", (b"",)) == b"no key, nothing to mask"


@given(
    st.lists(st.sampled_from([b"x", KEY, KEY[:7], b"sk-c", b"\n"]), max_size=8),
    st.lists(st.integers(1, 9), max_size=40),
)
def test_a_streamed_key_is_masked_wherever_it_is_cut_and_nothing_else_changes(
    parts: list[bytes], cuts: list[int]
) -> None:
    text = b"".join(parts)
    pieces, at = [], 0
    for size in cuts:
        pieces.append(text[at : at + size])
        at += size
    pieces.append(text[at:])
    given_on = fed(pieces)
    assert KEY not in given_on
    assert given_on == masked(text, (KEY,))


@given(
    st.lists(st.sampled_from([b"x", KEY, KEY[:7], b"other-secret", b"other-", b"\n"]), max_size=8), st.integers(1, 9)
)
def test_several_secrets_are_masked_wherever_they_are_cut(parts: list[bytes], size: int) -> None:
    text, secrets = b"".join(parts), (KEY, b"other-secret")
    mask = StreamMask(secrets)
    given_on = b"".join(mask.feed(text[at : at + size]) for at in range(0, len(text), size)) + mask.end()
    assert given_on == masked(text, secrets)


def test_a_usual_key_has_one_spelling() -> None:
    assert spellings(KEY) == (KEY,)
    assert spellings(b"") == (b"",)


@pytest.mark.parametrize("key", ["ab/cd+ef==", 'q"uo\\te', "<&'`>", "schl\u00fcssel"])
@pytest.mark.parametrize(
    "spell",
    [
        json.dumps,
        lambda text: orjson.dumps(text).decode(),
        lambda text: json.dumps(text).replace("/", "\\/"),
        lambda text: re.sub(r"[+<>&'`]", lambda match: f"\\u{ord(match[0]):04X}", json.dumps(text)),
        lambda text: re.sub(r"[+<>&'`]", lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text)).replace("/", "\\/"),
        lambda text: '"' + "".join(c if c.isalnum() and c.isascii() else f"\\u{ord(c):04x}" for c in text) + '"',
    ],
)
def test_a_key_is_masked_in_every_usual_spelling(key: str, spell: Callable[[str], str]) -> None:
    spelt = spell(key)
    assert json.loads(spelt) == key
    assert masked(spelt.encode(), spellings(key.encode())) == b'"***"'


def test_an_error_is_masked_however_its_letters_are_spelt() -> None:
    odd = "".join(f"\\u{letter:04x}" for letter in KEY)
    body = f'{{"error": {{"message": "wrong key {odd}"}}}}'.encode()
    assert json.loads(masked_error(body, (KEY,))) == {"error": {"message": "wrong key ***"}}
    for other in (b'{"a": "x\\ny"}', b"<html>\\</html>", b""):
        assert masked_error(other, (KEY,)) == other


def test_nothing_is_held_back_for_longer_than_it_may_be_a_key() -> None:
    mask = StreamMask((KEY,))
    assert mask.feed(b"data: hello\n\n") == b"data: hello\n\n"
    assert mask.feed(b"data: sk-c") == b"data: "
    assert mask.feed(b"ool\n\n") == b"sk-cool\n\n"


def test_where_nothing_is_secret_a_stream_passes_as_it_is() -> None:
    mask = StreamMask(())
    assert mask.feed(b"data: none\n\n") == b"data: none\n\n"
    assert mask.is_empty
    assert mask.end() == b""
