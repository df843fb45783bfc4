"""The gateway's headers of every reply: provider, attempts, wait and cooldown."""

import json
import math
from collections.abc import Sequence
from functools import lru_cache

from tickmind.gateway.queue.job import Attempt, Job, Result
from tickmind.gateway.refusal import Code, Refusal
from tickmind.gateway.reply_sharing.cache import EVENT_STREAM
from tickmind.llm.gateway_contract import (
    ATTEMPTS_HEADER,
    COOLDOWN_HEADER,
    PROVIDER_HEADER,
    SHARED_HEADER,
    WAITED_HEADER,
)

_SERVED = f"{PROVIDER_HEADER}: %b\r\n{WAITED_HEADER}: %d\r\n{ATTEMPTS_HEADER}: %b\r\n{COOLDOWN_HEADER}: %b\r\n".encode()
_REPLY = b"content-type: application/json\r\n" + _SERVED
_ATTEMPT = b'{%b,"waitedMs":%d,"tookMs":%d}'
_STREAM = b"content-type: text/event-stream\r\ncache-control: no-store\r\n" + _SERVED
_SHARED = f"{SHARED_HEADER}: 1\r\n".encode()
_ATTEMPTS, _COOLDOWN = f"{ATTEMPTS_HEADER}: %b\r\n".encode(), f"{COOLDOWN_HEADER}: %b\r\n".encode()
_FINAL = frozenset({Code.REPLACED, Code.EXPIRED, Code.DEADLINE})  # the caller's own deadline or newer request
_NOISE_MS = 1e-3  # of a difference of two clock readings, which must not be rounded up


def attempts_json(attempts: Sequence[Attempt]) -> bytes:
    """Return the attempts as a JSON list."""
    return b"[%b]" % b",".join(map(_attempt, attempts))


def _attempt(attempt: Attempt) -> bytes:
    provider, _, model, result, status, waited_s, took_s = attempt
    return _ATTEMPT % (_words(provider, model, result, status), waited_s * 1000, took_s * 1000)


@lru_cache(1024)
def _words(provider: str, model: str, result: Result, status: int) -> bytes:
    """Return the fields as ASCII, so that any name can stand in a header."""
    names = f'"provider":{json.dumps(provider)},"model":{json.dumps(model)}'
    return f'{names},"result":"{result.value}","status":{status:d}'.encode()


@lru_cache(1024)
def _usual(provider: str, model: str, result: Result, status: int) -> bytes:
    """Return the headers after a single attempt, without waits and cooldown."""
    name, words = (text.replace(b"%", b"%%") for text in (provider.encode(), _words(provider, model, result, status)))
    attempt = _ATTEMPT.replace(b"%d", b"%b") % (words, b"%d", b"%d")
    return _REPLY.replace(b"%d", b"%b") % (name, b"%d", b"[%b]" % attempt, b"%b")


def reply_headers(job: Job, cooldown: bytes, waited_ms: int) -> bytes:
    """Return the headers of a whole reply."""
    attempts = job.attempts
    if len(attempts) == 1:
        provider, _, model, result, status, waited_s, took_s = attempts[0]
        return _usual(provider, model, result, status) % (waited_ms, waited_s * 1000, took_s * 1000, cooldown)
    assert job.target is not None, "who answered is known"
    return _REPLY % (job.target.provider.name.encode(), waited_ms, attempts_json(attempts), cooldown)


def stream_headers(job: Job, cooldown: bytes) -> bytes:
    """Return the headers of a stream that begins; the attempt that answers is not over and not listed."""
    assert job.target is not None, "who answers is known"
    waited_ms = int(1000 * (job.sent_s - job.arrived_s))
    return _STREAM % (job.target.provider.name.encode(), waited_ms, attempts_json(job.attempts), cooldown)


def shared_headers(provider: str, content_type: bytes, cooldown: bytes) -> bytes:
    """Return the headers of a reply that was also given to another request."""
    form = _STREAM if content_type == EVENT_STREAM else _REPLY
    return _SHARED + form % (provider.encode(), 0, b"[]", cooldown)


def refusal_headers(refusal: Refusal, attempts: Sequence[Attempt], cooldown: bytes) -> bytes:
    """Return the headers of a refusal."""
    headers = b"content-type: application/json\r\n"
    if refusal.retry_after_s is not None:
        wait_ms = math.ceil(max(0.0, 1000 * refusal.retry_after_s - _NOISE_MS))
        headers += b"retry-after: %d\r\nretry-after-ms: %d\r\n" % (-(-wait_ms // 1000), wait_ms)
    if refusal.code in _FINAL:
        headers += b"x-should-retry: false\r\n"  # which the official SDKs respect
    if attempts:
        headers += _ATTEMPTS % attempts_json(attempts)
    if cooldown:
        headers += _COOLDOWN % cooldown
    return headers
