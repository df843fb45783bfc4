"""Compile intents with names to columns with numbers. It needs NumPy, so `protocol` itself does not import it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tickmind.protocol.entity import WorldInfo
from tickmind.protocol.intent import (
    ACTION_CODES,
    ACTION_OF,
    UNKNOWN,
    UNUSED,
    Accept,
    Build,
    Buy,
    Decline,
    Drop,
    Give,
    Intent,
    IntentColumns,
    Interact,
    Move,
    Offer,
    Pickup,
    Put,
    Say,
    Sell,
    Take,
    Use,
)

_LARGEST = 2**31 - 1


class NameCodes(Protocol):
    """The numbers behind the names of a world."""

    @property
    def item_code(self) -> Mapping[str, int]:
        """Item kind -> code."""
        ...

    @property
    def verb_code(self) -> Mapping[str, int]:
        """Verb -> code."""
        ...

    @property
    def kind_code(self) -> Mapping[str, int]:
        """Kind of objects -> code."""
        ...

    @property
    def actor_row(self) -> Mapping[str, int]:
        """Actor's id -> row."""
        ...

    @property
    def object_row(self) -> Mapping[str, int]:
        """Object's id -> row."""
        ...


@dataclass(frozen=True, slots=True)
class WorldCodes:
    """The numbers behind the names of a world, from its `WorldInfo`."""

    item_code: Mapping[str, int]
    verb_code: Mapping[str, int]
    kind_code: Mapping[str, int]
    actor_row: Mapping[str, int]
    object_row: Mapping[str, int]

    @classmethod
    def of(cls, world: WorldInfo) -> "WorldCodes":
        """Make the lookup tables of a world."""
        return cls(
            {kind: code for code, kind in enumerate(world.item_kinds)},
            {verb: code for code, verb in enumerate(world.verbs)},
            {kind.name: code for code, kind in enumerate(world.kinds)},
            {actor.entity_id: row for row, actor in enumerate(world.actors)},
            {thing.object_id: row for row, thing in enumerate(world.objects)},
        )


def compile_intents(codes: NameCodes, intents: Mapping[int, Intent]) -> IntentColumns:
    """Make columns of intents by actor row; a name that the world does not have becomes `UNKNOWN`."""
    rows = sorted(intents)
    count = len(rows)
    action = np.zeros(count, dtype=np.uint8)
    direction = np.full(count, UNUSED, dtype=np.int8)
    kind, amount, target = (np.full(count, UNUSED, dtype=np.int32) for _ in range(3))
    texts: dict[int, tuple[str, str]] = {}
    wanted: dict[int, tuple[int, int]] = {}
    for place, row in enumerate(rows):
        intent = intents[row]
        action[place] = ACTION_CODES[ACTION_OF[type(intent)]]
        if isinstance(intent, Move):
            direction[place] = intent.direction
        elif isinstance(intent, Pickup | Use | Drop | Give):
            kind[place] = UNKNOWN if intent.item_id else codes.item_code.get(intent.kind, UNKNOWN)
            amount[place] = max(-1, min(intent.amount, _LARGEST))
            if isinstance(intent, Give):
                target[place] = codes.actor_row.get(intent.target_id, UNKNOWN)
        elif isinstance(intent, Put | Take | Buy | Sell):
            kind[place] = codes.item_code.get(intent.kind, UNKNOWN)
            amount[place] = max(-1, min(intent.amount, _LARGEST))
            target[place] = codes.object_row.get(intent.target_id, UNKNOWN)
        elif isinstance(intent, Offer):
            kind[place] = codes.item_code.get(intent.kind, UNKNOWN)
            amount[place] = max(-1, min(intent.amount, _LARGEST))
            target[place] = codes.actor_row.get(intent.target_id, UNKNOWN)
            if intent.wanted_kind:
                wanted_kind = codes.item_code.get(intent.wanted_kind, UNKNOWN)
                wanted[place] = wanted_kind, max(-1, min(intent.wanted_amount, _LARGEST))
        elif isinstance(intent, Accept | Decline):
            target[place] = codes.actor_row.get(intent.target_id, UNKNOWN)
        elif isinstance(intent, Interact):
            kind[place] = codes.verb_code.get(intent.verb, UNKNOWN)
            target[place] = codes.object_row.get(intent.target_id, UNKNOWN)
        elif isinstance(intent, Build):
            direction[place] = intent.direction
            kind[place] = codes.kind_code.get(intent.kind, UNKNOWN)
        elif isinstance(intent, Say):
            texts[place] = (intent.channel, intent.text)
    return IntentColumns(np.array(rows, dtype=np.int32), action, direction, kind, amount, target, texts, wanted)
