"""The gateway's own surface: a prompt in, a text out, with the cooldown in the body."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tickmind.gateway.http.masking import masked
from tickmind.gateway.http.outcomes import error_in_reply, tokens_of
from tickmind.gateway.http.reply_headers import attempts_json
from tickmind.gateway.queue.job import Attempt, Outcome, Priority, Result
from tickmind.gateway.refusal import Refusal
from tickmind.gateway.routing.plan import Target
from tickmind.gateway.surface.documents import (
    flag,
    load_json,
    model_of,
    name_of,
    number,
    parse_object,
    refuse,
    session_of,
    text,
    with_fields_for,
)
from tickmind.gateway.surface.openai import DEFAULT_REPLY_TOKENS
from tickmind.gateway.surface_format import FormatRequest
from tickmind.llm.gateway_contract import MAX_MODEL_CHARS
from tickmind.llm.streaming.thinking import split_thinking

PRIORITIES = {"high": Priority.HIGH, "normal": Priority.NORMAL, "low": Priority.LOW}


@dataclass(frozen=True, slots=True)
class CustomConfig:
    """An endpoint of the caller's own; its key and headers, if any, are used only there."""

    base_url: str
    api_key: str
    model: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Generate:
    """A checked request; None values come from headers or defaults."""

    agent_id: str
    session_id: str
    model: str
    body: dict[str, Any]  # for the provider, without the model
    prompt_tokens: int  # estimated
    reply_tokens: int  # the limit, or estimated
    custom: CustomConfig | None
    priority: Priority | None
    timeout_s: float | None
    drop_after_s: float | None
    replace_older: bool | None


def read_generate(raw: bytes) -> Generate:
    """Parse and check a request."""
    document = parse_object(raw)
    prompt = text(document, "prompt", needed=True)
    system = text(document, "systemPrompt")
    messages = [{"role": "system", "content": system}] if system else []
    body: dict[str, Any] = {"messages": [*messages, {"role": "user", "content": prompt}]}
    max_tokens = number(document, "maxTokens", least=1, most=1_000_000, whole=True)
    temperature = number(document, "temperature", least=0.0, most=10.0)
    if max_tokens is not None:
        body["max_tokens"] = int(max_tokens)
    if temperature is not None:
        body["temperature"] = temperature
    timeout_ms = number(document, "timeoutMs", least=1, most=3_600_000)
    drop_after_ms = number(document, "dropAfterMs", least=1, most=3_600_000)
    return Generate(
        agent_id=name_of(document, "agentId", needed=True),
        session_id=session_of(document),
        model=model_of(document),
        body=body,
        prompt_tokens=len(raw) // 4,
        reply_tokens=int(max_tokens or DEFAULT_REPLY_TOKENS),
        custom=_read_custom(document.get("customConfig"), model_of(document)),
        priority=_read_priority(document),
        timeout_s=None if timeout_ms is None else timeout_ms / 1000,
        drop_after_s=None if drop_after_ms is None else drop_after_ms / 1000,
        replace_older=flag(document, "replaceOlder"),
    )


def _read_custom(value: object, model: str) -> CustomConfig | None:
    """Check the caller's own endpoint; `model` is the request's, used if the endpoint has none."""
    if value is None:
        return None
    if type(value) is not dict:
        raise refuse("customConfig must be an object with baseUrl, apiKey, model and customHeaders")
    headers = value.get("customHeaders")
    if headers is not None and (
        type(headers) is not dict or not all(type(header) is str for header in headers.values())
    ):
        raise refuse("customHeaders must be an object of texts")
    return CustomConfig(
        text(value, "baseUrl", needed=True, most=2048),
        text(value, "apiKey", most=4096),
        name_of(value, "model", most=MAX_MODEL_CHARS) or model,
        tuple((headers or {}).items()),
    )


def _read_priority(document: dict[str, Any]) -> Priority | None:
    word = text(document, "priority")
    if not word:
        return None
    if word not in PRIORITIES:
        raise refuse("priority must be high, normal or low")
    return PRIORITIES[word]


class GenerateForm:
    """The form of `/api/llm/generate`: a prompt in, a text out."""

    name = "generate"
    finishes = True

    def request(self, call: FormatRequest, target: Target) -> bytes:
        """Return the prompt as a chat."""
        return with_fields_for(b'{"model":%b,%b' % (orjson.dumps(target.model), call.body[1:]), target)

    def reply(self, call: FormatRequest, target: Target, body: bytes) -> tuple[bytes, Outcome]:
        """Return the text with provider, usage and cooldown."""
        try:
            document = load_json(body)
            if (error := error_in_reply(document, body, call.body, call.secrets)) is not None:
                return b"", error
            choice = document["choices"][0]
            content = choice["message"].get("content") or ""
        except (ValueError, LookupError, TypeError, AttributeError):
            return b"", Outcome(Result.BROKEN, 200, message="the reply is not a chat completion")
        if type(content) is not str:
            return b"", Outcome(Result.BROKEN, 200, message="the reply's content is not a text")
        prompt, completion = tokens_of(document)
        split = split_thinking(content)
        own = choice["message"].get("reasoning_content") or choice["message"].get("reasoning")
        reason = choice.get("finish_reason")
        reply = {
            "text": split.content,
            "thinking": own if type(own) is str else split.thinking,
            "model": target.model,
            "tokensUsed": (prompt or 0) + (completion or 0),
            "provider": target.provider.name,
            "finishReason": reason if type(reason) is str else None,
        }
        return masked(orjson.dumps(reply), call.secrets), Outcome(Result.OK, 200, None, prompt, completion)

    def finish_body(self, body: bytes, cooldown: bytes, attempts: Sequence[Attempt], waited_ms: int) -> bytes:
        """Return the reply with the fields that are known only at its end."""
        tried = attempts_json(attempts)
        return b'%b,"waitedMs":%d,"attempts":%b,"cooldown":%b}' % (body[:-1], waited_ms, tried, cooldown)

    def failure(self, call: FormatRequest, target: Target, outcome: Outcome, body: bytes) -> tuple[int, bytes]:  # noqa: ARG002
        """Return the provider's error in our form."""
        message = f"{target.provider.name} answered {outcome.status}: {outcome.message}"
        return outcome.status, orjson.dumps({"error": "PROVIDER_ERROR", "message": message})

    def refusal(self, refusal: Refusal, cooldown: bytes) -> bytes:
        """Return the code, what to do, and when to retry."""
        words = orjson.dumps({"error": refusal.code.value, "message": refusal.message})
        return b'%b,"cooldown":%b}' % (words[:-1], cooldown) if cooldown else words
