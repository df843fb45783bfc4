"""`MindMaterial`: what the record of a run has of minds."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tickmind.base import Limit
from tickmind.mind.memory import HeldNumbers
from tickmind.mind.people import CLOSE_LIKING, CLOSE_TRUST
from tickmind.mind.plans import usual_day
from tickmind.protocol import MemoryNote, ObjectDelta, RuleEvent, TickRecord
from tickmind.protocol.setting import CalendarInfo
from tickmind.record.measures.parties import read_parties
from tickmind.record.measures.presence import Presence
from tickmind.record.measures.wordings import Wording, read_wording
from tickmind.record.reader import LlmCall
from tickmind.record.tables.gifts import Gift, gifts_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tickmind.protocol import Insight
    from tickmind.record.reader import RunReader

HUNGER_BELOW, ENERGY_FROM = 700, 150  # of an actor that is well
COLD_BELOW = -0.15  # liking or trust of one that is a friend no more
MAX_TEXT_CHARS = Limit("length of a value on a Blackboard that is read for measures", 20_000, "characters")


class SaidLine(NamedTuple):
    """A line that was said."""

    tick_id: int
    speaker_id: str
    text: str


class TalkSpan(NamedTuple):
    """A talk as one of those who took part saw it, from the first tick to the last."""

    who: str
    partner_id: str
    first_tick_id: int
    last_tick_id: int
    more: tuple[str, ...] = ()  # who else took part at any time, in a circle

    @property
    def others(self) -> tuple[str, ...]:
        """All with whom it talked."""
        return self.partner_id, *self.more


class BondChange(NamedTuple):
    """What another is to a mind from a tick on: `close`, `cold`, or neither."""

    tick_id: int
    who: str
    other_name: str  # as the mind calls it
    bond: str


@dataclass
class MindMaterial:
    """What the record of a run has of minds. Actors without a mind that reports are left out."""

    calendar: CalendarInfo = field(default_factory=CalendarInfo)
    last_tick_id: int = 0
    names: dict[str, str] = field(default_factory=dict)  # actor -> what others call it
    facts: dict[str, tuple[str, ...]] = field(default_factory=dict)  # actor -> what its persona knows at the beginning
    lines: list[SaidLine] = field(default_factory=list)
    gifts: list[tuple[int, Gift]] = field(default_factory=list)  # tick and gift
    talks: list[TalkSpan] = field(default_factory=list)
    plans: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)  # actor and day -> its errands at last
    notes: dict[str, dict[str, MemoryNote]] = field(default_factory=dict)  # actor -> text -> its first such note
    numbered: dict[str, dict[int, MemoryNote]] = field(default_factory=dict)  # actor -> number -> its last form
    held: dict[str, HeldNumbers] = field(default_factory=dict)  # actor -> which of these it still has at the end
    presence: Presence | None = None  # where all were by day, and when they worked
    usual_errands: dict[str, int] = field(default_factory=dict)  # actor -> how many its persona's usual day has
    bonds: list[BondChange] = field(default_factory=list)
    moods: list[tuple[int, str, str]] = field(default_factory=list)  # tick, actor and its new mood in a word
    minds: set[str] = field(default_factory=set)  # actors whose minds are in the record
    well_ticks: int = 0  # ticks in which an actor with a mind was neither starving nor exhausted
    actor_ticks: int = 0
    goals: frozenset[str] = frozenset()  # of the world
    reached: set[str] = field(default_factory=set)  # those that were
    doubling: dict[str, int] = field(default_factory=dict)  # object whose stock doubles -> in how many ticks
    used_up: dict[str, int] = field(default_factory=dict)  # such an object -> the tick that left it nothing
    calls: list[LlmCall] = field(default_factory=list)
    wordings: list[Wording] = field(default_factory=list)  # lines that a model was asked to word, and what it wrote
    parties: dict[str, dict[int, frozenset[str]]] = field(default_factory=dict)  # fact -> tick -> who was there

    @cached_property
    def _line_ticks(self) -> list[int]:
        return [line.tick_id for line in self.lines]

    def lines_between(self, first: int, last: int) -> list[SaidLine]:
        """Return the lines from one tick to another."""
        return self.lines[bisect_left(self._line_ticks, first) : bisect_right(self._line_ticks, last)]

    def remembered(self, who: str) -> list[MemoryNote]:
        """Return what a mind still has of its notes at the end, in the order in which it noted them."""
        held = self.held.get(who)
        notes = self.numbered.get(who, {}).values()
        kept = [note for note in notes if held is None or not held.lost(note.number)]
        kept += [note for note in self.notes.get(who, {}).values() if not note.number]  # of which it says no number
        return sorted(kept, key=lambda note: (note.tick_id, note.number))

    @property
    def days(self) -> float:
        """How many days the run has."""
        return self.last_tick_id / self.calendar.day_ticks


def read_material(
    reader: "RunReader", facts: Iterable[str] = (), *, watch: Callable[[TickRecord], None] = lambda _record: None
) -> MindMaterial:
    """Read what the record of a run has of minds, and who came where a fact says that something is.

    `watch` gets each tick, so that the ticks are read only once.
    """
    info = reader.info
    material = MindMaterial(info.setting.calendar, reader.last_tick_id or 0)
    material.goals = frozenset(goal.name for goal in info.goals)
    periods = {kind.name: kind.doubling_ticks for kind in info.kinds if kind.doubling_ticks}
    material.doubling = {thing.object_id: periods[thing.kind] for thing in info.objects if thing.kind in periods}
    places = [zone.name for zone in info.setting.zones]
    for actor in info.actors:
        persona = actor.persona
        material.names[actor.entity_id] = (persona.name if persona else "") or actor.entity_id
        material.facts[actor.entity_id] = persona.knows if persona else ()
        material.usual_errands[actor.entity_id] = len(usual_day(persona, places)) if persona else 0
    material.presence = presence = Presence(info)
    for record in reader.records():
        material.lines += [SaidLine(record.tick_id, said.actor_id, said.text) for said in record.utterances]
        material.gifts += [(record.tick_id, gift) for gift in gifts_in(record)]
        material.reached |= goals_reached(record.rule_events, material.goals)
        for source in emptied(record.object_deltas, material.doubling):
            material.used_up.setdefault(source, record.tick_id)
        presence.follow(record)
        watch(record)
    _read_insights(material, reader.insights())
    _read_needs(material, reader, {row for row, actor in enumerate(info.actors) if actor.entity_id in material.minds})
    for report in reader.thoughts():
        material.calls.append(LlmCall.of(report))
        if (wording := read_wording(report, material.names)) is not None:
            material.wordings.append(wording)
    material.parties = read_parties(reader, facts)
    return material


def goals_reached(events: Iterable[RuleEvent], goals: frozenset[str]) -> set[str]:
    """Return which goals were reached; a rule of the user's own may have the name of one."""
    return {event.name for event in events if event.name in goals and not event.own}


def emptied(deltas: Iterable[ObjectDelta], doubling: Container[str]) -> list[str]:
    """Return which of the objects whose stock doubles have nothing left."""
    return [
        delta.object_id
        for delta in deltas
        if delta.field == "stock" and not delta.new_value and delta.object_id in doubling
    ]


def _read_insights(material: MindMaterial, insights: "Iterable[Insight]") -> None:
    going: dict[str, TalkSpan] = {}  # actor -> the talk that it is in
    bonds: dict[tuple[str, str], str] = {}  # actor and the name of another -> its bond
    for insight in insights:
        who, tick_id = insight.entity_id, insight.tick_id
        material.minds.add(who)
        notes = material.notes.setdefault(who, {})
        for note in insight.memories:
            notes.setdefault(note.text, note)
            if note.number:
                material.numbered.setdefault(who, {})[note.number] = note
        board = {entry.key: entry.value_json for entry in insight.board}
        if (held := _held(board.get("remembers", ""))) is not None:
            material.held[who] = held
        errands = _value(board["today"]) if "today" in board else None
        if isinstance(errands, list):
            material.plans[who, material.calendar.at(tick_id).day] = tuple(map(str, errands))
        for other, bond, has_talked in _bonds(board.get("people", "{}")):
            if bond != bonds.get((who, other), ""):
                bonds[who, other] = bond
                if has_talked:  # else it was so from the beginning
                    material.bonds.append(BondChange(tick_id, who, other, bond))
        if isinstance(mood := _value(board.get("mood", "null")), str):
            material.moods.append((tick_id, who, mood))
        span = going.get(who)
        if "talk" in board:
            partner = _partner(board["talk"])
            if span is not None and partner != span.partner_id:
                material.talks.append(going.pop(who)._replace(last_tick_id=tick_id))
                span = None
            if partner and span is None:
                going[who] = TalkSpan(who, partner, tick_id, tick_id)
            if partner and (circle := _circle(board["talk"])):
                known = going[who]
                going[who] = known._replace(
                    more=(*known.more, *(member for member in circle if member not in known.others))
                )
    material.talks += [span._replace(last_tick_id=material.last_tick_id) for span in going.values()]


def _bonds(value_json: str) -> Iterable[tuple[str, str, bool]]:
    """Iterate over the names of others, each with the bond that liking and trust make, and whether they have talked."""
    people = _value(value_json)
    for name, known in people.items() if isinstance(people, dict) else ():
        liking, trust = (known.get(key) if isinstance(known, dict) else None for key in ("liking", "trust"))
        if isinstance(liking, int | float) and isinstance(trust, int | float):
            is_close = liking >= CLOSE_LIKING and trust >= CLOSE_TRUST
            bond = "close" if is_close else "cold" if min(liking, trust) < COLD_BELOW else ""
            yield name, bond, known.get("talks") != 0


def _held(value_json: str) -> HeldNumbers | None:
    value = _value(value_json)
    try:
        return HeldNumbers.read(value) if isinstance(value, str) else None
    except ValueError:
        return None  # it was cut because it is long, or another meant something else by it


def _partner(value_json: str) -> str:
    value = _value(value_json)
    partner = value.get("with") if isinstance(value, Mapping) else ""
    return partner if isinstance(partner, str) else ""


def _circle(value_json: str) -> list[str]:
    """Return the others in a talk of more than two."""
    value = _value(value_json)
    circle = value.get("circle") if isinstance(value, Mapping) else None
    return [member for member in circle if isinstance(member, str)] if isinstance(circle, list) else []


def _value(value_json: str) -> object:
    try:
        value: object = json.loads(value_json) if MAX_TEXT_CHARS.allows(len(value_json)) else None
    except (ValueError, RecursionError):
        return None  # it was cut because it is long
    return value


def _read_needs(material: MindMaterial, reader: "RunReader", rows: set[int]) -> None:
    """Count the ticks of actors with minds, and those in which they were well."""
    chosen = np.array(sorted(rows), dtype=np.int64)
    hunger = np.zeros(len(reader.info.actors), dtype=np.int64)
    energy = np.full(len(reader.info.actors), 1000, dtype=np.int64)
    known = False
    last = 0
    for tick_id, needs in reader.needs():
        if known:
            _count(material, hunger[chosen], energy[chosen], tick_id - last)
        hunger[needs.actor], energy[needs.actor] = needs.hunger, needs.energy
        known, last = True, tick_id
    if known:
        _count(material, hunger[chosen], energy[chosen], material.last_tick_id - last + 1)


def _count(material: MindMaterial, hunger: "NDArray[np.int64]", energy: "NDArray[np.int64]", ticks: int) -> None:
    material.actor_ticks += ticks * len(hunger)
    material.well_ticks += ticks * int(((hunger < HUNGER_BELOW) & (energy >= ENERGY_FROM)).sum())
