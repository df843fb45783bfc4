"""`ActionList`: the actions that a scenario offers, numbered."""

from dataclasses import dataclass

import numpy as np

from tickmind.protocol import ACTION_CODES, ActionType, Direction
from tickmind.protocol.intent import UNUSED
from tickmind.world.scenario.kinds import ObjectKind
from tickmind.world.state.tables import Tables

NO_DEED, TO_AN_ACTOR = -1, -2  # of choices that need no object in reach


@dataclass(frozen=True, slots=True)
class Choice:
    """One action of the list. `kind` is the code that its intent has: an item, a verb or a kind of object."""

    name: str
    action: ActionType
    direction: int = UNUSED
    kind: int = UNUSED
    deed: int = NO_DEED  # what an object in reach must allow; 0 is none


class ActionList:
    """All choices in a fixed order: wait, steps, items, objects, sleep, containers, gifts; none to speak.

    Amounts are always 1. Objects and actors are not named: it is the first one in reach that fits.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._deeds: list[tuple[ActionType, int]] = []  # of which each object allows some, from deed 1 on
        self.choices = tuple(self._list())
        self.names = tuple(choice.name for choice in self.choices)
        self.code = np.array([ACTION_CODES[choice.action] for choice in self.choices], dtype=np.uint8)
        self.direction = np.array([choice.direction for choice in self.choices], dtype=np.int8)
        self.kind = np.array([choice.kind for choice in self.choices], dtype=np.int32)
        self.deed = np.array([choice.deed for choice in self.choices], dtype=np.int32)
        self.usable = self._usable()

    def __len__(self) -> int:
        return len(self.choices)

    def places(self, action: ActionType) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        """Return the numbers of the choices of one type."""
        return np.array([at for at, choice in enumerate(self.choices) if choice.action is action], dtype=np.int64)

    def _list(self) -> list[Choice]:
        tables, items = self._tables, list(enumerate(self._tables.item_names))
        kinds = tables.scenario.kinds
        listed = [Choice("wait", ActionType.WAIT)]
        listed += [Choice(f"move_{way.name.lower()}", ActionType.MOVE, int(way)) for way in Direction]
        listed += [Choice(f"pick_up_{name}", ActionType.PICKUP, kind=code) for code, name in items]
        usable = [(code, name) for code, name in items if tables.item_usable[code]]
        if tables.scenario.rules.needs is not None:
            listed += [Choice(f"use_{name}", ActionType.USE, kind=code) for code, name in usable]
        listed += [
            Choice(verb, ActionType.INTERACT, kind=code, deed=self._deed(ActionType.INTERACT, code))
            for code, verb in enumerate(tables.verbs)
            if code
        ]
        listed += [
            Choice(f"build_{kind.name}", ActionType.BUILD, kind=code)
            for code, kind in enumerate(kinds)
            if kind.build is not None
        ]
        if tables.scenario.rules.needs is not None:
            listed += [Choice("sleep", ActionType.SLEEP), Choice("wake", ActionType.WAKE)]
        for action in (ActionType.PUT, ActionType.TAKE, ActionType.BUY, ActionType.SELL):
            listed += [
                Choice(f"{action.lower()}_{name}", action, kind=code, deed=self._deed(action, code))
                for code, name in items
                if any(_exchanges(kind, action, name) for kind in kinds)
            ]
        if tables.actors_each > 1 and not tables.scenario.rules.gifts_need_consent:
            listed += [Choice(f"give_{name}", ActionType.GIVE, kind=code, deed=TO_AN_ACTOR) for code, name in items]
        return listed

    def _deed(self, action: ActionType, kind: int) -> int:
        self._deeds.append((action, kind))
        return len(self._deeds)

    def _usable(self) -> "np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]":
        """Return kind x state x deed: whether an object in this state allows it; deed 0 says whether it allows any."""
        tables = self._tables
        kinds = tables.scenario.kinds
        states = tables.kind_walkable.shape[1]
        usable = np.zeros((max(len(kinds), 1), states, len(self._deeds) + 1), dtype=np.uint8)
        for row, kind in enumerate(kinds):
            for deed, (action, code) in enumerate(self._deeds, 1):
                if action is ActionType.INTERACT:
                    for at, state in enumerate(kind.states):
                        usable[row, at, deed] = any(one.verb == tables.verbs[code] for one in state.actions)
                else:
                    usable[row, :, deed] = _exchanges(kind, action, tables.item_names[code])
        usable[:, :, 0] = usable[:, :, 1:].any(axis=2)
        return usable


def _exchanges(kind: ObjectKind, action: ActionType, item: str) -> bool:
    """Return whether a kind of object is a container with which an item can be exchanged in this way."""
    if kind.container is None:
        return False
    if action in (ActionType.PUT, ActionType.TAKE):
        return True
    return kind.container.price(item, sells=action is ActionType.BUY) is not None
