"""Arguments of leaves: constants, and `"{key}"`s that are read from the entity's Blackboard each time."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tickmind.ai.blackboard import Blackboard
from tickmind.ai.errors import TreeError
from tickmind.ai.trees.nodes import Argument

if TYPE_CHECKING:
    from tickmind.tick import World


@dataclass(frozen=True, slots=True)
class Scope:
    """The meaning of the keys of a subtree: its ports, and with `shared` all keys of the tree around it."""

    tree: str
    ports: Mapping[str, Argument]
    shared: bool
    outer: "Scope | None"  # None is the Blackboard itself

    def look_up(self, key: str) -> Argument:
        """Return the constant behind a key, or the `"{key}"` of the Blackboard that it stands for."""
        port, _, inside = ("", "", "") if key in self.ports else key.partition(".")
        value = self.ports.get(port or key)
        if value is None:
            if not self.shared:
                raise TreeError(
                    f"the subtree {self.tree!r} reads {{{key}}}, which is not among its ports; "
                    f'add the port, {key}="{{...}}", or share all keys with autoremap'
                )
            return _outside(self.outer, key)
        outer_key = key_of(value)
        if outer_key is not None:
            return _outside(self.outer, f"{outer_key}.{inside}" if inside else outer_key)
        if inside:
            raise TreeError(f"the subtree {self.tree!r} reads {{{key}}}, but the port {port!r} is {value!r}")
        return value


def _outside(scope: Scope | None, key: str) -> Argument:
    return f"{{{key}}}" if scope is None else scope.look_up(key)


def key_of(value: Argument) -> str | None:
    """Return the key of a `"{key}"`, or None for a constant."""
    return value[1:-1] if isinstance(value, str) and value.startswith("{") and value.endswith("}") else None


def resolver(
    arguments: tuple[tuple[str, Argument], ...], scope: Scope | None
) -> Callable[["World", int], dict[str, Any]]:
    """Return the function that gives the arguments as keywords. Raises `TreeError` for a key that the scope lacks."""
    fixed: dict[str, Any] = {}
    keys: dict[str, str] = {}  # argument -> key of the Blackboard
    paths: dict[str, tuple[str, tuple[str, ...]]] = {}  # argument -> key with dots, and its parts
    for name, value in arguments:
        key = key_of(value)
        if key is not None and scope is not None:
            value = scope.look_up(key)  # noqa: PLW2901  what the argument means in this subtree
            key = key_of(value)
        fixed[name] = value
        if key is not None and "." in key:
            paths[name] = key, tuple(key.split("."))
        elif key is not None:
            keys[name] = key
    if not keys and not paths:
        return lambda _world, _entity_id: fixed

    def resolve(world: "World", entity_id: int) -> dict[str, Any]:
        data = world.get(entity_id, Blackboard).data
        return {**fixed, **{name: data.get(key) for name, key in keys.items()}}

    def resolve_paths(world: "World", entity_id: int) -> dict[str, Any]:
        arguments, data = resolve(world, entity_id), world.get(entity_id, Blackboard).data
        for name, (key, parts) in paths.items():
            arguments[name] = data[key] if key in data else _inside(data, parts)
        return arguments

    return resolve_paths if paths else resolve


def _inside(value: Any, parts: tuple[str, ...]) -> Any:
    """Follow a path into mappings, lists and dataclasses; None if it leads nowhere."""
    for part in parts:
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list | tuple):
            value = value[int(part)] if part.isdecimal() and int(part) < len(value) else None
        elif dataclasses.is_dataclass(value) and part in {field.name for field in dataclasses.fields(value)}:
            value = getattr(value, part)
        else:
            return None
    return value
