"""Codec of thoughts and status reports."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import orjson

from tickmind.protocol import AgentState, AgentStatus, Reason, Thought, ThoughtReport
from tickmind.protocol.reports import are_turns
from tickmind.wire.codec.values import AGENT_STATES, encoder, member, name, optional_name, present, text, tick
from tickmind.wire.errors import MessageError
from tickmind.wire.messages.limits import (
    MAX_DETAIL_CHARS,
    MAX_DIRECTIVES_BYTES,
    MAX_DIRECTIVES_DEPTH,
    MAX_KEY_CHARS,
    MAX_THOUGHT_CHARS,
    MAX_TURNS_CHARS,
)
from tickmind.wire.v1 import telemetry_pb2 as pb

STATE_NUMBERS = {state: code for code, state in enumerate(AgentState, start=1)}  # state -> number in messages
TEXTS = ("system_prompt", "user_message", "reply", "thinking", "error")


@encoder
def encode_thought_report(report: ThoughtReport) -> pb.ThoughtReport:
    """Encode a thought and its entity."""
    thought = report.thought
    message = pb.Thought(
        engine_entity_id=thought.entity_id,
        asked_tick=thought.asked_tick,
        answered_tick=thought.answered_tick,
        directives_json=orjson.dumps(dict(thought.directives)).decode() if thought.directives else "",
        client=thought.client,
        model=thought.model,
        prompt_tokens=thought.prompt_tokens,
        completion_tokens=thought.completion_tokens,
        latency_s=thought.latency_s,
        cost_usd=thought.cost_usd,
        error_type=thought.error_type,
        system_prompt=thought.system_prompt,
        user_message=thought.user_message,
        reply=thought.reply,
        thinking=thought.thinking,
        error=thought.error,
        provider=thought.provider,
        attempts=thought.attempts,
        queued_s=thought.queued_s,
        late=thought.late,
        kind=thought.kind,
        cached_tokens=thought.cached_tokens,
    )
    return pb.ThoughtReport(entity_id=report.entity_id, tick_id=report.tick_id, thought=message)


def decode_thought_report(message: pb.ThoughtReport) -> ThoughtReport:
    """Decode a thought and its entity."""
    present(message, "thought")
    entity_id, tick_id = name(message.entity_id, "entity_id"), tick(message.tick_id)
    return ThoughtReport(entity_id, tick_id, _decode_thought(message.thought))


def _decode_thought(message: pb.Thought) -> Thought:
    texts = {field: text(getattr(message, field), field, MAX_THOUGHT_CHARS) for field in TEXTS}
    return Thought(
        entity_id=tick(message.engine_entity_id, "engine_entity_id"),
        asked_tick=tick(message.asked_tick, "asked_tick"),
        answered_tick=tick(message.answered_tick, "answered_tick"),
        directives=_decode_directives(message.directives_json),
        client=optional_name(message.client, "client"),
        model=text(message.model, "model", MAX_DETAIL_CHARS),
        prompt_tokens=_tokens(message, "prompt_tokens"),
        completion_tokens=_tokens(message, "completion_tokens"),
        latency_s=_amount(message.latency_s, "latency_s"),
        cost_usd=_amount(message.cost_usd, "cost_usd") if message.HasField("cost_usd") else None,
        error_type=optional_name(message.error_type, "error_type"),
        system_prompt=texts["system_prompt"],
        user_message=texts["user_message"],
        reply=texts["reply"],
        thinking=texts["thinking"],
        error=texts["error"],
        provider=text(message.provider, "provider", MAX_DETAIL_CHARS),
        attempts=tick(message.attempts, "attempts"),
        queued_s=_amount(message.queued_s, "queued_s") if message.HasField("queued_s") else None,
        late=message.late,
        kind=text(message.kind, "kind", MAX_KEY_CHARS),
        cached_tokens=_tokens(message, "cached_tokens"),
    )


def _tokens(message: pb.Thought, field: Literal["prompt_tokens", "completion_tokens", "cached_tokens"]) -> int | None:
    return tick(getattr(message, field), field) if message.HasField(field) else None


def _amount(value: float, field: str) -> float:
    if not (math.isfinite(value) and value >= 0):
        raise MessageError(field, "a finite number, 0 or more")
    return value


def _decode_directives(json: str) -> Mapping[str, Any]:
    if not json:
        return {}
    if not MAX_DIRECTIVES_BYTES.allows(len(json.encode())):
        raise MessageError("directives_json", "shorter", reason=Reason.TEXT_TOO_LONG)
    try:
        directives = orjson.loads(json)
    except orjson.JSONDecodeError:
        raise MessageError("directives_json", "JSON") from None
    if not isinstance(directives, dict):
        raise MessageError("directives_json", "a JSON object")
    _check_depth(directives)
    return directives


def _check_depth(value: Any) -> None:
    layer, depth = [value], 0
    while layer:
        depth += 1
        if not MAX_DIRECTIVES_DEPTH.allows(depth):
            raise MessageError("directives_json", f"nested at most {MAX_DIRECTIVES_DEPTH.maximum} deep")
        below: list[Any] = []
        for item in layer:
            below += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        layer = below


@encoder
def encode_status(status: AgentStatus) -> pb.AgentStatus:
    """Encode an agent's status."""
    state: Any = STATE_NUMBERS[status.state]
    return pb.AgentStatus(
        entity_id=status.entity_id,
        tick_id=status.tick_id,
        state=state,
        detail=status.detail,
        observations=status.observations,
        intents=status.intents,
        refused=status.refused,
        thoughts=status.thoughts,
        failed_thoughts=status.failed_thoughts,
        turns=status.turns,
        dropped_reports=status.dropped_reports,
        program=status.program,
    )


def decode_status(message: pb.AgentStatus) -> AgentStatus:
    """Decode an agent's status."""
    return AgentStatus(
        entity_id=name(message.entity_id, "entity_id"),
        tick_id=tick(message.tick_id),
        state=member(AGENT_STATES, message.state, "state"),
        detail=text(message.detail, "detail", MAX_DETAIL_CHARS),
        observations=tick(message.observations, "observations"),
        intents=tick(message.intents, "intents"),
        refused=tick(message.refused, "refused"),
        thoughts=tick(message.thoughts, "thoughts"),
        failed_thoughts=tick(message.failed_thoughts, "failed_thoughts"),
        turns=_turns(message.turns),
        dropped_reports=tick(message.dropped_reports, "dropped_reports"),
        program=text(message.program, "program", MAX_DETAIL_CHARS),
    )


def _turns(value: str) -> str:
    if not are_turns(text(value, "turns", MAX_TURNS_CHARS)):
        raise MessageError("turns", "letters of turns, each with a number of ticks")
    return value
