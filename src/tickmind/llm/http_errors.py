"""What an endpoint's error reply means in our errors; bodies are masked, then shortened."""

from collections.abc import Mapping
from typing import Any

import orjson

from tickmind.base import redact
from tickmind.llm.errors import LLMError, LLMRateLimitError, LLMResponseError
from tickmind.llm.texts import shortened

_SHOWN_ERROR_CHARS = 400


def error_from_reply(
    origin: str,
    status: int,
    body: bytes,
    *,
    headers: Mapping[str, str] | None = None,
    retry_after_s: float | None = None,
) -> LLMError:
    """The error for a reply with an error status, or for an error that came inside a stream."""
    text = _explanation(body)
    detail = f": {text}" if text else ""
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


def _explanation(body: bytes) -> str:
    # masked first and then shortened, so that no half of a key is left
    text = body.decode("utf-8", "replace")
    try:
        parsed: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        parsed = None
    if isinstance(parsed, dict):
        error = parsed.get("error", parsed)
        message = error.get("message") if isinstance(error, dict) else error
        kind = (error.get("type") or error.get("code")) if isinstance(error, dict) else None
        if isinstance(message, str):
            text = f"{message} ({kind})" if isinstance(kind, str) else message
    return shortened(" ".join(redact(text).split()), _SHOWN_ERROR_CHARS)
