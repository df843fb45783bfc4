"""The section `interventions` of a scenario: what is changed from outside, and in which ticks."""

from collections.abc import Collection, Sequence
from typing import Final

from tickmind.base import Limit
from tickmind.world.scenario.kinds import ObjectKind
from tickmind.world.scenario.limits import MAX_INVENTORY
from tickmind.world.scenario.readers.kind_reader import known
from tickmind.world.scenario.scenario import Intervention, ObjectSpawn
from tickmind.world.scenario.settings import CHANGEABLE
from tickmind.world.scenario.yaml_nodes import Node, YamlMapping, many, quoted, table

MAX_INTERVENTIONS = Limit("number of interventions in a world", 1000)
MAX_TICK: Final = 2**53


class InterventionReader:
    """Reads interventions; the rest of the scenario says which items, objects and actors there are."""

    def __init__(
        self,
        items: Collection[str],
        inventory_limit: int,
        kinds: Sequence[ObjectKind],
        objects: Sequence[ObjectSpawn],
        actors: Collection[str],
    ) -> None:
        self._items = items
        self._inventory_limit = min(inventory_limit, int(MAX_INVENTORY.maximum))
        self._kinds = {kind.name: kind for kind in kinds}
        self._objects = {thing.object_id: thing.kind for thing in objects}  # id -> kind
        self._actors = actors

    def read(self, node: Node) -> tuple[Intervention, ...]:
        """Return the interventions in the order of the file."""
        given = many(node)
        if not MAX_INTERVENTIONS.allows(len(given.items)):
            given.place.fail(f"more than {MAX_INTERVENTIONS.maximum} interventions")
        interventions: list[Intervention] = []
        for item in given.items:
            with item.place.source.noting():
                interventions.append(self._intervention(table(item)))
        return tuple(interventions)

    def _intervention(self, given: YamlMapping) -> Intervention:
        given.need("tick")
        tick_id = given.integer("tick", 1, 1, MAX_TICK)
        if "rule" in given.entries:
            given.nothing_but("tick", "rule", "value")
            rule = known(given.need("rule"), CHANGEABLE, "rule that can change")
            given.need("value")
            least, most = CHANGEABLE[rule]
            return Intervention(tick_id, rule=rule, value=given.integer("value", least, least, most))
        if "object" in given.entries:
            given.nothing_but("tick", "object", "state")
            object_id = known(given.need("object"), self._objects, "object")
            kind = self._kinds[self._objects[object_id]]
            states = [state.name for state in kind.states]
            state = known(given.need("state"), states, f"state of {kind.name}")
            return Intervention(tick_id, object_id=object_id, state=state)
        given.nothing_but("tick", "actor", "item", "amount")
        actor_id = known(given.need("actor"), self._actors, "actor")
        item = known(given.need("item"), self._items, "item")
        given.need("amount")
        return Intervention(tick_id, actor_id, item, given.integer("amount", 0, 0, self._inventory_limit))


def interventions_text(interventions: Sequence[Intervention]) -> str:
    """Return the value of the section for some interventions, in one line."""
    return f"[{', '.join(map(_as_text, interventions))}]"


def _as_text(intervention: Intervention) -> str:
    if intervention.rule:
        return f"{{tick: {intervention.tick_id}, rule: {quoted(intervention.rule)}, value: {intervention.value}}}"
    if intervention.object_id:
        object_id, state = quoted(intervention.object_id), quoted(intervention.state)
        return f"{{tick: {intervention.tick_id}, object: {object_id}, state: {state}}}"
    who, item = quoted(intervention.actor_id), quoted(intervention.item)
    return f"{{tick: {intervention.tick_id}, actor: {who}, item: {item}, amount: {intervention.amount}}}"
