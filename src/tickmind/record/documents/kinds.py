"""Kinds of floors, items and objects, as they are recorded. Callers make `DamagedRunError` of errors in them."""

from collections.abc import Mapping, Sequence
from typing import Any

from tickmind.protocol import ActionInfo, ContainerInfo, FloorInfo, ItemAmounts, ItemInfo, KindInfo, NeedChanges
from tickmind.record.documents.setting import read_hours

_ACTION_ITEMS = ("needs", "consumes", "yields", "wears")
_FLOOR_VALUES = ("name", "walkable", "opaque", "energy", "hunger", "step_ticks")
_ACTION_TIMES = ("seasons", "weather")


def floor_document(floor: FloorInfo) -> dict[str, Any]:
    """Return the document of a kind of floor."""
    own = {"own_needs": dict(floor.own_needs)} if floor.own_needs else {}
    return {**{name: getattr(floor, name) for name in _FLOOR_VALUES}, "hazards": list(floor.hazards), **own}


def floor_of(document: Mapping[str, Any]) -> FloorInfo:
    """Return a kind of floor; on those of earlier versions nothing happens."""
    changes = int(document.get("energy", 0)), int(document.get("hunger", 0)), int(document.get("step_ticks", 1))
    walkable, opaque = bool(document["walkable"]), bool(document["opaque"])
    own = _read_changes(document.get("own_needs", {}))
    return FloorInfo(document["name"], walkable, opaque, tuple(document["hazards"]), *changes, own)


def item_document(item: ItemInfo) -> dict[str, Any]:
    """Return the document of a kind of item."""
    decay = {"lasts": item.lasts, "becomes": dict(item.becomes)} if item.lasts else {}
    return {"name": item.name, "use": dict(item.use), **decay}


def item_of(document: Mapping[str, Any]) -> ItemInfo:
    """Return a kind of item."""
    becomes = _read_amounts(document.get("becomes", {}))
    return ItemInfo(str(document["name"]), _read_changes(document["use"]), int(document.get("lasts", 0)), becomes)


def _read_changes(document: Mapping[str, Any]) -> NeedChanges:
    return tuple((str(need), int(by)) for need, by in document.items())


def kind_document(kind: KindInfo) -> dict[str, Any]:
    """Return the document of a kind of object."""
    return {
        "name": kind.name,
        "states": list(kind.states),
        "walkable": list(kind.walkable),
        "opaque": list(kind.opaque),
        "verbs": [list(verbs) for verbs in kind.verbs],
        "actions": [[_action_document(action) for action in actions] for actions in kind.actions],
        "tags": list(kind.tags),
        "stock_item": kind.stock_item,
        "container": None if kind.container is None else _container_document(kind.container),
        **({"each_tick": list(map(dict, kind.each_tick))} if kind.each_tick else {}),
        **({} if kind.build is None else {"build": _action_document(kind.build), "most_built": kind.most_built}),
        **({} if kind.size == (1, 1) else {"size": list(kind.size)}),
        **({"doubling_ticks": kind.doubling_ticks} if kind.doubling_ticks else {}),
    }


def kind_of(document: Mapping[str, Any]) -> KindInfo:
    """Return a kind of object."""
    return KindInfo(
        document["name"],
        tuple(document["states"]),
        tuple(map(bool, document["walkable"])),
        tuple(map(bool, document["opaque"])),
        _read_actions(document),
        tuple(document["tags"]),
        document["stock_item"],
        _read_container(document.get("container")),
        tuple(map(_read_changes, document.get("each_tick", ()))),
        _read_action(document["build"]) if "build" in document else None,
        int(document.get("most_built", 0)),
        _read_size(document.get("size", (1, 1))),
        int(document.get("doubling_ticks", 0)),
    )


def _read_size(document: Sequence[Any]) -> tuple[int, int]:
    width, height = document
    return int(width), int(height)


def _container_document(container: ContainerInfo) -> dict[str, Any]:
    prices = {name: {item: dict(price) for item, price in getattr(container, name)} for name in ("sells", "buys")}
    return {"holds": container.holds, **prices, "hours": None if container.hours is None else list(container.hours)}


def _read_container(document: Mapping[str, Any] | None) -> ContainerInfo | None:
    """Return what a kind holds, buys and sells; a run of an earlier version says nothing of it."""
    if document is None:
        return None
    sells, buys = (
        tuple((str(item), _read_amounts(price)) for item, price in sorted(document[name].items()))
        for name in ("sells", "buys")
    )
    return ContainerInfo(int(document["holds"]), sells, buys, read_hours(document["hours"]))


def _read_amounts(document: Mapping[str, Any]) -> ItemAmounts:
    return tuple((str(item), int(amount)) for item, amount in sorted(document.items()))


def _action_document(action: ActionInfo) -> dict[str, Any]:
    parts = {name: dict(getattr(action, name)) for name in _ACTION_ITEMS if getattr(action, name)}
    hours = {} if action.hours is None else {"hours": list(action.hours)}
    times = {name: list(getattr(action, name)) for name in _ACTION_TIMES if getattr(action, name)}
    removes = {"removes": True} if action.removes else {}
    return {"verb": action.verb, "to": action.to, "work": action.work, **parts, **hours, **times, **removes}


def _read_actions(kind: Mapping[str, Any]) -> tuple[tuple[ActionInfo, ...], ...]:
    """Return the actions of a kind, by state; a run of an earlier version has only their verbs."""
    if "actions" not in kind:
        return tuple(tuple(map(ActionInfo, verbs)) for verbs in kind["verbs"])
    return tuple(tuple(map(_read_action, actions)) for actions in kind["actions"])


def _read_action(document: Mapping[str, Any]) -> ActionInfo:
    needs, consumes, yields, wears = (_read_amounts(document.get(name, {})) for name in _ACTION_ITEMS)
    hours = read_hours(document.get("hours"))
    verb, to, work = str(document["verb"]), str(document["to"]), int(document["work"])
    seasons, weather = (tuple(map(str, document.get(name, ()))) for name in _ACTION_TIMES)
    removes = bool(document.get("removes", False))
    return ActionInfo(verb, to, work, needs, consumes, yields, hours, seasons, weather, wears, removes)
