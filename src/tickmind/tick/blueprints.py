"""`BlueprintRegistry`: spawns entities from named recipes of plain data."""

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from tickmind.base import ConfigError

if TYPE_CHECKING:
    from tickmind.tick.world import World

Recipe: TypeAlias = Mapping[str, Mapping[str, Any]]  # component name -> field name -> value


class BlueprintRegistry:
    """Recipes by name. A recipe is plain data, so it can come from a file: `{"Position": {"x": 1, "y": 2}}`.

    >>> from dataclasses import dataclass
    >>> from tickmind.tick import World
    >>> @dataclass
    ... class Position:
    ...     x: int
    ...     y: int
    >>> world, blueprints = World(), BlueprintRegistry()
    >>> _ = world.register_component(Position)
    >>> blueprints.define("wolf", {"Position": {"x": 1, "y": 2}})
    >>> wolf = blueprints.spawn(world, "wolf", {"Position": {"x": 5}})
    >>> world.get(wolf, Position)
    Position(x=5, y=2)
    """

    def __init__(self) -> None:
        self._recipes: dict[str, dict[str, dict[str, Any]]] = {}
        self._meta: dict[str, dict[str, Any]] = {}

    def define(self, name: str, recipe: Recipe, meta: Mapping[str, Any] | None = None) -> None:
        """Add or replace a recipe; `meta` is for the game's own notes on it."""
        parts = {part: copy.deepcopy(dict(fields)) for part, fields in recipe.items()}
        self._recipes[name], self._meta[name] = parts, dict(meta or {})

    def spawn(self, world: "World", name: str, overrides: Recipe | None = None) -> int:
        """Spawn an entity by the recipe, with some fields changed; on an error nothing is spawned.

        Raises `ConfigError` if a component is not registered or does not take its fields.
        """
        merged = copy.deepcopy(self._recipe(name))
        for part, fields in (overrides or {}).items():
            merged.setdefault(part, {}).update(copy.deepcopy(dict(fields)))
        components = []
        for part, fields in merged.items():
            kind = world.component_type(part)
            if kind is None:
                raise ConfigError(
                    f"blueprint {name!r} uses {part!r}, which is not registered; "
                    f"call world.register_component({part}) first"
                )
            try:
                components.append(kind(**fields))
            except (TypeError, ValueError) as error:
                raise ConfigError(f"blueprint {name!r}: {part} does not take these fields: {error}") from error
        return world.spawn(*components)

    def recipes(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return a copy of all recipes."""
        return copy.deepcopy(self._recipes)

    def meta(self, name: str) -> dict[str, Any]:
        """Return the notes on a recipe."""
        self._recipe(name)
        return self._meta[name]

    def has(self, name: str) -> bool:
        """Return whether there is a recipe of this name."""
        return name in self._recipes

    def remove(self, name: str) -> None:
        """Forget a recipe."""
        self._recipe(name)
        del self._recipes[name], self._meta[name]

    def _recipe(self, name: str) -> dict[str, dict[str, Any]]:
        if name not in self._recipes:
            known = ", ".join(sorted(self._recipes)) or "none"
            raise ConfigError(f"no blueprint {name!r} is defined; known: {known}")
        return self._recipes[name]
