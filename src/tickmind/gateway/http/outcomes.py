"""What a provider's reply means for the queue: served, limited, refused, broken; and how many tokens it took."""

from collections.abc import Mapping
from json import JSONDecoder
from typing import Any

import orjson

from tickmind.gateway.queue.job import Outcome, Result
from tickmind.llm.retry_after import parse_retry_after

OVERLOADED = 529  # what one large provider says instead of 429 when it is short of machines
_DECODER = JSONDecoder()
_MOST_TOKENS = 1 << 40  # more is no count
_LIMIT_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests"})
# Waiting does not help against these, whatever the status says.
_ACCOUNT_CODES = frozenset(
    {
        "access_terminated",
        "account_deactivated",
        "account_suspended",
        "billing_hard_limit_reached",
        "billing_not_active",
        "insufficient_balance",
        "insufficient_quota",
        "invalid_api_key",
        "organization_restricted",
        "permission_denied",
        "unsupported_country_region_territory",
    }
)
_ACCOUNT_WORDS = ("account has been", "banned", "deactivated", "exceeded your current quota", "suspended")


def outcome_of_error(status: int, headers: Mapping[str, str], body: bytes, *, now_wall_s: float) -> Outcome:
    """How an attempt ended whose status is not a success; `body` may be the beginning of the reply only."""
    codes, message, is_explained = _error_words(body)
    lower = message.lower()
    limited = status in {429, OVERLOADED} or (400 <= status < 500 and not _LIMIT_CODES.isdisjoint(codes))
    account = (
        status in {401, 402}
        or not _ACCOUNT_CODES.isdisjoint(codes)
        or ((limited or status == 403) and any(words in lower for words in _ACCOUNT_WORDS))
        or (status == 403 and not is_explained)  # an explained one may be about a model or a prompt, not about the key
    )
    if account:
        return Outcome(Result.ACCOUNT, status, message=message)
    if limited:
        wait_s = parse_retry_after(headers, now_wall_s=now_wall_s)
        return Outcome(Result.RATE_LIMITED, status, retry_after_s=wait_s, message=message)
    if status >= 500:
        return Outcome(Result.FAILED, status, message=message)
    if 400 <= status < 500:
        return Outcome(Result.REJECTED, status, message=message)
    if 300 <= status < 400:
        return Outcome(Result.BROKEN, status, message="the provider redirects, which is not followed")
    return Outcome(Result.BROKEN, status, message=f"the provider answered with status {status}")


def tokens_of(document: Any) -> tuple[int | None, int | None]:
    """Prompt and completion tokens as a reply counts them, in either of the two forms."""
    usage = document.get("usage") if type(document) is dict else None
    if type(usage) is not dict:
        return None, None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if prompt is None and completion is None:
        prompt, completion = usage.get("input_tokens"), usage.get("output_tokens")
    return count_of(prompt), count_of(completion)


def count_of(value: object) -> int | None:
    """A number of tokens, None if it can't be one."""
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else None


def tokens_of_stream(tail: bytes) -> tuple[int | None, int | None]:
    """The counts from the last events of a stream, if the provider put them there."""
    if b'"usage"' not in tail:
        return None, None
    for line in reversed(tail.split(b"\n")):
        if line.startswith(b"data:") and b'"usage"' in line:
            try:
                document = orjson.loads(line[5:])
            except orjson.JSONDecodeError:
                continue
            response = document.get("response") if isinstance(document, dict) else None
            counts = tokens_of(response if isinstance(response, dict) else document)
            if counts != (None, None):
                return counts
    at = tail.rfind(b'"usage":')  # of a line whose beginning is not there; within a text its quotes would be escaped
    if at <= 0 or tail[at - 1 : at] == b"\\":
        return None, None
    try:
        usage, _ = _DECODER.raw_decode(tail[at + 8 :].decode("utf-8", "replace").lstrip())
    except (ValueError, RecursionError):
        return None, None
    return tokens_of({"usage": usage})


def _error_words(body: bytes) -> tuple[set[str], str, bool]:
    """The codes and the text in an error reply, and whether it explains itself in a form that is known."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return set(), body[:400].decode("utf-8", "replace"), False
    error = document.get("error", document) if isinstance(document, dict) else document
    if not isinstance(error, dict):
        text = error[:400] if isinstance(error, str) else ""
        return set(), text, bool(text)
    codes = {value.lower() for name in ("code", "type", "status") if isinstance(value := error.get(name), str)}
    message = error.get("message")
    text = message[:400] if isinstance(message, str) else ""
    return codes, text, bool(text or any(codes))
