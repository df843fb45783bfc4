"""`DeedWatch`: what actors did and what happened to them, from ticks alone; it needs no minds."""

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from tickmind.base import Limit
from tickmind.protocol import ACTION_CODES, ActionType, ActorStatus, Effect, TickRecord
from tickmind.record.measures.material import ENERGY_FROM, HUNGER_BELOW
from tickmind.record.story.events import StoryEvent, StoryKind
from tickmind.record.story.stays import NOWHERE, Stays

if TYPE_CHECKING:
    from tickmind.protocol import WorldInfo
    from tickmind.protocol.columns import Bool, Int16
    from tickmind.protocol.entity import ActionInfo

VISIT_TICKS = 5  # a shorter stay in a zone is passing through
CROWD_LEAST = 4
CROWD_SHARE = 3  # a crowd is one in so many of all at least
PAUSE_TICKS = 12  # within which an answer belongs to a line
RELIEF = 100  # by which a need must get better before it is told again
MAX_EVENTS = Limit("number of events after which routine deeds are left out of a chronicle", 500_000)
_ROUTINE = frozenset(
    (StoryKind.GATHERED, StoryKind.WORKED, StoryKind.MADE, StoryKind.GOT, StoryKind.BOUGHT, StoryKind.SOLD)
)
_INVENTORY = "inventory."
_DEEDS = np.zeros(256, dtype=np.bool_)  # code of an action -> whether it may be told
for _action in (ActionType.PICKUP, ActionType.INTERACT, ActionType.BUILD, ActionType.BUY, ActionType.SELL):
    _DEEDS[ACTION_CODES[_action]] = True


class DeedWatch:
    """Finds what happened, one tick after another. Who is where or asleep from the first tick on is not told."""

    def __init__(self, info: "WorldInfo") -> None:
        self._info = info
        self._ids = tuple(actor.entity_id for actor in info.actors)
        personas = [actor.persona for actor in info.actors]
        self._homes = tuple(persona.home if persona else "" for persona in personas)
        self._works = tuple(persona.work if persona else "" for persona in personas)
        self._kinds = {kind.name: kind for kind in info.kinds}
        self._kind_of = {thing.object_id: thing.kind for thing in info.objects}
        self._states = {thing.object_id: thing.state for thing in info.objects}
        self.stays = Stays(info)
        self.events: list[StoryEvent] = []
        self.talks: list[tuple[int, str, str]] = []  # tick and two actors, one of which answered the other
        self._talked: dict[tuple[str, str], int] = {}  # two actors -> when one of them answered the other last
        self._first_tick: int | None = None
        self._bits: np.ndarray | None = None
        self._present: Bool | None = None
        count = len(self._ids)
        self._hungry, self._tired = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
        self._said: deque[tuple[int, str, int, int]] = deque(maxlen=64)  # tick, speaker, x and y
        self._crowds: dict[tuple[int, int], tuple[int, int]] = {}  # day and zone -> most actors, and when

    def add(self, record: TickRecord) -> None:
        """Look at the next tick."""
        if self._first_tick is None:
            self._first_tick = record.tick_id
        zones = self.stays.add(record.tick_id, record.actor_state)
        self._presence(record)
        self._sleep(record, zones)
        self._deeds(record)
        self._needs(record)
        self._speech(record)
        self._rules(record)
        self._count(record.tick_id, zones)
        for delta in record.object_deltas:
            if delta.field == "state":
                self._states[delta.object_id] = str(delta.new_value)

    def finish(self) -> list[StoryEvent]:
        """Return all events, those of places with them, in the order of ticks."""
        visits: set[tuple[int, str]] = set()  # row and zone
        for stay in sorted(self.stays, key=lambda one: one.first_tick_id):
            known = (stay.row, stay.zone) in visits or stay.first_tick_id == self._first_tick
            if not known and stay.last_tick_id - stay.first_tick_id < VISIT_TICKS:
                continue
            visits.add((stay.row, stay.zone))
            if not known and stay.zone not in (self._homes[stay.row], self._works[stay.row]):
                how = "home" if stay.zone in self._homes else ""
                self._note(stay.first_tick_id, StoryKind.VISITED, stay.row, place=stay.zone, how=how)
        least = max(CROWD_LEAST, -(-len(self._ids) // CROWD_SHARE))
        for (_, number), (most, tick_id) in self._crowds.items():
            if most >= least:
                name = self.stays.name(number)
                self.events.append(StoryEvent(tick_id, StoryKind.CROWD, amount=most, place=name))
        self.events.sort(key=lambda event: event.tick_id)
        return self.events

    def _note(
        self, tick_id: int, kind: StoryKind, row: int, what: str = "", amount: int = 1, how: str = "", place: str = ""
    ) -> None:
        if kind in _ROUTINE and not MAX_EVENTS.allows(len(self.events)):
            return
        who = self._ids[row]
        place = place or self.stays.at(who, tick_id)
        self.events.append(StoryEvent(tick_id, kind, who, "", what, amount, place, how))

    def _presence(self, record: TickRecord) -> None:
        present = record.actor_state.present
        if self._present is not None:
            for row in np.flatnonzero(present & ~self._present).tolist():
                self._note(record.tick_id, StoryKind.CAME, row)
            for row in np.flatnonzero(~present & self._present).tolist():
                place = self.stays.at(self._ids[row], record.tick_id - 1)
                self._note(record.tick_id, StoryKind.LEFT, row, place=place)
        self._present = present.copy()

    def _sleep(self, record: TickRecord, zones: "Int16") -> None:
        bits = record.actor_state.status_bits.copy()
        if self._bits is not None:
            begun = bits & ~self._bits
            for row in np.flatnonzero(begun & int(ActorStatus.ASLEEP)).tolist():
                here, home = self.stays.name(int(zones[row])), self._homes[row]
                kind = StoryKind.SLEPT_OUT if home and here != home else StoryKind.SLEPT
                self._note(record.tick_id, kind, row)
            for row in np.flatnonzero(begun & int(ActorStatus.INCAPACITATED)).tolist():
                self._note(record.tick_id, StoryKind.COLLAPSED, row)
        self._bits = bits

    def _deeds(self, record: TickRecord) -> None:
        results, intents = record.results, record.intents
        for place in np.flatnonzero((results.reason == 0) & _DEEDS[results.action]).tolist():
            row, action = int(results.actor[place]), int(results.action[place])
            effects = results.effects.get(place, ())
            target = results.target_ids.get(place, "")
            at = int(np.searchsorted(intents.actor, row))
            named = int(intents.kind[at]) if at < len(intents) and int(intents.actor[at]) == row else -1
            got = [(item, by) for item, by in _items(effects) if by > 0]
            if action == ACTION_CODES[ActionType.PICKUP]:
                for item, by in got:
                    self._note(record.tick_id, StoryKind.GATHERED, row, what=item, amount=by)
            elif action == ACTION_CODES[ActionType.INTERACT]:
                self._interact(record.tick_id, row, target, named, effects)
            elif action == ACTION_CODES[ActionType.BUILD]:
                kind = self._kind_of.get(target, "")
                self._note(record.tick_id, StoryKind.BUILT, row, what=kind)
            else:
                bought = action == ACTION_CODES[ActionType.BUY]
                item = self._info.item_kinds[named] if 0 <= named < len(self._info.item_kinds) else ""
                by = abs(next((by for name, by in _items(effects) if name == item), 1))
                self._note(record.tick_id, StoryKind.BOUGHT if bought else StoryKind.SOLD, row, what=item, amount=by)

    def _interact(self, tick_id: int, row: int, target: str, named: int, effects: tuple[Effect, ...]) -> None:
        """Note work that is done: its last step, if it took several."""
        if any(effect.name == "work_remaining" and effect.value > 0 for effect in effects):
            return
        kind = self._kind_of.get(target, "")
        action = self._action(target, kind, named)
        verb = action.verb if action else ""
        got = [(item, by) for item, by in _items(effects) if by > 0]
        used = any(by < 0 for _, by in _items(effects))
        for item, by in got:
            if used:
                self._note(tick_id, StoryKind.MADE, row, what=item, amount=by, how=verb)
            else:
                self._note(tick_id, StoryKind.GOT, row, what=item, amount=by, how=f"{verb} {kind}")
        if not got and not (action and _is_undone(self._kinds[kind].actions, action)):
            self._note(tick_id, StoryKind.WORKED, row, what=kind, how=verb)

    def _action(self, target: str, kind: str, named: int) -> "ActionInfo | None":
        """Return what was done with an object; the first that its state offers, if the intent names none."""
        known = self._kinds.get(kind)
        state = self._states.get(target, "")
        if known is None or state not in known.states:
            return None
        offered = known.actions[known.states.index(state)]
        verb = self._info.verbs[named] if 0 < named < len(self._info.verbs) else ""
        return next((action for action in offered if verb in ("", action.verb)), None)

    def _needs(self, record: TickRecord) -> None:
        if record.needs is None:
            return
        needs = record.needs
        for kind, was, now, is_better in (
            (StoryKind.HUNGRY, self._hungry, needs.hunger >= HUNGER_BELOW, needs.hunger < HUNGER_BELOW - RELIEF),
            (StoryKind.TIRED, self._tired, needs.energy < ENERGY_FROM, needs.energy >= ENERGY_FROM + RELIEF),
        ):
            for row in needs.actor[now & ~was[needs.actor]].tolist():
                self._note(record.tick_id, kind, row)
            was[needs.actor] = now | (was[needs.actor] & ~is_better)

    def _speech(self, record: TickRecord) -> None:
        radius = self._info.hearing_radius
        for said in record.utterances:
            for tick_id, speaker, x, y in self._said:
                near = max(abs(said.x - x), abs(said.y - y)) <= radius
                if near and speaker != said.actor_id and record.tick_id - tick_id <= PAUSE_TICKS:
                    pair = min(speaker, said.actor_id), max(speaker, said.actor_id)
                    if record.tick_id - self._talked.get(pair, -PAUSE_TICKS - 1) > PAUSE_TICKS:
                        self.talks.append((record.tick_id, *pair))
                    self._talked[pair] = record.tick_id
            self._said.append((record.tick_id, said.actor_id, said.x, said.y))

    def _rules(self, record: TickRecord) -> None:
        for event in record.rule_events:
            if event.effects and not event.own:
                continue  # items that decayed
            kind = StoryKind.RULE if event.own else StoryKind.GOAL
            what = (event.text or event.name) if event.own else event.name
            how = "ends" if event.ends else ""
            for who in event.actor_ids or ("",):
                place = self.stays.at(who, record.tick_id)
                self.events.append(StoryEvent(record.tick_id, kind, who, "", what, event.score, place, how))

    def _count(self, tick_id: int, zones: "Int16") -> None:
        """Count the actors in zones, for the largest crowd of each day."""
        counted = np.bincount(zones[zones != NOWHERE])
        if not len(counted) or counted.max() < CROWD_LEAST:
            return
        day = self._info.setting.calendar.at(tick_id).day
        for number in np.flatnonzero(counted >= CROWD_LEAST).tolist():
            if int(counted[number]) > self._crowds.get((day, number), (0, 0))[0]:
                self._crowds[day, number] = int(counted[number]), tick_id


def _items(effects: tuple[Effect, ...]) -> list[tuple[str, int]]:
    return [
        (effect.name.removeprefix(_INVENTORY), effect.value) for effect in effects if effect.name.startswith(_INVENTORY)
    ]


def _is_undone(actions: "tuple[tuple[ActionInfo, ...], ...]", action: "ActionInfo") -> bool:
    """Return whether it takes one step and can be done back and forth for nothing, as with a door."""
    is_small = action.work <= 1 and not action.consumes
    return is_small and sum(any(one.work <= 1 for one in offered) for offered in actions) > 1
