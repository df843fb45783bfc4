"""What an endpoint's error reply means in our errors; bodies are masked, then shortened."""

from collections.abc import Mapping
from typing import Any

import orjson

from tickmind.base import redact
from tickmind.llm.errors import LLMCooldownError, LLMDroppedError, LLMError, LLMRateLimitError, LLMResponseError
from tickmind.llm.served import read_cooldown
from tickmind.llm.texts import shortened

_SHOWN_ERROR_CHARS = 400
# a gateway's words for requests that it holds back, and for those that it dropped
_HELD_BACK = frozenset({"RATE_LIMIT_COOLDOWN", "DEFERRED", "QUEUE_FULL", "QUEUE_TIMEOUT", "ALL_LIMITED"})
_DROPPED = frozenset({"REPLACED", "EXPIRED"})


def error_from_reply(
    origin: str,
    status: int,
    body: bytes,
    *,
    headers: Mapping[str, str] | None = None,
    retry_after_s: float | None = None,
) -> LLMError:
    """The error for a reply with an error status, or for an error that came inside a stream."""
    parsed = _parsed(body)
    text = _explanation(body, parsed)
    detail = f": {text}" if text else ""
    code = _code(parsed)
    if code in _HELD_BACK:
        cooldown = read_cooldown(parsed.get("cooldown"))
        wait_s = cooldown.wait_s if retry_after_s is None and cooldown is not None else retry_after_s
        wait = f" for {wait_s:g} s" if wait_s is not None else ""
        return LLMCooldownError(
            f"{origin} holds the request back{wait}{detail}",
            retry_after_s=wait_s,
            status=status,
            code=code,
            cooldown=cooldown,
        )
    if code in _DROPPED:
        return LLMDroppedError(f"{origin} dropped the request{detail}", status=status, code=code)
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
    return LLMResponseError(f"{origin} answered {status}{hint}{detail}", status=status)


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        parsed: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _code(parsed: dict[str, Any]) -> str:
    """The code of an error in OpenAI's form, or in the plain form of a gateway's own calls."""
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
