"""`Rules` and `Needs`: the settings of a scenario's rules, with version, distances, times and needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from tickmind.protocol.entity import NeedChanges
from tickmind.world.scenario.limits import MAX_INVENTORY, MAX_TEXT_CHARS

NEED_MOST = 1000  # all needs go from 0 to this

SIGHT_RULES = MappingProxyType({"1.0.0": "bresenham-1", "1.1.0": "symmetric-1"})  # world_version -> rule of sight


@dataclass(frozen=True, slots=True)
class OwnNeed:
    """A need that a scenario declares. It goes from 0 to 1000, and all that is named here is added in each tick."""

    name: str
    begins: int = NEED_MOST
    each_tick: int = 0
    at_night: int = 0  # besides `each_tick`
    in_weather: tuple[tuple[str, int], ...] = ()  # besides both
    at_zero: NeedChanges = ()  # to own needs, while this one is 0
    incapacitates: bool = False  # whether it does so at 0, as hunger does at 1000

    @property
    def goes_by_calendar(self) -> bool:
        """Whether it changes by night or weather."""
        return bool(self.at_night or self.in_weather)


@dataclass(frozen=True, slots=True)
class Needs:
    """How actors tire and hunger, if a scenario has needs. All rates are for one tick; the scale is 0 to 1000.

    Awake, energy falls by `energy_per_tick`; asleep, it rises by `rest_per_tick`; hunger grows always. At energy 0 an
    actor falls asleep where it stands and can't wake below `wake_energy`. At hunger 1000 it is incapacitated: it can
    only wake, eat, speak and wait, until it has eaten; without `starvation` it goes on hungry. The needs of an
    uncontrolled actor stand still. `own` are the needs that the scenario declares.
    """

    hunger_per_tick: int = 2
    energy_per_tick: int = 2
    rest_per_tick: int = 8
    wake_energy: int = 200
    starvation: bool = True
    own: tuple[OwnNeed, ...] = field(default=(), repr=False)  # so scenarios from before this rule keep their digest
    when_starving: NeedChanges = field(default=(), repr=False)  # to own needs, in each tick with a hunger of 1000


CHANGEABLE: Final[Mapping[str, tuple[int, int]]] = {
    "gifts_need_consent": (0, 1),
    "inventory_limit": (1, int(MAX_INVENTORY.maximum)),
    "offer_ticks": (1, 1_000_000),
    "text_limit_chars": (1, int(MAX_TEXT_CHARS.maximum)),
}
"""Rules that an intervention may change in a tick, with their least and largest value: what a tick alone looks at."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a world. `world_version` names the rule set, and with it the rule of sight."""

    world_version: str = "1.0.0"
    tick_duration_ms: int = 1000
    intent_deadline_ms: int = 500
    sight_radius: int = 8
    hearing_radius: int = 8
    inventory_limit: int = 100
    text_limit_chars: int = 500
    rest_tag: str = "furniture"  # uncontrolled actors fall asleep on objects with this tag
    needs: Needs | None = None
    offer_ticks: int = field(default=60, repr=False)  # that an offer stands; so other scenarios keep their digest
    gifts_need_consent: bool = field(default=False, repr=False)  # whether `Give` is an offer, too
    night_sight_radius: int | None = field(default=None, repr=False)  # None: nights are as bright as days

    def with_ticks_of(self, tick_duration_ms: int) -> "Rules":
        """Return the rules with ticks of another length; the deadline keeps its share of them."""
        deadline_ms = max(1, round(tick_duration_ms * self.intent_deadline_ms / self.tick_duration_ms))
        return replace(self, tick_duration_ms=tick_duration_ms, intent_deadline_ms=deadline_ms)

    def with_setting(self, name: str, value: int) -> "Rules":
        """Return the rules with one of `CHANGEABLE` set to a value."""
        setting: dict[str, Any] = {name: bool(value) if name == "gifts_need_consent" else value}
        return replace(self, **setting)

    @property
    def sight_rule(self) -> str:
        """The rule of sight that belongs to the version."""
        return SIGHT_RULES[self.world_version]
