"""Outcomes of attempts: what a provider's reply means (served, limited, refused, broken), and its token counts."""

import re
from collections.abc import Iterable, Mapping
from json import JSONDecoder
from typing import Any

import orjson

from tickmind.gateway.http.masking import masked_error
from tickmind.gateway.queue.job import Outcome, Result
from tickmind.gateway.queue.limits.ratelimit_headers import wait_of
from tickmind.llm.http.retry_after import parse_retry_after

OVERLOADED = 529  # a large provider's status for overload, instead of 429
TOO_LARGE = 413
_DECODER = JSONDecoder()
MOST_TOKENS = 1 << 40  # larger values are not counts
_LIMIT_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests"})
# Errors that a wait does not cure, whatever the status.
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
_EMPTY_WORDS = ("insufficient balance", "insufficient credit", "insufficient funds", "no credits", "out of credits")
_SIZE_WORDS = ("max_tokens", "afford", "fewer tokens")  # of a 402 that only concerns the size of the request
_LARGE_WORDS = ("request too large", "must be reduced")  # of a 429 that a wait does not cure
_LARGER = re.compile(r"limit:? ([\d,]{1,20})\b.{0,60}?requested:? ([\d,]{1,20})\b", re.DOTALL)


def outcome_of_error(
    status: int, headers: Mapping[str, str], body: bytes, *, now_wall_s: float, request: bytes = b""
) -> Outcome:
    """Classify an attempt whose status is not a success; `body` may be only the beginning of the reply.

    An error that a request may cause by its size, model or text stays with the request: only errors about the key or
    the provider count against the lane. Words of the `request` that the error repeats are ignored.
    """
    codes, message, is_explained = _error_words(body)
    says = _Words(message, request)
    if status == TOO_LARGE or (status == 429 and _is_too_large(says)):
        return Outcome(Result.DECLINED, status, message=message)
    limited = status in {429, OVERLOADED} or (400 <= status < 500 and not _LIMIT_CODES.isdisjoint(codes))
    if _is_account(status, codes, says, limited=limited):
        return Outcome(Result.ACCOUNT, status, message=message)
    if limited:
        wait_s = parse_retry_after(headers, now_wall_s=now_wall_s)
        if wait_s is None:
            wait_s = wait_of(headers, now_wall_s=now_wall_s)
        return Outcome(Result.RATE_LIMITED, status, retry_after_s=wait_s, message=message)
    if status == 402 or (status == 403 and not is_explained):  # a firewall may answer a prompt with 403
        return Outcome(Result.DECLINED, status, message=message)
    if status >= 500:
        return Outcome(Result.FAILED, status, message=message)
    if 400 <= status < 500:
        return Outcome(Result.REJECTED, status, message=message)
    if 300 <= status < 400:
        return Outcome(Result.BROKEN, status, message="the provider redirects; correct its base_url")
    return Outcome(Result.BROKEN, status, message=f"the provider answered with status {status}")


class _Words:
    """The text of an error, without what it repeats of the request."""

    __slots__ = ("_request", "text")

    def __init__(self, message: str, request: bytes) -> None:
        self.text = message.lower()
        self._request = request.lower()

    def any(self, phrases: Iterable[str]) -> bool:
        """Whether it contains one of these phrases in its own words."""
        return any(phrase in self.text and phrase.encode() not in self._request for phrase in phrases)


def _is_too_large(says: _Words) -> bool:
    """Whether this single request exceeds a limit, so that no wait would help."""
    match = _LARGER.search(says.text)
    if match is not None:
        limit, requested = (int(figure.replace(",", "") or 0) for figure in match.groups())
        return requested > limit
    return says.any(_LARGE_WORDS)


def _is_account(status: int, codes: set[str], says: _Words, *, limited: bool) -> bool:
    """Whether the key itself is refused, banned or out of money, independent of the request."""
    text = says.text
    if status == 402 and any(word in text for word in _SIZE_WORDS):
        return False
    if status in {401, 403} and (any("model" in code for code in codes) or ("access" in text and "model" in text)):
        return False  # the key is valid, but not for this model
    return (
        status == 401
        or not _ACCOUNT_CODES.isdisjoint(codes)
        or (status == 402 and says.any(_EMPTY_WORDS))
        or ((limited or status == 403) and says.any(_ACCOUNT_WORDS))
    )


def tokens_of(document: Any) -> tuple[int | None, int | None]:
    """Return prompt and completion tokens as a reply counts them, in either of the two formats."""
    usage = document.get("usage") if type(document) is dict else None
    if type(usage) is not dict:
        return None, None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if prompt is None and completion is None:
        prompt, completion = usage.get("input_tokens"), usage.get("output_tokens")
    return _count_of(prompt), _count_of(completion)


def _count_of(value: object) -> int | None:
    """Return a number of tokens; None if the value is invalid."""
    return value if type(value) is int and 0 <= value < MOST_TOKENS else None


def tokens_of_stream(tail: bytes) -> tuple[int | None, int | None]:
    """Return the counts from the last events of a stream, if the provider put them there."""
    if tail.rfind(b'"usage"') < 0:
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
    at = tail.rfind(b'"usage":')  # of a line whose beginning is cut off; inside a text its quotes would be escaped
    if at <= 0 or tail[at - 1 : at] == b"\\":
        return None, None
    try:
        usage, _ = _DECODER.raw_decode(tail[at + 8 :].decode("utf-8", "replace").lstrip())
    except (ValueError, RecursionError):
        return None, None
    return tokens_of({"usage": usage})


def error_in_reply(document: Any, body: bytes, request: bytes, secrets: tuple[bytes, ...] = ()) -> Outcome | None:
    """Classify a reply with status 200 that contains an error; return None if it contains none.

    The message has the `secrets` masked, however they are spelt.
    """
    error = document.get("error") if type(document) is dict else None
    if type(error) is not dict or not error:
        return None
    code = error.get("code")
    status = code if type(code) is int and 400 <= code < 600 else 429 if code in _LIMIT_CODES else 502
    return outcome_of_error(status, {}, masked_error(body, secrets), now_wall_s=0.0, request=request)


def _error_words(body: bytes) -> tuple[set[str], str, bool]:
    """Return the codes and the text of an error reply, and whether it has a known format."""
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
