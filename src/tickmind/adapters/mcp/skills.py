"""What a client can ask a character to do, as steps of goals: go, say, use, make, trade.

Each function checks its arguments in the character's thread, at the first step, against what the character knows.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from tickmind.adapters.mcp.goals import Goal, GoalRefusal
from tickmind.agent.knowledge import Person, Thing, distance
from tickmind.ai import Status
from tickmind.protocol import Drop, Give, Interact, Pickup, Use, ZoneInfo
from tickmind.protocol.observation import GROUND

if TYPE_CHECKING:
    from tickmind.adapters.mcp.goals import Step
    from tickmind.adapters.mcp.remote_character import RemoteCharacter
    from tickmind.agent.knowledge import Tile

_TILE = re.compile(r"\(?\s*(-?[0-9]{1,6})\s*,\s*(-?[0-9]{1,6})\s*\)?")
SPEAKING_STEPS = 3  # from whom it speaks to
NAMES = 30  # that a refusal lists


def going(target: str) -> "Goal[RemoteCharacter]":
    """Go to a tile, a person, an object, a zone, or the nearest thing of a kind; beside it if it is taken."""
    return Goal(f"go to {target}", _Going(target))


class _Going:
    """Walks to one target; what it stands for is found at the first step, a person's place at each."""

    def __init__(self, target: str) -> None:
        self._target = target.strip()
        self._walk: Step[RemoteCharacter] | None = None

    def __call__(self, me: "RemoteCharacter") -> Status | GoalRefusal:
        if self._walk is None:
            walk = self._find(me)
            if isinstance(walk, GoalRefusal):
                return walk
            self._walk = walk
        status = self._walk(me)
        return GoalRefusal(f"no way to {self._target} is known") if status is Status.FAILURE else status

    def _find(self, me: "RemoteCharacter") -> "Step[RemoteCharacter] | GoalRefusal":
        target = self._target
        tile = _TILE.fullmatch(target)
        if tile is not None:
            return _to_tile((int(tile[1]), int(tile[2])))
        if me.person(target) is not None:
            return _to_person(target)
        thing, zone = me.surroundings.things.get(target), me.setting.zone(target)
        if thing is not None:
            return lambda character: character.walk_to(thing, beside=True)
        if zone is not None:
            return _to_zone(zone)
        if any(True for _ in me.surroundings.things_of(target)):
            return lambda character: _to_nearest(character, target)
        return GoalRefusal(f"nothing called {target!r} is known; {known_targets(me)}")


def known_targets(me: "RemoteCharacter") -> str:
    """Return what it could go to, for a client that named something else."""
    zones = [zone.name for zone in me.setting.zones]
    kinds = sorted({thing.seen.kind for thing in me.surroundings.things.values()} - {GROUND, "wall"})
    listed = (("zones", zones), ("people", list(me.surroundings.people)), ("kinds of things", kinds))
    return "; ".join(f"{what}: {', '.join(names[:NAMES]) or 'none'}" for what, names in listed)


def _to_tile(tile: "Tile") -> "Step[RemoteCharacter]":
    def step(me: "RemoteCharacter") -> Status:
        around = me.surroundings
        seen = around.tiles.knows(*tile)
        return me.walk_or_explore(tile, beside=tile in around.occupied or (seen and not around.tiles.can_walk(*tile)))

    return step


def _to_person(name: str) -> "Step[RemoteCharacter]":
    def step(me: "RemoteCharacter") -> Status:
        person = me.person(name)
        return Status.FAILURE if person is None else me.walk_or_explore(person.at, beside=True)

    return step


def _to_zone(zone: ZoneInfo) -> "Step[RemoteCharacter]":
    west, north, east, south = zone.areas[0]

    def step(me: "RemoteCharacter") -> Status:
        status = me.go_to_zone(zone.name)
        return (
            status if status is not Status.FAILURE else me.walk_or_explore(((west + east) // 2, (north + south) // 2))
        )

    return step


def _to_nearest(me: "RemoteCharacter", kind: str) -> Status:
    status = me.go_to(kind)
    if status is not Status.FAILURE:
        return status
    thing = me.surroundings.nearest((one for one in me.surroundings.things_of(kind) if me.reachable(one)), me.at)
    return Status.FAILURE if thing is None else me.walk_to(thing, beside=True)


def saying(text: str, to: str) -> "Goal[RemoteCharacter]":
    """Say something aloud; first go near the person to whom it is said, if there is one."""

    def step(me: "RemoteCharacter") -> Status | GoalRefusal:
        person = _known_person(me, to) if to else None
        if isinstance(person, GoalRefusal):
            return person
        if person is not None and distance(person.at, me.at) > SPEAKING_STEPS:
            status = me.walk_or_explore(person.at, beside=True)
            return GoalRefusal(f"no way to {to} is known") if status is Status.FAILURE else status
        return me.do(me.speech.say(me.tick, text, to))

    return Goal(f"say something to {to}" if to else "say something", step)


def _known_person(me: "RemoteCharacter", name: str) -> Person | GoalRefusal:
    known = ", ".join(list(me.surroundings.people)[-NAMES:]) or "none"
    return me.person(name) or GoalRefusal(f"no person {name!r} was seen or heard; known: {known}")


# Use


def working(target: str, verb: str) -> "Goal[RemoteCharacter]":
    """Work on an object, by its id or the nearest of its kind, until it is done."""

    def step(me: "RemoteCharacter") -> Status | GoalRefusal:
        thing = _thing_for(me, target, verb)
        if isinstance(thing, GoalRefusal):
            return thing
        status = me.walk_to(thing, beside=True)
        if status is Status.FAILURE:
            return GoalRefusal(f"no way to {target} is known")
        return me.do(Interact(thing.seen.object_id, verb)) if status is Status.SUCCESS else status

    return Goal(f"{verb} {target}", step)


def _thing_for(me: "RemoteCharacter", target: str, verb: str) -> Thing | GoalRefusal:
    around = me.surroundings
    named = around.things.get(target)
    known = [named] if named is not None else list(around.things_of(target))
    thing = around.nearest((one for one in known if verb in one.seen.verbs and me.reachable(one)), me.at)
    if thing is not None:
        return thing
    if not known:
        return GoalRefusal(f"no thing {target!r} is known; {known_targets(me)}")
    verbs = ", ".join(sorted({each for one in known for each in one.seen.verbs})) or "nothing"
    return GoalRefusal(f"{target} can't be used with {verb!r} now; what can be done with it: {verbs}")


def consuming(item: str, amount: int) -> "Goal[RemoteCharacter]":
    """Use up items that it carries, as in eating."""
    return _with_items("use", item, amount, lambda: Use(item, amount))


def dropping(item: str, amount: int) -> "Goal[RemoteCharacter]":
    """Lay items down where it stands."""
    return _with_items("drop", item, amount, lambda: Drop(item, amount))


def _with_items(verb: str, item: str, amount: int, intent: "Callable[[], Use | Drop]") -> "Goal[RemoteCharacter]":
    def step(me: "RemoteCharacter") -> Status | GoalRefusal:
        return _lacks(me, item, amount) or me.do(intent())

    return Goal(f"{verb} {amount} {item}", step)


def _lacks(me: "RemoteCharacter", item: str, amount: int) -> GoalRefusal | None:
    have = me.carries(item)
    return None if have >= amount else GoalRefusal(f"it carries {have} {item}, not {amount}")


def picking_up(item: str, amount: int) -> "Goal[RemoteCharacter]":
    """Go to the nearest known places with an item and pick up as many."""

    def fetch(me: "RemoteCharacter") -> Status:
        place = me.nearest_lying(item)
        if place is not None and me.at in place.seen.tiles:
            return me.do(Pickup(item))
        return me.gather(item)

    return _until_carried(
        f"pick up {amount} {item}",
        item,
        amount,
        fetch,
        f"no place with {item} in reach is known, or its hands are full",
    )


def making(item: str, amount: int) -> "Goal[RemoteCharacter]":
    """Make items by the recipes of the world, and get what they take."""
    why = f"no recipe for {item} is known, or what it takes can't be had"
    return _until_carried(f"make {amount} {item}", item, amount, lambda me: me.make(item), why)


def _until_carried(
    what: str, item: str, amount: int, step: "Callable[[RemoteCharacter], Status]", why: str
) -> "Goal[RemoteCharacter]":
    wanted: list[int] = []  # how many it is to carry in the end, once that is known

    def one(me: "RemoteCharacter") -> Status | GoalRefusal:
        if not wanted:
            wanted.append(me.carries(item) + amount)
        if me.carries(item) >= wanted[0]:
            return Status.SUCCESS
        return GoalRefusal(why) if step(me) is Status.FAILURE else Status.RUNNING

    return Goal(what, one)


def building(kind: str) -> "Goal[RemoteCharacter]":
    """Build an object of a kind beside it, and get what that takes."""
    return _or_refused(f"build {kind}", lambda me: me.build(kind), f"{kind} can't be built here and now")


def sleeping() -> "Goal[RemoteCharacter]":
    """Fall asleep where it stands."""
    return Goal("sleep", lambda me: me.sleep(), asleep=True)


def waking() -> "Goal[RemoteCharacter]":
    """Wake up."""
    return Goal("wake up", lambda me: me.wake(), asleep=True)


# Trade


def buying(item: str, amount: int) -> "Goal[RemoteCharacter]":
    """Buy from the nearest container that sells such items."""
    why = f"no open container in reach is known that sells {amount} {item} for what it has"
    return _or_refused(f"buy {amount} {item}", lambda me: me.buy(item, amount), why)


def selling(item: str, amount: int) -> "Goal[RemoteCharacter]":
    """Sell to the nearest container that buys such items."""
    why = f"no open container in reach is known that buys {amount} {item}, or it has too few"
    return _or_refused(f"sell {amount} {item}", lambda me: me.sell(item, amount), why)


def taking(item: str, amount: int) -> "Goal[RemoteCharacter]":
    """Take items out of a container."""
    why = f"no container in reach is known from which it may take {amount} {item}"
    return _or_refused(f"take {amount} {item}", lambda me: me.take(item, "", amount), why)


def putting(item: str, amount: int) -> "Goal[RemoteCharacter]":
    """Put items into a container."""
    why = f"no container with room is known, or it has fewer than {amount} {item}"
    return _or_refused(f"put {amount} {item}", lambda me: me.put(item, "", amount), why)


def giving(item: str, amount: int, to: str) -> "Goal[RemoteCharacter]":
    """Go to a person and hand over items."""

    def step(me: "RemoteCharacter") -> Status | GoalRefusal:
        lacks, person = _lacks(me, item, amount), _known_person(me, to)
        if lacks is not None or isinstance(person, GoalRefusal):
            return lacks or person  # type: ignore[return-value]  # one of them is a refusal
        status = me.walk_or_explore(person.at, beside=True)
        return me.do(Give(to, item, amount)) if status is Status.SUCCESS else status

    return Goal(f"give {amount} {item} to {to}", step)


def offering(item: str, amount: int, to: str, wanted: str, wanted_amount: int) -> "Goal[RemoteCharacter]":
    """Go to a person and offer items for others."""

    def step(me: "RemoteCharacter") -> Status | GoalRefusal:
        person = _known_person(me, to)
        if isinstance(person, GoalRefusal):
            return person
        return _lacks(me, item, amount) or me.offer(to, item, amount, wanted, wanted_amount)

    return Goal(f"offer {amount} {item} to {to} for {wanted_amount} {wanted}" if wanted else f"offer {item}", step)


def accepting(item: str) -> "Goal[RemoteCharacter]":
    """Accept an offer that stands."""
    return _or_refused("accept an offer", lambda me: me.accept_offer(item), "no such offer stands that it can pay for")


def declining() -> "Goal[RemoteCharacter]":
    """Decline the first offer that stands."""
    return _or_refused("decline an offer", lambda me: me.decline_offer(), "no offer stands")


def _or_refused(what: str, step: "Callable[[RemoteCharacter], Status]", why: str) -> "Goal[RemoteCharacter]":
    def one(me: "RemoteCharacter") -> Status | GoalRefusal:
        status = step(me)
        return GoalRefusal(why) if status is Status.FAILURE else status

    return Goal(what, one)
