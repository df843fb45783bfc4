"""The sections `goals` and `own_rules` of a scenario: conditions in data, and names of functions of the user."""

from collections.abc import Collection, Mapping, Sequence

from tickmind.protocol import CalendarInfo, GoalInfo, ZoneInfo
from tickmind.world.scenario.kinds import ObjectKind
from tickmind.world.scenario.limits import MAX_GOALS, MAX_OWN_RULES, MAX_SCORE
from tickmind.world.scenario.readers.calendar_reader import read_tick
from tickmind.world.scenario.readers.kind_reader import known, read_amounts
from tickmind.world.scenario.scenario import ActorSpawn, ObjectSpawn
from tickmind.world.scenario.yaml_nodes import Many, Node, NodePosition, YamlMapping, leaf, many, table

_CONDITIONS = ("all_in", "each_in", "carry", "object", "tick", "day")


class GoalReader:
    """Reads goals; the rest of the scenario says which zones, items, objects and actors there are."""

    def __init__(
        self,
        zones: Sequence[ZoneInfo],
        calendar: CalendarInfo,
        items: Collection[str],
        inventory_limit: int,
        kinds: Sequence[ObjectKind],
        objects: Sequence[ObjectSpawn],
        actors: Sequence[ActorSpawn],
    ) -> None:
        self._zones = [zone.name for zone in zones]
        self._calendar = calendar
        self._items = items
        self._inventory_limit = inventory_limit
        self._kinds: Mapping[str, ObjectKind] = {kind.name: kind for kind in kinds}
        self._objects: Mapping[str, ObjectSpawn] = {thing.object_id: thing for thing in objects}
        self._actors = actors
        self._tags = {tag for actor in actors for tag in actor.tags}
        self._types = {actor.type for actor in actors}
        self._ids = {actor.entity_id for actor in actors}

    def read(self, node: Node) -> tuple[GoalInfo, ...]:
        """The goals in the order of the file, which is the order in which those of one tick are listed."""
        given = table(node)
        if not MAX_GOALS.allows(len(given.entries)):
            given.place.fail(f"more than {MAX_GOALS.maximum} goals")
        goals = []
        for name, place, entry in given.named():
            with place.source.noting():
                goals.append(self._goal(name, place, table(entry)))
        return tuple(goals)

    def _goal(self, name: str, place: NodePosition, given: YamlMapping) -> GoalInfo:
        given.nothing_but(
            "who", "all_in", "each_in", "carry", "object", "state", "tick", "day", "clock", "score", "ends"
        )
        keys = [key for key in _CONDITIONS if key in given.entries]
        if len(keys) != 1:
            there = " and ".join(keys) or "none"
            place.fail(f"a goal has exactly one condition of {', '.join(_CONDITIONS)}; this one has {there}")
        for key, needed in (("state", "object"), ("clock", "day")):
            if key in given.entries and needed not in given.entries:
                given.keys[key].fail(f"`{key}` belongs to `{needed}`, which is not here")
        tags, types, ids = self._who(given.get("who"))
        thing = given.get("object")
        object_id = "" if thing is None else known(thing, self._objects, "object")
        goal = GoalInfo(
            name=name,
            score=given.integer("score", 0, -int(MAX_SCORE.maximum), MAX_SCORE),
            ends=given.truth("ends", False),
            tags=tags,
            types=types,
            ids=ids,
            all_in=self._zone(given.get("all_in")),
            each_in=self._zone(given.get("each_in")),
            carry=self._carried(given.get("carry")),
            object_id=object_id,
            state=self._state(object_id, given.need("state")) if object_id else "",
            tick_id=read_tick(given, self._calendar),
        )
        if not any(goal.fits(actor.tags, actor.type, actor.entity_id) for actor in self._actors):
            where = given.get("who")
            if where is not None or not (goal.object_id or goal.tick_id):
                (where.place if where else place).fail("no actor of this scenario is meant, so it is never reached")
        return goal

    def _who(self, node: Node | None) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        if node is None:
            return (), (), ()
        given = table(node)
        given.nothing_but("tags", "type", "id")
        if not given.entries:
            given.place.fail("expected some of tags, type and id; leave `who` out if all actors are meant")
        return (
            _names(given.get("tags"), self._tags, "actor with the tag"),
            _names(given.get("type"), self._types, "actor of the type"),
            _names(given.get("id"), self._ids, "actor"),
        )

    def _zone(self, node: Node | None) -> str:
        return "" if node is None else known(node, self._zones, "zone")

    def _carried(self, node: Node | None) -> tuple[tuple[str, int], ...]:
        if node is None:
            return ()
        items = read_amounts(node, self._items)
        if not items:
            node.place.fail("expected items with amounts, as {bread: 5}")
        if sum(amount for _, amount in items) > self._inventory_limit:
            node.place.fail(f"an actor carries at most {self._inventory_limit} items, so it is never reached")
        return items

    def _state(self, object_id: str, node: Node) -> str:
        kind = self._kinds[self._objects[object_id].kind]
        return known(node, [state.name for state in kind.states], f"state of {kind.name}")


def read_own_rules(node: Node | None, goals: Collection[GoalInfo]) -> tuple[str, ...]:
    """The section `own_rules`: names, in the order in which the functions are called. Nothing is imported here."""
    if node is None:
        return ()
    given = many(node)
    if not MAX_OWN_RULES.allows(len(given.items)):
        given.place.fail(f"more than {MAX_OWN_RULES.maximum} rules")
    names: list[str] = []
    for item in given.items:
        name = leaf(item).name()
        if name in names:
            item.place.fail(f"the rule {name!r} is there twice")
        if name in {goal.name for goal in goals}:
            item.place.fail(f"{name!r} is also the name of a goal; reports could not tell them apart")
        names.append(name)
    return tuple(names)


def _names(node: Node | None, names: Collection[str], what: str) -> tuple[str, ...]:
    """One name or a list of names, all of which there are."""
    if node is None:
        return ()
    items: Sequence[Node] = node.items if isinstance(node, Many) else (node,)
    if not items:
        node.place.fail("expected a name or a list of names")
    return tuple(dict.fromkeys(known(item, names, what) for item in items))
