"""Conversations: utterances close to each other in time and place."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from tickmind.record.report.figures import Conversation, ConversationLine

PAUSE_TICKS: Final = 12  # a longer silence ends a conversation


@dataclass(slots=True)
class _Talk:
    lines: list[ConversationLine] = field(default_factory=list)
    speakers: dict[str, None] = field(default_factory=dict)
    x: int = 0
    y: int = 0
    last_tick_id: int = 0


def conversations(
    said: Iterable[tuple[int, str, str, int, int]], hearing_radius: int, *, pause_ticks: int = PAUSE_TICKS
) -> list[Conversation]:
    """Return conversations of at least two speakers, in the order in which they began.

    `said` is (tick, actor, text, x, y) in ascending ticks. An actor joins the conversation whose last utterance it
    could hear; among several the one that spoke last.
    """
    going: list[_Talk] = []
    talks: list[_Talk] = []
    for tick_id, actor_id, text, x, y in said:
        going = [talk for talk in going if tick_id - talk.last_tick_id <= pause_ticks]
        near = [talk for talk in going if max(abs(talk.x - x), abs(talk.y - y)) <= hearing_radius]
        talk = max(near, key=lambda other: other.last_tick_id, default=None)
        if talk is None:
            talk = _Talk()
            going.append(talk)
            talks.append(talk)
        talk.lines.append(ConversationLine(tick_id, actor_id, text))
        talk.speakers.setdefault(actor_id)
        talk.x, talk.y, talk.last_tick_id = x, y, tick_id
    return [
        Conversation(tuple(talk.speakers), tuple(talk.lines), talk.x, talk.y)
        for talk in talks
        if len(talk.speakers) > 1
    ]
