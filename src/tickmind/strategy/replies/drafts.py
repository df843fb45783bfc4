"""`Draft`: a copy of the Blackboard for a parser; only what it changed there is applied.

Collections, their subclasses and objects with attributes are copied, so that a parser that fails half way has changed
nothing. What can't be copied (a lock, an open file) is shared, and so are parts of tickmind itself, such as a `World`.
"""

import copy
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

from tickmind.ai import Blackboard
from tickmind.base import Limit
from tickmind.strategy.errors import CAUGHT, ParseError

MAX_DEPTH = Limit("nesting of what a reply puts on the Blackboard", 52, "levels")  # a snapshot takes some more
MAX_OBJECTS = Limit("number of objects on a Blackboard that a parser works on", 10_000)
_ATOMS = frozenset({str, int, float, bool, NoneType, bytes, complex, frozenset, FunctionType, BuiltinFunctionType})
_SHARED = (type, ModuleType, MethodType, Enum)


class Copier:
    """Make one deep copy and remember which object is a copy of which.

    Raises `ParseError` for what is nested more than `levels` deep, if that is given.
    """

    __slots__ = ("_copies", "_levels", "originals")

    def __init__(self, *, levels: int | None = None) -> None:
        self._levels = levels
        self._copies: dict[int, Any] = {}  # id of an object -> its copy
        self.originals: dict[int, tuple[Any, Any]] = {}  # id of a copy -> the copy, the object

    def copy(self, value: Any, depth: int = 0) -> Any:
        """Copy a value."""
        kind = type(value)
        if kind in _ATOMS:
            return value
        if depth == self._levels:
            raise ParseError(f"what the reply changes is nested more than {MAX_DEPTH.maximum} levels deep")
        depth += 1
        if kind is dict:
            return {key: item if type(item) in _ATOMS else self.copy(item, depth) for key, item in value.items()}
        if kind is list:
            return [item if type(item) in _ATOMS else self.copy(item, depth) for item in value]
        if kind is tuple:
            return tuple([self.copy(item, depth) for item in value])
        if kind is set:
            return set(value)
        if kind is deque:
            return deque([self.copy(item, depth) for item in value], value.maxlen)
        return self._copy_object(value, kind, depth)

    def _copy_object(self, value: Any, kind: type, depth: int) -> Any:
        known = self._copies.get(id(value))
        if known is not None:
            return known
        if isinstance(value, _SHARED) or (kind.__module__.startswith("tickmind.") and not is_dataclass(kind)):
            return value
        MAX_OBJECTS.check(len(self._copies) + 1)
        try:
            if isinstance(value, tuple):
                made: Any = tuple.__new__(kind, [self.copy(item, depth) for item in value])
                vars_of(made).update(vars_of(value))
            else:
                made = copy.copy(value)
        except ParseError:
            raise
        except CAUGHT:  # it can't be copied, or refuses to be
            return value
        if made is value:
            return value
        self._copies[id(value)] = made
        self.originals[id(made)] = (made, value)
        if isinstance(made, dict):
            for key, item in dict.items(value):
                dict.__setitem__(made, key, self.copy(item, depth))
        elif isinstance(made, list):
            list.__setitem__(made, slice(None), [self.copy(item, depth) for item in list.__iter__(value)])
        elif isinstance(made, deque):
            for place, item in enumerate(deque.__iter__(value)):
                deque.__setitem__(made, place, self.copy(item, depth))
        attributes = vars_of(made)
        for name, item in tuple(attributes.items()):
            attributes[name] = self.copy(item, depth)
        for name, item in slots_of(made):
            object.__setattr__(made, name, self.copy(item, depth))
        return made


def copied(value: Any, *, levels: int | None = None) -> Any:
    """Return a deep copy of a value; see `Copier`."""
    return Copier(levels=levels).copy(value)


class Draft:
    """A copy of a Blackboard for a parser to work on."""

    def __init__(self, blackboard: Blackboard) -> None:
        copier = Copier()
        self.board = Blackboard(copier.copy(blackboard.data))
        self._before = blackboard
        self._originals = copier.originals

    def changed(self) -> dict[str, Any]:
        """Return the keys with a new value, and that value; unchanged objects are the original ones."""
        old, new = self._before.data, self.board.data
        if not isinstance(new, dict):
            raise ParseError(f"the parser replaced the Blackboard's data, a dict, by a {type(new).__name__}")
        return {key: value for key, value in new.items() if key not in old or self._differs(old[key], value)}

    def gone(self) -> list[str]:
        """Return the keys that are no longer there."""
        return [key for key in self._before.data if key not in self.board.data]

    def settled(self, value: Any) -> Any:
        """Return a changed value, with the original objects in place of unchanged copies."""
        return self._settle(value, set()) if self._originals else value

    def _differs(self, old: Any, new: Any) -> bool:
        if not differs(old, new):
            return False
        return not (self._originals and type(old) is type(new) and self._same(old, new, set()))

    def _same(self, old: Any, new: Any, seen: set[tuple[int, int]]) -> bool:
        """Return whether a value is unchanged, also for objects without equality but their identity."""
        if old is new:
            return True
        if type(old) is not type(new):
            return False
        if (id(old), id(new)) in seen:
            return True
        seen.add((id(old), id(new)))
        if isinstance(old, dict):
            alike = old.keys() == new.keys() and all(
                self._same(dict.__getitem__(old, key), dict.__getitem__(new, key), seen) for key in dict.keys(old)
            )
        elif isinstance(old, list | tuple | deque):
            alike = len(old) == len(new) and all(self._same(*pair, seen) for pair in zip(old, new, strict=True))
        elif id(new) not in self._originals:
            return not differs(old, new)
        else:
            alike = self._originals[id(new)][1] is old and (isinstance(old, set) is False or old == new)
        parts = (vars_of(old), vars_of(new)), (dict(slots_of(old)), dict(slots_of(new)))
        if alike and not any(map(any, parts)) and not isinstance(old, dict | list | tuple | deque | set):
            return _same_bytes(old, new)
        return alike and all(
            before.keys() == after.keys() and all(self._same(before[name], after[name], seen) for name in before)
            for before, after in parts
        )

    def _settle(self, value: Any, seen: set[int]) -> Any:
        if type(value) in _ATOMS or id(value) in seen:
            return value
        copy_and_original = self._originals.get(id(value))
        if copy_and_original is not None and self._same(copy_and_original[1], value, set()):
            return copy_and_original[1]
        seen.add(id(value))
        if type(value) is tuple:
            return tuple([self._settle(item, seen) for item in value])
        if isinstance(value, dict):
            for key, item in tuple(dict.items(value)):
                dict.__setitem__(value, key, self._settle(item, seen))
        elif isinstance(value, list):
            list.__setitem__(value, slice(None), [self._settle(item, seen) for item in list.__iter__(value)])
        elif isinstance(value, deque):
            for place, item in enumerate(tuple(value)):
                deque.__setitem__(value, place, self._settle(item, seen))
        if copy_and_original is not None:
            attributes = vars_of(value)
            for name, item in tuple(attributes.items()):
                attributes[name] = self._settle(item, seen)
            for name, item in slots_of(value):
                object.__setattr__(value, name, self._settle(item, seen))
        return value


def differs(old: Any, new: Any) -> bool:
    """Return whether two values differ by `==`; True if they can't be compared."""
    if old is new:
        return False
    try:
        return type(old) is not type(new) or bool(old != new)
    except CAUGHT:  # an array compares element by element, which is no answer
        return True


def _same_bytes(old: Any, new: Any) -> bool:
    """Return whether two things without attributes are equal: by their bytes if they have such, as arrays do."""
    try:
        return memoryview(old).tobytes() == memoryview(new).tobytes()
    except TypeError:
        return hasattr(old, "__dict__") or not differs(old, new)  # an object of a class that keeps nothing


def vars_of(value: Any) -> dict[str, Any]:
    """Return the attributes of an object; empty if it has none."""
    attributes = getattr(value, "__dict__", None)
    return attributes if isinstance(attributes, dict) else {}


def slots_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the filled slots of an object."""
    for kind in type(value).__mro__:
        names = vars(kind).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            mangled = f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") and name[-2:] != "__" else name
            if mangled not in ("__dict__", "__weakref__") and hasattr(value, mangled):
                yield mangled, getattr(value, mangled)


def own_object(data: Any) -> dict[str, Any]:
    """Return a copy of the object that a client read, because other callers may get the same object."""
    if not isinstance(data, Mapping):
        raise ParseError(f"the client read the reply as a {type(data).__name__}, not an object")
    levels = int(MAX_DEPTH.maximum)
    return {str(name): copied(value, levels=levels) for name, value in data.items()}
