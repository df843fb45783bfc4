"""The parts of a scenario file about needs: `rules.needs`, what changes them, and with what values actors begin."""

from collections.abc import Collection
from dataclasses import dataclass

from tickmind.protocol import NeedChanges
from tickmind.world.scenario.limits import MAX_OWN_NEEDS
from tickmind.world.scenario.settings import NEED_MOST, Needs, OwnNeed
from tickmind.world.scenario.yaml_nodes import Leaf, Node, NodePosition, YamlMapping, leaf, table

_BODY_NEEDS = ("hunger", "energy")  # that every world with needs has


@dataclass(frozen=True, slots=True)
class WorldNeeds:
    """Which needs a world has, for the readers of what changes them."""

    has_needs: bool
    own: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all needs."""
        return (*_BODY_NEEDS, *self.own)

    def read_each_tick(self, given: YamlMapping) -> NeedChanges:
        """What a floor or an object adds in each tick; a world without needs has nothing that it could be added to."""
        if "each_tick" in given.entries and not self.has_needs:
            place = given.keys["each_tick"]
            place.note("'each_tick' changes needs, and this world has none; say `needs: true` in `rules`")
        return read_changes(given, "each_tick", self.names)


def read_needs(node: Node) -> Needs | None:
    """`needs` of the section `rules`; None where it is false."""
    if isinstance(node, Leaf) and node.plain and node.text in ("true", "false"):
        return Needs() if node.truth() else None
    given, usual = table(node), Needs()
    given.nothing_but(
        "hunger_per_tick", "energy_per_tick", "rest_per_tick", "wake_energy", "starvation", "own", "when_starving"
    )
    own = given.get("own")
    names = tuple(table(own).entries) if own is not None else ()
    return Needs(
        hunger_per_tick=given.integer("hunger_per_tick", usual.hunger_per_tick, 0, NEED_MOST),
        energy_per_tick=given.integer("energy_per_tick", usual.energy_per_tick, 0, NEED_MOST),
        rest_per_tick=given.integer("rest_per_tick", usual.rest_per_tick, 0, NEED_MOST),
        wake_energy=given.integer("wake_energy", usual.wake_energy, 0, NEED_MOST),
        starvation=given.truth("starvation", usual.starvation),
        own=() if own is None else _read_own(table(own)),
        when_starving=read_changes(given, "when_starving", names),
    )


def _read_own(given: YamlMapping) -> tuple[OwnNeed, ...]:
    if not given.entries or not MAX_OWN_NEEDS.allows(len(given.entries)):
        given.place.fail(f"expected 1 to {MAX_OWN_NEEDS.maximum} needs")
    return tuple(
        place.source.part(OwnNeed(name), _read_need, name, place, node, given.entries)
        for name, place, node in given.named()
    )


def _read_need(name: str, place: NodePosition, node: Node, names: Collection[str]) -> OwnNeed:
    if name in _BODY_NEEDS:
        place.fail(f"every world with needs has {name!r}; choose another name")
    if "." in name:
        place.fail("the name of a need has no dot in it, because effects on items do")
    given = table(node)
    given.nothing_but("begins", "each_tick", "at_night", "in_weather", "at_zero", "incapacitates")
    weather = given.get("in_weather")
    return OwnNeed(
        name,
        begins=given.integer("begins", NEED_MOST, 0, NEED_MOST),
        each_tick=given.integer("each_tick", 0, -NEED_MOST, NEED_MOST),
        at_night=given.integer("at_night", 0, -NEED_MOST, NEED_MOST),
        in_weather=() if weather is None else _read_numbers(table(weather)),
        at_zero=read_changes(given, "at_zero", names),
        incapacitates=given.truth("incapacitates", default=False),
    )


def own_need_names(rules: Node | None) -> tuple[str, ...]:
    """The names of own needs in the section `rules`, also where something is wrong with it, which is noted before."""
    needs = rules.get("needs") if isinstance(rules, YamlMapping) else None
    own = needs.get("own") if isinstance(needs, YamlMapping) else None
    return tuple(own.entries) if isinstance(own, YamlMapping) else ()


def read_changes(given: YamlMapping, key: str, names: Collection[str]) -> NeedChanges:
    """What is added to needs of these names, in their order; nothing if the key is left out."""
    node = given.get(key)
    if node is None:
        return ()
    changes = table(node)
    changes.nothing_but(*names)
    read = ((name, changes.integer(name, 0, -NEED_MOST, NEED_MOST)) for name in names)
    return tuple((name, by) for name, by in read if by)


def read_first_values(node: Node | None, names: Collection[str]) -> NeedChanges:
    """The values with which the own needs of an actor begin, in the order of their names."""
    if node is None:
        return ()
    given = table(node)
    given.nothing_but(*names)
    return tuple((name, leaf(given.entries[name]).integer(0, NEED_MOST)) for name in names if name in given.entries)


def _read_numbers(given: YamlMapping) -> tuple[tuple[str, int], ...]:
    return tuple((name, leaf(node).integer(-NEED_MOST, NEED_MOST)) for name, _, node in given.named())
