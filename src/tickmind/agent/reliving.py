"""Live a mind's past again: feed a host the observations of past ticks, in order, and drop what it decides."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from tickmind.agent.minds import AskingHost, MindHost
from tickmind.agent.mistakes import Mistakes
from tickmind.protocol import Intent, Observation


@dataclass(frozen=True, slots=True)
class PastTurn:
    """What the entities of a process observed in one tick, and those that only perceived and did not act."""

    tick_id: int
    observations: Sequence[Observation]
    only_perceived: Container[str] = ()


def relive(host: MindHost, turns: Iterable[PastTurn]) -> int:
    """Have a host live through past turns and return their number; then its minds are as they were after the last.

    Thoughts, questions and insights of these ticks were reported when they were lived first, and are dropped. What
    minds raise is logged, as in a live tick.
    """
    mistakes, count = Mistakes(), 0
    for turn in turns:
        play_turn(host, turn, mistakes)
        host.reflect(turn.tick_id)
        host.take_thoughts()
        if isinstance(host, AskingHost):
            host.take_questions()
        host.take_insights()
        count += 1
    return count


def play_turn(host: MindHost, turn: PastTurn, mistakes: Mistakes) -> dict[str, Intent]:
    """Have all entities of a turn perceive, then act; return the intents of those that did not fail."""
    host.begin(turn.tick_id, turn.observations)
    ready: list[Observation] = []
    intents: dict[str, Intent] = {}
    for observation in turn.observations:
        try:
            host.perceive(observation)
        except Exception as error:  # noqa: BLE001  a mind is user code
            mistakes.note("perceiving failed", error, entity_id=observation.me.entity_id, tick=turn.tick_id)
        else:
            if observation.me.entity_id not in turn.only_perceived:
                ready.append(observation)
    for observation in ready:
        try:
            intents[observation.me.entity_id] = host.act(observation)
        except Exception as error:  # noqa: BLE001  a mind is user code
            mistakes.note("act failed", error, entity_id=observation.me.entity_id, tick=turn.tick_id)
    return intents
