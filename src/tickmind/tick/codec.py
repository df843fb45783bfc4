"""Convert values to plain data and back, exactly: dataclasses, tuples and enums keep their types.

What JSON has is written as it is. Everything else becomes an object whose only key starts with `$`:
`{"$type": ["Vec2", {...}]}`, `{"$enum": ["Mood", "CALM"]}`, `{"$tuple": [...]}`, `{"$set": [...]}`,
`{"$frozenset": [...]}`, `{"$deque": [[...], maxlen]}`, `{"$map": [[key, value], ...]}`, `{"$bytes": "base64"}`,
`{"$float": "nan"}`.
"""

import base64
import dataclasses
import json
import typing
from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Any, TypeAlias

from tickmind.base import ConfigError, Limit, error_text
from tickmind.tick.errors import SnapshotError

Migration: TypeAlias = Callable[[dict[str, Any]], Mapping[str, Any]]

MAX_DEPTH = Limit("nesting of a component's value", 64, "levels")
PLAIN = frozenset({str, int, bool, type(None)})


class DataclassShape:
    """The fields of one registered dataclass, and how to build it, worked out once."""

    __slots__ = ("_defaults", "_fast", "fields", "kind", "migrate", "name")

    def __init__(self, kind: type, name: str, migrate: Migration | None) -> None:
        self.kind = kind
        self.name = name
        self.migrate = migrate
        fields = dataclasses.fields(kind)
        self.fields = tuple(field.name for field in fields)
        self._defaults: dict[str, Callable[[], Any]] = {}
        for field in fields:
            if field.default_factory is not dataclasses.MISSING:
                self._defaults[field.name] = field.default_factory
            elif field.default is not dataclasses.MISSING:
                self._defaults[field.name] = partial(_same, field.default)
        init = vars(kind).get("__init__")
        self._fast = (
            init is not None
            and init.__code__.co_filename == "<string>"  # made by @dataclass, not written by hand
            and not hasattr(kind, "__post_init__")
            and all(field.init and not field.kw_only for field in fields)
            and "InitVar" not in str(getattr(kind, "__annotations__", {}))
        )

    def build(self, names: tuple[str, ...], values: list[Any]) -> Any:
        """Make an instance with exactly these field values, without its `__post_init__`."""
        if self._fast and names == self.fields:
            return self.kind(*values)
        made: Any = object.__new__(self.kind)
        for name, value in self.complete(dict(zip(names, values, strict=True))).items():
            object.__setattr__(made, name, value)
        return made

    def complete(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return today's fields from those of a snapshot, which may be older."""
        if given.keys() == set(self.fields):
            return given
        if self.migrate is not None:
            try:
                given = dict(self.migrate(given))
            except Exception as error:
                raise SnapshotError(f"the migration of {self.name} raised {error_text(error)}") from error
        if unknown := given.keys() - set(self.fields):
            raise SnapshotError(
                f"{self.name} no longer has the field {min(unknown)!r}; "
                f"convert it with register_component({self.kind.__qualname__}, migrate=...)"
            )
        for name in self.fields:
            if name not in given:
                if name not in self._defaults:
                    raise SnapshotError(
                        f"{self.name}.{name} is not in the snapshot and has no default; give it one, "
                        f"or fill it in with register_component({self.kind.__qualname__}, migrate=...)"
                    )
                given[name] = self._defaults[name]()
        return given


class ComponentTypes:
    """The names of types in snapshots."""

    def __init__(self) -> None:
        self.current: set[type] = set()  # registered, and not replaced by a class of the same name
        self._names: dict[str, type] = {}
        self._kinds: dict[type, str] = {}  # replaced ones too, because values may still have them
        self._shapes: dict[type, DataclassShape] = {}  # replaced ones too
        self._paths: dict[tuple[str, str], type] = {}  # module, qualified name -> the newest class
        self._newest: dict[type, type] = {}  # class that was replaced -> its newest successor
        self._tables: tuple[Any, ...] = (
            self.current,
            self._names,
            self._kinds,
            self._shapes,
            self._paths,
            self._newest,
        )

    def save(self) -> list[Any]:
        """Return what is registered now, for `put_back`."""
        return [table.copy() for table in self._tables]

    def put_back(self, saved: list[Any]) -> None:
        """Undo all registrations since `save`."""
        for table, before in zip(self._tables, saved, strict=True):
            table.clear()
            table.update(before)

    def newest(self, kind: type) -> type:
        """Return the class itself, or its newest successor if it was replaced."""
        return self._newest.get(kind, kind)

    def replaced_by(self, kind: type) -> type | None:
        """Return the registered class that this one redefines."""
        if kind in self._kinds or not _is_at_module_level(kind):
            return None
        return self._paths.get((kind.__module__, kind.__qualname__))

    def by_name(self, name: str) -> type | None:
        """Return the type of this name; None if it is not registered."""
        return self._names.get(name)

    def add(self, kind: type, *, name: str | None = None, migrate: Migration | None = None) -> list[tuple[type, type]]:
        """Register a type, and the dataclasses and enums that its fields are declared with.

        Return which classes were replaced by which. A class that was replaced itself is not registered again.
        """
        if not isinstance(kind, type):
            raise TypeError(f"register the class, not an instance: {kind!r}")
        if kind in self._newest:
            return []
        old = self.replaced_by(kind)
        name = name or self._kinds.get(old or kind) or kind.__qualname__
        known = self._names.get(name)
        if known is not None and known is not kind and known is not old:
            raise ConfigError(
                f"two component types are called {name!r}: {known.__module__} and {kind.__module__}; "
                f"give one another name with register_component({kind.__qualname__}, name=...)"
            )
        former = self._kinds.get(old or kind)
        if former is not None and former != name:
            del self._names[former]
        replaced = []
        if old is not None:
            replaced.append((old, kind))
            self.current.discard(old)
            for earlier in [old, *(earlier for earlier, newest in self._newest.items() if newest is old)]:
                self._newest[earlier] = kind
            if migrate is None and old in self._shapes:
                migrate = self._shapes[old].migrate
        self._names[name] = kind
        self._kinds[kind] = name
        self._paths[kind.__module__, kind.__qualname__] = kind
        self.current.add(kind)
        if dataclasses.is_dataclass(kind):
            self._shapes[kind] = DataclassShape(kind, name, migrate)
            for inner in _declared_types(kind):
                if inner not in self._kinds:
                    replaced += self.add(inner)
        return replaced

    def renew(self, component: Any) -> Any:
        """Return an instance of the newest class with the fields of an instance of a replaced one."""
        kind = type(component)
        newest = self._newest[kind]
        shape, old = self._shapes.get(newest), self._shapes.get(kind)
        try:
            if shape is None or old is None:
                made: Any = object.__new__(newest)
                vars(made).update(vars(component))
                return made
            fields = {name: getattr(component, name) for name in old.fields}
            if shape.migrate is None:
                fields = {name: value for name, value in fields.items() if name in shape.fields}
            return shape.build(tuple(fields), list(fields.values()))
        except (SnapshotError, TypeError, AttributeError) as error:
            raise ConfigError(
                f"{kind.__qualname__} was redefined, and its components can't be converted to the new class "
                f"({error}); give each new field a default, or use register_component(..., migrate=...)"
            ) from error

    def shape(self, kind: type, where: str) -> DataclassShape:
        """Return the shape of a component type, for writing; raises `SnapshotError` that names it if there is none."""
        shape = self._shapes.get(kind)
        if shape is None:
            raise SnapshotError(self._why_not(kind, where))
        return shape

    def shape_named(self, name: str) -> DataclassShape:
        """Return the shape of a component type, for reading."""
        kind = self._names.get(name)
        if kind is None:
            raise SnapshotError(
                f"the snapshot has {name!r}, which is not registered; call register_component() with it first"
            )
        return self.shape(kind, name)

    def _why_not(self, kind: type, where: str) -> str:
        if dataclasses.is_dataclass(kind) or issubclass(kind, Enum):
            return f"{where}: {kind.__qualname__} is not registered; call register_component({kind.__qualname__}) first"
        return (
            f"{where}: {kind.__qualname__} can't be written to a snapshot; "
            "use a dataclass, an enum, numbers, text, bytes or the built-in collections"
        )

    # Values

    def encode(self, value: Any, where: str, depth: int = 0) -> Any:
        """Return plain data for a value; `where` is shown in errors."""
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind is float:
            return value if value - value == 0.0 else {"$float": repr(value)}
        if not MAX_DEPTH.allows(depth):
            raise SnapshotError(
                f"{where[:200]}: nested more than {MAX_DEPTH.maximum} levels deep; is it part of itself?"
            )
        depth += 1
        if kind is list:
            return [self.encode(item, where, depth) for item in value]
        if kind is dict:
            if all(type(key) is str and not key.startswith("$") for key in value):
                return {key: self.encode(item, f"{where}[{key!r}]", depth) for key, item in value.items()}
            return {
                "$map": [
                    [self.encode(k, where, depth), self.encode(v, f"{where}[{k!r}]", depth)] for k, v in value.items()
                ]
            }
        if kind in self._shapes:
            shape = self._shapes[kind]
            fields = {name: self.encode(getattr(value, name), f"{where}.{name}", depth) for name in shape.fields}
            return {"$type": [shape.name, fields]}
        if kind is tuple:
            return {"$tuple": [self.encode(item, where, depth) for item in value]}
        if kind is set or kind is frozenset:
            items = [self.encode(item, where, depth) for item in value]
            return {f"${kind.__name__}": sorted(items, key=lambda item: json.dumps(item, sort_keys=True))}
        if kind is deque:
            return {"$deque": [[self.encode(item, where, depth) for item in value], value.maxlen]}
        if kind is bytes:
            return {"$bytes": base64.b64encode(value).decode("ascii")}
        if isinstance(value, Enum) and kind in self._kinds:
            return {"$enum": [self._kinds[kind], value.name]}
        raise SnapshotError(self._why_not(kind, where))

    def decode(self, data: Any) -> Any:
        """Return the value that was written."""
        kind = type(data)
        if kind is list:
            return [self.decode(item) for item in data]
        if kind is not dict:
            return data
        if len(data) == 1:
            [(tag, body)] = data.items()
            if tag.startswith("$"):
                return self._decode_tagged(tag, body)
        return {key: self.decode(item) for key, item in data.items()}

    def _decode_tagged(self, tag: str, body: Any) -> Any:
        match tag, body:
            case "$type", [str(name), dict(fields)]:
                shape = self.shape_named(name)
                return shape.build(tuple(fields), [self.decode(item) for item in fields.values()])
            case "$enum", [str(name), str(member)]:
                kind = self._names.get(name)
                if kind is None or not issubclass(kind, Enum):
                    raise SnapshotError(
                        f"the snapshot has the enum {name!r}, which is not registered; "
                        "call register_component() with it first"
                    )
                if member not in kind.__members__:
                    raise SnapshotError(f"the enum {name!r} no longer has the member {member!r}")
                return kind[member]
            case "$tuple", list():
                return tuple([self.decode(item) for item in body])
            case "$set", list():
                return {self.decode(item) for item in body}
            case "$frozenset", list():
                return frozenset(self.decode(item) for item in body)
            case "$deque", [list(items), int() | None as maxlen]:
                return deque((self.decode(item) for item in items), maxlen)
            case "$map", list():
                return {self.decode(key): self.decode(item) for key, item in body}
            case "$bytes", str():
                return base64.b64decode(body)
            case "$float", "nan" | "inf" | "-inf":
                return float(body)
            case _:
                raise SnapshotError(f"the snapshot has a value of form {tag!r} that this version does not know")


def _is_at_module_level(kind: type) -> bool:
    """Return whether a class was written in a module or a cell; functions make different classes of one name.

    The body of a class statement names its module first. What `make_dataclass` and `type` make does not, and since
    Python 3.12 nothing else distinguishes them.
    """
    is_made = dataclasses.is_dataclass(kind) and next(iter(vars(kind))) != "__module__"
    return "<locals>" not in kind.__qualname__ and not is_made


def _same(value: Any) -> Any:
    return value


def _declared_types(kind: type) -> list[type]:
    """Return the dataclasses and enums that the fields of a dataclass are declared with, inside collections too."""
    try:
        hints = typing.get_type_hints(kind)
    except (NameError, TypeError):
        return []  # annotations of classes inside functions can't be resolved; encode() then names what is missing
    declared: list[type] = []
    todo = list(hints.values())
    while todo:
        hint = todo.pop()
        todo.extend(typing.get_args(hint))
        if isinstance(hint, type) and hint is not kind and (dataclasses.is_dataclass(hint) or issubclass(hint, Enum)):
            declared.append(hint)
    return declared
