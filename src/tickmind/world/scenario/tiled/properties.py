"""Custom properties of Tiled as values of a scenario, so that the same readers take them."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tickmind.world.errors import ScenarioError
from tickmind.world.scenario.limits import MAX_PROSE_CHARS
from tickmind.world.scenario.tiled.position import TiledPosition
from tickmind.world.scenario.yaml_nodes import Leaf, Many, Node, YamlMapping, read_tree


def property_nodes(properties: Any, place: TiledPosition, names: Collection[str] = ()) -> dict[str, Node]:
    """Return the properties of a tile, a layer or an object, all or only some; empty ones count as left out."""
    if not isinstance(properties, Mapping):
        return {}
    return {
        str(name): property_node(value, place.inside(f"property {str(name)[:100]!r}"))
        for name, value in properties.items()
        if value not in ("", None) and (not names or name in names)
    }


def property_node(value: Any, place: TiledPosition) -> Node:
    """Return a value as if it were written in the scenario: a text in braces or brackets is a mapping or a list."""
    if isinstance(value, bool):
        return Leaf(place, "true" if value else "false", plain=True)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int | float | Path):
        return Leaf(place, str(value), plain=True)
    if not isinstance(value, str):
        place.fail("expected a property of the type string, int, float or bool")
    text = value.strip()
    return _written(text, place) if text[:1] in ("{", "[") else Leaf(place, text, plain=True)


def _written(text: str, place: TiledPosition) -> Node:
    if not MAX_PROSE_CHARS.allows(len(text)):
        place.fail(f"longer than {MAX_PROSE_CHARS.maximum} characters")
    try:
        tree = read_tree(f"value: {text}", "")
    except ScenarioError as error:
        place.fail(error.problems[0].message)
    if tree.place.source.problems:
        place.fail(tree.place.source.problems[0].message)
    if len(tree.entries) != 1:
        place.fail("expected one mapping or one list")
    return _moved(tree.entries["value"], place)


def _moved(node: Node, place: TiledPosition) -> Node:
    """Return the same value at another place."""
    if isinstance(node, Leaf):
        return Leaf(place, node.text, node.plain)
    if isinstance(node, Many):
        return Many(place, tuple(_moved(item, place) for item in node.items))
    return YamlMapping(
        place, {key: _moved(value, place) for key, value in node.entries.items()}, dict.fromkeys(node.keys, place)
    )
