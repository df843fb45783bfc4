"""Frames of agents' reports. Long texts are not in them: the page requests these separately."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from tickmind.viewer.frames.layout import FrameKind, Tag, json_section, pack

if TYPE_CHECKING:
    from tickmind.protocol import AgentStatus, ThoughtReport

BRIEF_CHARS = 280  # of a reply or a status, for lists and bubbles


def notes(
    tick_id: int,
    sim_time_ms: int,
    thoughts: "Iterable[ThoughtReport]",
    statuses: "Iterable[AgentStatus]",
    actor_rows: Mapping[str, int],
) -> bytes:
    """Make the frame of some reports; empty if there are none of existing actors."""
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
    """Make the frame of agents' states after a tick; each comes with the row of its actor.

    Agents that are not in it run as usual, so earlier reports are not needed.
    """
    shown = [shown_state(status, row) for row, status in states]
    return pack(FrameKind.NOTES, tick_id, sim_time_ms, {Tag.HOLDING: orjson.dumps(shown)})


def shown_state(status: "AgentStatus", row: int) -> list[Any]:
    """Return an agent's state in the form of the page."""
    return [status.tick_id, row, status.state.value, status.detail[:BRIEF_CHARS]]


def thought_mark(report: "ThoughtReport", row: int) -> dict[str, Any]:
    """Return what a list shows of a thought."""
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
    """Return a thought with all its texts."""
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
        "late": thought.late,
        "kind": thought.kind,
        "prompt_tokens": thought.prompt_tokens,
        "completion_tokens": thought.completion_tokens,
        "cached_tokens": thought.cached_tokens,
        "error": thought.error,
    }
