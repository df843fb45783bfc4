"""The OpenAI-compatible surface: requests and replies pass through as they are, the rest travels in headers."""

from collections.abc import Sequence
from typing import Any

import orjson

from tickmind.gateway.call import Call
from tickmind.gateway.http.outcomes import tokens_of
from tickmind.gateway.queue.job import Attempt, Outcome, Result, Target, new_tuple
from tickmind.gateway.refusal import Code, Refusal
from tickmind.gateway.surface.documents import load_json, model_of, parse_object, refuse

_OK = Result.OK
DEFAULT_REPLY_TOKENS = 256  # what a reply is taken to cost before it is known, where the request sets no limit
_LENGTHS = range(1, 1 << 30)  # a limit of more tokens says nothing
_TYPES = {
    Code.UNAUTHORIZED: "authentication_error",
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


class OpenAIForm:
    """Chat Completions and Responses, which differ only in their paths and in how they count tokens."""

    def request(self, call: Call, target: Target) -> bytes:
        """The caller's own bytes, unless this provider knows the model by another name."""
        if target.model == call.model:
            return call.body
        return orjson.dumps({**call.document, "model": target.model})

    def reply(self, call: Call, target: Target, body: bytes) -> tuple[bytes, Outcome]:  # noqa: ARG002 - the port's
        """The provider's own bytes."""
        try:
            document = load_json(body)
        except ValueError as exc:
            return b"", Outcome(Result.BROKEN, 200, message=f"the reply is not valid JSON: {exc}")
        prompt, completion = tokens_of(document)
        return body, new_tuple(Outcome, (_OK, 200, None, prompt, completion, False, ""))

    def dress(self, body: bytes, cooldown: bytes, attempts: Sequence[Attempt], waited_ms: int) -> bytes:  # noqa: ARG002
        """As it is: the headers tell the rest."""
        return body

    def failure(self, call: Call, target: Target, outcome: Outcome, body: bytes) -> tuple[int, bytes]:  # noqa: ARG002
        """The provider's own error; one that is not JSON is put into the usual form."""
        try:
            document = orjson.loads(body)
        except orjson.JSONDecodeError:
            document = None
        if isinstance(document, dict):
            return outcome.status, body
        message = f"{target.provider.name} answered {outcome.status}: {outcome.message}"
        return outcome.status, orjson.dumps({"error": error_object(Refusal(Code.PROVIDER_ERROR, message))})

    def refusal(self, refusal: Refusal, cooldown: bytes) -> bytes:
        """In the form that the official clients turn into their exceptions."""
        error = orjson.dumps(error_object(refusal))
        return b'{"error":%b,"cooldown":%b}' % (error, cooldown) if cooldown else b'{"error":%b}' % error


def error_object(refusal: Refusal) -> dict[str, Any]:
    """The `error` of a reply."""
    kind = _TYPES.get(refusal.code, "server_error")
    return {"message": refusal.message, "type": kind, "param": None, "code": refusal.code.value}


def read_chat(body: bytes) -> tuple[dict[str, Any], str, bool, int]:
    """The request, its model, whether it streams, and about how many tokens it takes."""
    document = parse_object(body)
    model = model_of(document)
    messages = document.get("messages")
    if type(messages) is not list or not messages:
        raise refuse("messages must be a list of at least one message")
    stream = document.get("stream")
    if stream is not None and type(stream) is not bool:
        raise refuse("stream must be true or false")
    most = document.get("max_completion_tokens") or document.get("max_tokens")
    if type(most) is not int or most not in _LENGTHS:
        most = DEFAULT_REPLY_TOKENS
    return document, model, stream is True, len(body) // 4 + most


def read_responses(body: bytes) -> tuple[dict[str, Any], str, bool, int]:
    """The same of a request in the form of the Responses API."""
    document = parse_object(body)
    model = model_of(document)
    if type(document.get("input")) not in {str, list} and not document.get("prompt"):
        raise refuse("input must be a text or a list")
    stream = document.get("stream")
    if stream is not None and type(stream) is not bool:
        raise refuse("stream must be true or false")
    most = document.get("max_output_tokens")
    if type(most) is not int or most not in _LENGTHS:
        most = DEFAULT_REPLY_TOKENS
    return document, model, stream is True, len(body) // 4 + most
