"""Live a mind's past again: feed a host the observations of past ticks, in order, and drop what it decides."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from tickmind.agent.guarded_host import GuardedHost
from tickmind.agent.minds import AskingHost, MindHost
from tickmind.protocol import Intent, Observation


@dataclass(frozen=True, slots=True)
class PastTurn:
    """What the entities of a process observed in one tick, and those that only perceived and did not act."""

    tick_id: int
    observations: Sequence[Observation]
    only_perceived: Container[str] = ()


def relive(host: MindHost, turns: Iterable[PastTurn]) -> int:
    """Have a host live through past turns and return their number; then its minds are as they were after the last.

    Thoughts, questions and insights of these ticks were reported when they were lived first, and are dropped.
    """
    guarded, count = GuardedHost(host), 0
    for turn in turns:
        play_turn(guarded, turn)
        host.take_thoughts()
        if isinstance(host, AskingHost):
            host.take_questions()
        host.take_insights()
        count += 1
    return count


def play_turn(host: GuardedHost, turn: PastTurn) -> dict[str, Intent]:
    """Have all entities of a turn perceive, then act, then reflect; return the intents of those that did not fail."""
    intents: dict[str, Intent] = {}
    if not host.begin(turn.tick_id, turn.observations):
        perceived = [observation for observation in turn.observations if not host.perceive(observation)]
        for observation in perceived:
            if observation.me.entity_id in turn.only_perceived:
                continue
            intent = host.act(observation)
            if not isinstance(intent, str):
                intents[observation.me.entity_id] = intent
    host.reflect(turn.tick_id)
    return intents
