"""Convert an endpoint's error reply to our errors; bodies are masked, then shortened."""

from collections.abc import Mapping
from typing import Any

import orjson

from tickmind.base import Limit, redact
from tickmind.llm.errors import (
    LLMCooldownError,
    LLMDroppedError,
    LLMError,
    LLMRateLimitError,
    LLMReplyTooLargeError,
    LLMResponseError,
    LLMUnavailableError,
)
from tickmind.llm.gateway_contract import DROPPED, HELD_BACK, Code
from tickmind.llm.served import read_cooldown
from tickmind.llm.texts import shortened

_SHOWN_ERROR_CHARS = 400
FINISH_ERROR = "error"  # the finish reason of an answer that the endpoint gave up
_GAVE_UP_STATUS = 502
# what an error object calls itself, in part -> the status that it would have had as a reply of its own
_STATUS_OF_KIND = {
    "rate_limit": 429,
    "overloaded": 529,
    "unavailable": 503,
    "timeout": 504,
    "server_error": 500,
    "api_error": 500,
    "internal": 500,
    "authentication": 401,
    "permission": 403,
    "not_found": 404,
    "invalid_request": 400,
}


def error_from_reply(
    origin: str,
    status: int,
    body: bytes,
    *,
    headers: Mapping[str, str] | None = None,
    retry_after_s: float | None = None,
) -> LLMError:
    """Return the error for a reply with an error status, or for an error that came inside a stream."""
    parsed = _parsed(body)
    text = _explanation(body, parsed)
    detail = f": {text}" if text else ""
    code = _code(parsed)
    cooldown = read_cooldown(parsed.get("cooldown"))
    if code in HELD_BACK:
        wait_s = cooldown.wait_s if retry_after_s is None and cooldown is not None else retry_after_s
        wait = f" for {wait_s:g} s" if wait_s is not None else ""
        return LLMCooldownError(
            f"{origin} holds the request back{wait}{detail}",
            retry_after_s=wait_s,
            status=status,
            code=code,
            cooldown=cooldown,
        )
    if code in DROPPED:
        words = f"{origin} dropped the request{detail}"
        return LLMDroppedError(words, status=status, code=code, retry_after_s=retry_after_s, cooldown=cooldown)
    if code == Code.PROVIDER_DOWN and retry_after_s is not None:
        words = f"{origin} reaches no provider of the model and tries none for {retry_after_s:g} s{detail}"
        return LLMUnavailableError(words, retry_after_s=retry_after_s, status=status)
    if status == 429 or (status in {503, 529} and retry_after_s is not None):
        wait = f"; it asks to wait {retry_after_s:g} s" if retry_after_s is not None else ""
        return LLMRateLimitError(
            f"{origin} answered {status}, too many requests{wait}{detail}", retry_after_s=retry_after_s, status=status
        )
    hint = ""
    if 300 <= status < 400:
        where = (headers or {}).get("location", "nowhere")
        hint = f" and points to {where!r}; redirects are not followed, set LLM_BASE_URL"
    elif status in {401, 403}:
        hint = ", it refuses the API key (check LLM_API_KEY)"
    elif status == 404:
        hint = ", not found (check LLM_BASE_URL and LLM_MODEL)"
    words = f"{origin} answered {status}{hint}{detail}"
    return LLMResponseError(words, status=status, retry_after_s=retry_after_s, cooldown=cooldown)


def embedded_error(event: Mapping[str, Any]) -> LLMError:
    """Return the error for an error object that came with a success status: whole, inside a stream, beside an answer.

    Its status is the number that it names, or the one that fits its kind; 200 if it names neither.
    """
    inner = event.get("error")
    error = inner if isinstance(inner, dict) else event
    kind = "".join(str(error.get(name) or "") for name in ("type", "code", "status")).lower()
    status = next((number for part, number in _STATUS_OF_KIND.items() if part in kind), 200)
    for place in (error, event):
        for name in ("code", "status", "status_code"):
            status = _error_status(place.get(name)) or status
    return error_from_reply("the endpoint", status, orjson.dumps(event))


def error_beside_events(
    origin: str, content_type: str, *, failure: bytes | None, stray: bytes, has_events: bool
) -> LLMError | None:
    """Return the error that an event stream holds outside of its events, or None.

    `failure` is what the endpoint marked as an error, `stray` what is no part of an event stream. Without any event the
    reply is no event stream at all.
    """
    if failure is not None:
        return embedded_error(_parsed(failure) or {"error": {"message": failure.decode("utf-8", "replace")}})
    parsed = _parsed(stray)
    if parsed.get("error"):
        return embedded_error(parsed)
    if has_events:
        return None
    what = f"{content_type or 'no content type'}, {'JSON' if parsed else 'no JSON and no events'}"
    hint = "ask without streaming" if parsed else "is this the address of a model endpoint?"
    return LLMResponseError(f"{origin} answered 200 with {what} in place of an event stream; {hint}")


def gave_up_error(reply: Mapping[str, Any], beside: Mapping[str, Any]) -> LLMError:
    """Return the error for an answer that the endpoint gave up; what failed stands in the reply, beside it, or nowhere.

    Where nothing says what failed it counts as a bad gateway, because routers end a provider's failure so.
    """
    if reply.get("error"):
        return embedded_error(reply)
    if beside.get("error"):
        return embedded_error({"error": beside["error"]})
    return error_from_reply("the endpoint", _GAVE_UP_STATUS, b"it gave up an answer that it had begun")


def too_large_error(origin: str, limit: Limit) -> LLMError:
    """Return the error for a reply over the size limit: of the body of a whole one, of what a streamed one says."""
    return LLMReplyTooLargeError(
        f"the reply of {origin} is over the limit of {limit.maximum:,} bytes when decoded; "
        "raise max_reply_bytes if that is expected"
    )


def silent_error() -> LLMError:
    """Return the error for a reply that ended without an answer and without a reason for having none."""
    return LLMResponseError("the endpoint's reply ended with neither an answer nor a finish reason; ask again")


def _error_status(value: Any) -> int | None:
    if isinstance(value, str) and len(value) == 3 and value.isdigit():
        value = int(value)
    return value if type(value) is int and 400 <= value < 600 else None


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        parsed: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _code(parsed: dict[str, Any]) -> str:
    """Return the code of an error in OpenAI's form, or in the plain form of a gateway's own calls."""
    error = parsed.get("error")
    code = error.get("code") if isinstance(error, dict) else error
    return code if isinstance(code, str) else ""


def _explanation(body: bytes, parsed: dict[str, Any]) -> str:
    # masked first and then shortened, so that no half of a key is left
    text = body.decode("utf-8", "replace")
    if parsed:
        error = parsed.get("error", parsed)
        message = error.get("message") if isinstance(error, dict) else parsed.get("message", error)
        kind = (error.get("type") or error.get("code")) if isinstance(error, dict) else None
        if isinstance(message, str):
            text = f"{message} ({kind})" if isinstance(kind, str) else message
    return shortened(" ".join(redact(text).split()), _SHOWN_ERROR_CHARS)
