"""Requests and replies are read the same whether a decoder passes over most of them or all is parsed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import Secret
from tickmind.gateway.call import Call
from tickmind.gateway.http.outcomes import tokens_of
from tickmind.gateway.queue.job import Result
from tickmind.gateway.refusal import RefusedError
from tickmind.gateway.routing.plan import Target
from tickmind.gateway.settings.config import ApiKey, Provider
from tickmind.gateway.surface.documents import is_simple
from tickmind.gateway.surface.openai import DEFAULT_REPLY_TOKENS, OpenAIForm, read_chat

ODD: st.SearchStrategy[object] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.just([])
)
NUMBERS = st.integers(-2, 2**70) | ODD
CHATS = st.fixed_dictionaries(
    {},
    optional={
        "model": st.text(max_size=8) | ODD,
        "messages": st.lists(st.just({"role": "user", "content": 'say "hello" [{'}), max_size=2) | ODD,
        "stream": ODD,
        "max_tokens": NUMBERS,
        "max_completion_tokens": NUMBERS,
        "temperature": ODD,
    },
)
USAGES = st.dictionaries(
    st.sampled_from(["prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "details"]), NUMBERS
)
TARGET = Target(Provider("mock", "http://127.0.0.1/v1"), ApiKey("key", Secret("")), "its-own")


def whole(document: dict[str, Any]) -> bytes:
    """The same document in a form that is parsed whole: with a letter that is not ASCII."""
    return json.dumps({**document, "x": "é"}, ensure_ascii=False).encode()


def read(body: bytes) -> tuple[str, bool, int] | str:
    try:
        model, streamed, prompt_tokens, reply_tokens = read_chat(body)
    except RefusedError as exc:
        return exc.refusal.message
    assert prompt_tokens == len(body) // 4
    return model, streamed, reply_tokens


def call_of(body: bytes) -> Call:
    return Call(None, None, OpenAIForm(), body, "asked", False)  # type: ignore[arg-type] # a form asks for the body only


@given(CHATS)
def test_a_request_means_the_same_however_it_is_read(document: dict[str, Any]) -> None:
    body = json.dumps(document).encode()
    assert is_simple(body)
    assert not is_simple(whole(document))
    assert read(body) == read(whole(document))


def test_a_usual_request_is_read_for_what_matters() -> None:
    document = {"model": "mock", "messages": [{"role": "user", "content": "hello"}], "stream": True, "max_tokens": 64}
    assert read(json.dumps(document).encode()) == ("mock", True, 64)
    del document["stream"], document["max_tokens"]
    assert read(json.dumps(document).encode()) == ("mock", False, DEFAULT_REPLY_TOKENS)


@given(st.none() | USAGES | ODD)
def test_the_tokens_of_a_reply_are_the_same_however_it_is_read(usage: object) -> None:
    document = {"choices": [{"message": {"content": 'a "usage":{"prompt_tokens":1}'}}], "usage": usage}
    for body in (json.dumps(document).encode(), whole(document)):
        same, outcome = OpenAIForm().reply(call_of(b""), TARGET, body)
        assert (same, outcome.result) == (body, Result.OK)
        assert (outcome.prompt_tokens, outcome.completion_tokens) == tokens_of(json.loads(body))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"choices":[}',
        b'{"choices":[]} x',
        b'{"choices":"\\q"}',
        b'{"choices":"\\ud800"}',
        b'{"choices":"a\nb"}',
        b'{"choices":"\xff"}',
        b'{"choices":nul}',
        b'{"choices":01}',
        b'{"usage":{"prompt_tokens":1}',
        b'{"choices":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"<html>",
    ],
)
def test_a_reply_that_is_no_json_is_broken(body: bytes) -> None:
    reply, outcome = OpenAIForm().reply(call_of(b""), TARGET, body)
    assert (reply, outcome.result) == (b"", Result.BROKEN)


@given(CHATS)
def test_a_request_goes_out_with_the_providers_own_name_of_the_model_and_all_else_as_it_came(
    document: dict[str, Any],
) -> None:
    for body in (json.dumps(document).encode(), whole(document)):
        sent = json.loads(OpenAIForm().request(call_of(body), TARGET))
        assert sent == {**json.loads(body), "model": "its-own"}
