"""The OpenAI-compatible surface: requests and replies pass through unchanged, the rest travels in headers."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import orjson

from tickmind.gateway.http.outcomes import MOST_TOKENS, error_in_reply, tokens_of
from tickmind.gateway.queue.job import Attempt, Outcome, Result, new_tuple
from tickmind.gateway.refusal import Code, Refusal
from tickmind.gateway.routing.plan import Target
from tickmind.gateway.surface.documents import is_simple, load_json, model_of, parse_object, refuse, with_fields_for
from tickmind.gateway.surface.prompt_tokens import prompt_tokens_of
from tickmind.gateway.surface_format import FormatRequest
from tickmind.llm.gateway_contract import MAX_MODEL_CHARS
from tickmind.llm.tokens import CHARS_PER_TOKEN

_OK = Result.OK
DEFAULT_REPLY_TOKENS = 256  # estimate for a reply where the request sets no limit
_MOST_REPLY_TOKENS = 1 << 30  # larger limits are none
_TYPES = {
    Code.UNAUTHORIZED: "authentication_error",
    Code.FORBIDDEN: "permission_error",
    Code.FORBIDDEN_URL: "permission_error",
    Code.BUDGET_SPENT: "insufficient_quota",
    Code.BAD_REQUEST: "invalid_request_error",
    Code.UNKNOWN_MODEL: "invalid_request_error",
    Code.NOT_FOUND: "invalid_request_error",
    Code.METHOD_NOT_ALLOWED: "invalid_request_error",
    Code.TOO_LARGE: "invalid_request_error",
    Code.RATE_LIMIT_COOLDOWN: "rate_limit_error",
    Code.DEFERRED: "rate_limit_error",
    Code.ALL_LIMITED: "rate_limit_error",
}


# The decoders below check bounds while they read; what is out of bounds is read again as a whole, which is slower.
_Limit = Annotated[int, msgspec.Meta(gt=0, lt=_MOST_REPLY_TOKENS)]
_Count = Annotated[int, msgspec.Meta(ge=0, lt=MOST_TOKENS)]


class _Chat(msgspec.Struct, gc=False):
    """The fields of a request that matter here; others are skipped."""

    messages: Annotated[list[msgspec.Raw], msgspec.Meta(min_length=1)]
    model: Annotated[str, msgspec.Meta(max_length=MAX_MODEL_CHARS)] = ""
    stream: bool | None = None
    max_completion_tokens: _Limit | None = None
    max_tokens: _Limit | None = None


class _Usage(msgspec.Struct, gc=False):
    """The counts of a reply, in either of the two formats."""

    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None
    input_tokens: _Count | None = None
    output_tokens: _Count | None = None


class _Reply(msgspec.Struct, gc=False):
    """The fields of a reply that matter here."""

    usage: _Usage | None = None
    error: msgspec.Raw | None = None


_chat_of = msgspec.json.Decoder(_Chat).decode
_reply_of = msgspec.json.Decoder(_Reply).decode
_fields_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class OpenAIForm:
    """Chat Completions and Responses, which differ only in their paths and token counts."""

    name = "openai"
    finishes = False

    def request(self, call: FormatRequest, target: Target) -> bytes:
        """Return the caller's bytes, with the provider's model name, and asking for the token counts of a stream."""
        body = call.body
        if target.model != call.model:
            body = msgspec.json.encode({**_fields_of(body), "model": target.model})
        if target.request_fields:
            body = with_fields_for(body, target)
        if not call.streamed:
            return body
        call.hides_usage = False
        job = call.job
        if target.provider.stream_usage and job is not None and job.plan.surface == "chat":
            counted = _counting(body)
            call.hides_usage = counted is not body
            return counted
        return body

    def reply(self, call: FormatRequest, target: Target, body: bytes) -> tuple[bytes, Outcome]:  # noqa: ARG002 - the port's
        """Return the provider's bytes; an error in them counts as an error, whatever the status."""
        try:
            counts = _tokens_of(body)
            if counts is None:
                document = load_json(body)
                error = error_in_reply(document, body, call.body, call.secrets)
                if error is not None:
                    return b"", error
                counts = tokens_of(document)
        except ValueError as exc:
            return b"", Outcome(Result.BROKEN, 200, message=f"the reply is not valid JSON: {exc}")
        prompt, completion = counts
        return body, new_tuple(Outcome, (_OK, 200, None, prompt, completion, False, ""))

    def finish_body(self, body: bytes, cooldown: bytes, attempts: Sequence[Attempt], waited_ms: int) -> bytes:  # noqa: ARG002
        """Return it unchanged: the headers hold the rest."""
        return body

    def failure(self, call: FormatRequest, target: Target, outcome: Outcome, body: bytes) -> tuple[int, bytes]:  # noqa: ARG002
        """Return the provider's error; one that is not JSON is wrapped in the usual form."""
        try:
            document = orjson.loads(body)
        except orjson.JSONDecodeError:
            document = None
        if isinstance(document, dict):
            return outcome.status, body
        message = f"{target.provider.name} answered {outcome.status}: {outcome.message}"
        return outcome.status, orjson.dumps({"error": error_object(Refusal(Code.PROVIDER_ERROR, message))})

    def refusal(self, refusal: Refusal, cooldown: bytes) -> bytes:
        """Return the refusal in the form that the official SDKs turn into their exceptions."""
        error = orjson.dumps(error_object(refusal))
        return b'{"error":%b,"cooldown":%b}' % (error, cooldown) if cooldown else b'{"error":%b}' % error


def _counting(body: bytes) -> bytes:
    """Return a streamed request that asks for the token counts; unchanged if it does already."""
    if b'"stream_options"' not in body and body.endswith(b"}"):
        return body[:-1] + b',"stream_options":{"include_usage":true}}'
    fields = _fields_of(body)
    options = orjson.loads(bytes(fields.get("stream_options", b"null"))) or {}
    if type(options) is not dict or options.get("include_usage") is True:
        return body
    return msgspec.json.encode({**fields, "stream_options": {**options, "include_usage": True}})


def error_object(refusal: Refusal) -> dict[str, Any]:
    """Return the `error` of a reply."""
    kind = _TYPES.get(refusal.code, "server_error")
    return {"message": refusal.message, "type": kind, "param": None, "code": refusal.code.value}


def read_chat(body: bytes) -> tuple[str, bool, int, int]:
    """Return a request's model, whether it streams, and the estimated tokens of prompt and reply."""
    count = body.count
    if (
        not is_simple(body)
        or count(b'"model"') > 1
        or count(b'"messages"') > 1
        or count(b'"stream') > 1
        or count(b'"max_') > 1
        or (body.find(b"\\") >= 0 and b"\\u00" in body)  # a field name may be escaped like this
    ):
        return _read_chat_whole(body)  # which finds duplicate fields
    try:
        chat = _chat_of(body)
    except msgspec.DecodeError:
        return _read_chat_whole(body)  # which names the error, or accepts it
    model = chat.model
    if not model.isascii() or not model.isprintable():
        return _read_chat_whole(body)
    reply_tokens = chat.max_completion_tokens or chat.max_tokens or DEFAULT_REPLY_TOKENS
    prompt_tokens = len(body) // CHARS_PER_TOKEN if body.find(b'"type"') < 0 else prompt_tokens_of(body)
    return model, chat.stream is True, prompt_tokens, reply_tokens


def _read_chat_whole(body: bytes) -> tuple[str, bool, int, int]:
    document = parse_object(body)
    model = model_of(document)
    messages = document.get("messages")
    if type(messages) is not list or not messages:
        raise refuse("messages must be a list of at least one message")
    most = document.get("max_completion_tokens") or document.get("max_tokens")
    return model, _is_streamed(document), prompt_tokens_of(body), _reply_tokens(most)


def read_responses(body: bytes) -> tuple[str, bool, int, int]:
    """Return the same for a request of the Responses API."""
    document = parse_object(body)
    model = model_of(document)
    if type(document.get("input")) not in {str, list} and not document.get("prompt"):
        raise refuse("input must be a text or a list")
    reply_tokens = _reply_tokens(document.get("max_output_tokens"))
    return model, _is_streamed(document), prompt_tokens_of(body), reply_tokens


def _is_streamed(document: dict[str, Any]) -> bool:
    stream = document.get("stream")
    if stream is not None and type(stream) is not bool:
        raise refuse("stream must be true or false")
    return stream is True


def _reply_tokens(most: object) -> int:
    return most if type(most) is int and 0 < most < _MOST_REPLY_TOKENS else DEFAULT_REPLY_TOKENS


def _tokens_of(body: bytes) -> tuple[int | None, int | None] | None:
    """Return the counts of a reply; None if all of it must be parsed: it is invalid, odd, or has an error in it."""
    if not is_simple(body):
        return None
    try:
        reply = _reply_of(body)
    except msgspec.DecodeError:
        return None
    if reply.error is not None and bytes(reply.error) != b"null":
        return None
    usage = reply.usage
    if usage is None:
        return None, None
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    if prompt is None and completion is None:
        return usage.input_tokens, usage.output_tokens
    return prompt, completion
