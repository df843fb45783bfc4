"""Frames of agents' reports. Long texts are not in them: the page requests these separately."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from tickmind.viewer.frames.layout import FrameKind, Tag, json_section, pack

if TYPE_CHECKING:
    from tickmind.protocol import AgentStatus, ThoughtReport

BRIEF_CHARS = 280  # of a reply or a status, for lists and bubbles
_READ_CHARS = 4000  # of a reply that is put into words
_MOST_DEPTH = 4
_GOAL_CHARS = 80  # of a reply that is read as what a character wants to do
_MARKS = re.compile(r'[{}\[\]"]+')


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
        "brief": thought_news(thought.kind, thought.reply),
        "model": thought.model,
        "latency_s": thought.latency_s,
        "cost_usd": thought.cost_usd,
        "tokens": (thought.prompt_tokens or 0) + (thought.completion_tokens or 0),
        "error_type": thought.error_type,
    }


def thought_news(kind: str, reply: str) -> str:
    """Return what came of a thought as it stands after the character's name in a list: never as JSON.

    >>> thought_news("", "fetch berries")
    'wants to fetch berries'
    >>> thought_news("", '{"goal": "hide", "steps": ["go", "wait"]}')
    'decides: goal hide, steps go, wait'
    """
    text = " ".join(_plain_reply(reply).split())
    if not text:
        return "gets an empty answer"
    if len(text) > BRIEF_CHARS:
        text = f"{text[: BRIEF_CHARS - 1]}…"
    match kind:
        case "talk" | "rehearse":
            return f"thinks of saying “{text}”"
        case "extract":
            return "hears nothing worth keeping" if text.lower().strip(".") == "nothing" else f"will remember: {text}"
        case "reflect":
            return "concludes nothing new" if text.lower().startswith("nothing follows") else f"concludes: {text}"
        case "plan_day":
            return f"plans the day: {text}"
        case "":
            is_plain = text == reply.strip() and text[0].islower() and text[-1].isalnum() and len(text) <= _GOAL_CHARS
            return f"wants to {text}" if is_plain else f"decides: {text}"
        case _:
            return f"thinks: {text}"


def _plain_reply(reply: str) -> str:
    """Return a reply without its fence, with the lines of a list as parts of one line, and JSON as names and values."""
    text = reply[:_READ_CHARS].strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    if text[:1] in ("{", "["):
        try:
            return _in_words(orjson.loads(text))
        except orjson.JSONDecodeError:
            return _MARKS.sub(" ", text)  # cut off: the words are there, and the marks say nothing
    return ", ".join(line.strip() for line in text.splitlines() if line.strip())


def _in_words(value: Any, depth: int = 0) -> str:
    match value:
        case dict() | list() if depth >= _MOST_DEPTH:
            return "…"
        case dict():
            return ", ".join(
                f"{str(name).replace('_', ' ')} {_in_words(inner, depth + 1)}" for name, inner in value.items()
            )
        case list():
            return ", ".join(_in_words(inner, depth + 1) for inner in value)
        case None:
            return "nothing"
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)


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
