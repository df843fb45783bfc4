"""Frames of what agents told of themselves. Long texts are not in them: whoever wants to read one asks for it."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from tickmind.viewer.frames.layout import FrameKind, Tag, json_section, pack

if TYPE_CHECKING:
    from tickmind.protocol import AgentStatus, ThoughtReport

BRIEF_CHARS = 280  # of a reply or of what an agent does, for lists and bubbles


def notes(
    tick_id: int,
    sim_time_ms: int,
    thoughts: "Iterable[ThoughtReport]",
    statuses: "Iterable[AgentStatus]",
    actor_rows: Mapping[str, int],
) -> bytes:
    """The frame of some reports, or nothing if there are none of actors that exist."""
    marks = [
        thought_mark(report, actor_rows[report.entity_id]) for report in thoughts if report.entity_id in actor_rows
    ]
    states = [
        shown_state(status, actor_rows[status.entity_id]) for status in statuses if status.entity_id in actor_rows
    ]
    if not marks and not states:
        return b""
    sections = {Tag.THOUGHTS: json_section(marks), Tag.STATES: json_section(states)}
    return pack(FrameKind.NOTES, tick_id, sim_time_ms, sections)


def holding(tick_id: int, sim_time_ms: int, states: "Iterable[tuple[int, AgentStatus]]") -> bytes:
    """The frame of the states that agents are in after a tick; each comes with the row of its actor.

    Whoever is not in it runs as usual, so nobody needs to know what was told before that tick.
    """
    shown = [shown_state(status, row) for row, status in states]
    return pack(FrameKind.NOTES, tick_id, sim_time_ms, {Tag.HOLDING: orjson.dumps(shown)})


def shown_state(status: "AgentStatus", row: int) -> list[Any]:
    """How an agent is doing, as the page reads it."""
    return [status.tick_id, row, status.state.value, status.detail[:BRIEF_CHARS]]


def thought_mark(report: "ThoughtReport", row: int) -> dict[str, Any]:
    """What a list shows of a thought."""
    thought = report.thought
    return {
        "tick": report.tick_id,
        "row": row,
        "waited": max(0, thought.answered_tick - thought.asked_tick),
        "brief": thought.reply[:BRIEF_CHARS],
        "model": thought.model,
        "latency_s": thought.latency_s,
        "cost_usd": thought.cost_usd,
        "tokens": (thought.prompt_tokens or 0) + (thought.completion_tokens or 0),
        "error_type": thought.error_type,
    }


def whole_thought(report: "ThoughtReport", row: int) -> dict[str, Any]:
    """All that there is to read of a thought."""
    thought = report.thought
    return {
        **thought_mark(report, row),
        "asked_tick": thought.asked_tick,
        "answered_tick": thought.answered_tick,
        "system_prompt": thought.system_prompt,
        "user_message": thought.user_message,
        "reply": thought.reply,
        "thinking": thought.thinking,
        "directives": dict(thought.directives),
        "client": thought.client,
        "provider": thought.provider,
        "attempts": thought.attempts,
        "queued_s": thought.queued_s,
        "prompt_tokens": thought.prompt_tokens,
        "completion_tokens": thought.completion_tokens,
        "error": thought.error,
    }
