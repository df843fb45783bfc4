"""Codec of the kinds of a world: floors, items, objects and what can be done with them."""

from collections.abc import Sequence

from tickmind.protocol import ActionInfo, ContainerInfo, FloorInfo, ItemInfo, KindInfo
from tickmind.protocol.entity import Prices
from tickmind.wire.codec.amounts import decode_amounts, decode_changes, encode_amounts, encode_changes
from tickmind.wire.codec.setting import decode_hours, encode_hours
from tickmind.wire.codec.values import INT32_MAX, count, encoder, name, names, number, optional_name, sides, size
from tickmind.wire.messages.limits import (
    MAX_AMOUNT,
    MAX_KINDS,
    MAX_OBJECTS,
    MAX_SEASONS,
    MAX_STATES,
    MAX_TAGS,
    MAX_WEATHERS,
)
from tickmind.wire.v1 import entity_pb2 as pb


@encoder
def encode_floor(floor: FloorInfo) -> pb.FloorInfo:
    """Encode a kind of floor."""
    return pb.FloorInfo(
        name=floor.name,
        walkable=floor.walkable,
        opaque=floor.opaque,
        hazards=floor.hazards,
        energy=floor.energy,
        hunger=floor.hunger,
        step_ticks=floor.step_ticks,
        own_needs=encode_changes(floor.own_needs),
    )


@encoder
def encode_item(item: ItemInfo) -> pb.ItemInfo:
    """Encode a kind of item."""
    return pb.ItemInfo(
        name=item.name,
        use=encode_changes(item.use),
        lasts=item.lasts,
        becomes=encode_amounts(item.becomes),
    )


@encoder
def encode_kind(kind: KindInfo) -> pb.KindInfo:
    """Encode a kind of object."""
    states = [
        pb.StateInfo(name=state, walkable=walkable, opaque=opaque, actions=map(_encode_action, actions))
        for state, walkable, opaque, actions in zip(kind.states, kind.walkable, kind.opaque, kind.actions, strict=True)
    ]
    for state, changes in zip(states, kind.each_tick, strict=bool(kind.each_tick)):
        state.each_tick.extend(encode_changes(changes))
    return pb.KindInfo(
        name=kind.name,
        states=states,
        tags=kind.tags,
        stock_item=kind.stock_item,
        container=None if kind.container is None else _encode_container(kind.container),
        build=None if kind.build is None else _encode_action(kind.build),
        most_built=kind.most_built,
        doubling_ticks=kind.doubling_ticks,
        **sides(kind.size),
    )


def _encode_container(container: ContainerInfo) -> pb.ContainerInfo:
    return pb.ContainerInfo(
        holds=container.holds,
        sells=_encode_prices(container.sells),
        buys=_encode_prices(container.buys),
        hours=encode_hours(container.hours),
    )


def _encode_prices(prices: Prices) -> list[pb.Price]:
    return [pb.Price(item=item, price=encode_amounts(price)) for item, price in prices]


def _encode_action(action: ActionInfo) -> pb.ActionInfo:
    return pb.ActionInfo(
        verb=action.verb,
        to=action.to,
        work=action.work,
        needs=encode_amounts(action.needs),
        consumes=encode_amounts(action.consumes),
        yields=encode_amounts(action.yields),
        hours=encode_hours(action.hours),
        seasons=action.seasons,
        weather=action.weather,
        wears=encode_amounts(action.wears),
        removes=action.removes,
    )


def decode_floor(message: pb.FloorInfo) -> FloorInfo:
    """Decode a kind of floor."""
    return FloorInfo(
        name(message.name, "floors.name"),
        message.walkable,
        message.opaque,
        names(message.hazards, "floors.hazards", MAX_TAGS),
        message.energy,
        message.hunger,
        number(message.step_ticks, "floors.step_ticks", 0, INT32_MAX) or 1,
        decode_changes(message.own_needs, "floors.own_needs"),
    )


def decode_item(message: pb.ItemInfo) -> ItemInfo:
    """Decode a kind of item."""
    return ItemInfo(
        name(message.name, "items.name"),
        decode_changes(message.use, "items.use"),
        number(message.lasts, "items.lasts", 0, INT32_MAX),
        decode_amounts(message.becomes),
    )


def decode_kind(message: pb.KindInfo) -> KindInfo:
    """Decode a kind of object."""
    count(message.states, "kinds.states", MAX_STATES)
    each_tick = tuple(decode_changes(state.each_tick, "kinds.states.each_tick") for state in message.states)
    return KindInfo(
        name(message.name, "kinds.name"),
        tuple(optional_name(state.name, "kinds.states") for state in message.states),
        tuple(state.walkable for state in message.states),
        tuple(state.opaque for state in message.states),
        tuple(_decode_actions(state) for state in message.states),
        names(message.tags, "kinds.tags", MAX_TAGS),
        optional_name(message.stock_item, "kinds.stock_item"),
        _decode_container(message.container) if message.HasField("container") else None,
        each_tick if any(each_tick) else (),
        _decode_action(message.build) if message.HasField("build") else None,
        number(message.most_built, "kinds.most_built", 0, int(MAX_OBJECTS.maximum)),
        size(message.width, message.height, "kinds"),
        number(message.doubling_ticks, "kinds.doubling_ticks", 0, INT32_MAX),
    )


def _decode_container(message: pb.ContainerInfo) -> ContainerInfo:
    return ContainerInfo(
        number(message.holds, "container.holds", 1, int(MAX_AMOUNT.maximum)),
        _decode_prices(message.sells),
        _decode_prices(message.buys),
        decode_hours(message),
    )


def _decode_prices(prices: Sequence[pb.Price]) -> Prices:
    count(prices, "container.prices", MAX_KINDS)
    return tuple((name(each.item, "container.prices.item"), decode_amounts(each.price)) for each in prices)


def _decode_actions(message: pb.StateInfo) -> tuple[ActionInfo, ...]:
    count(message.actions, "kinds.states.actions", MAX_KINDS)
    return tuple(map(_decode_action, message.actions))


def _decode_action(action: pb.ActionInfo) -> ActionInfo:
    return ActionInfo(
        name(action.verb, "kinds.states.actions.verb"),
        optional_name(action.to, "kinds.states.actions.to"),
        number(action.work, "kinds.states.actions.work", 1, INT32_MAX),
        decode_amounts(action.needs),
        decode_amounts(action.consumes),
        decode_amounts(action.yields),
        decode_hours(action),
        names(action.seasons, "kinds.states.actions.seasons", MAX_SEASONS),
        names(action.weather, "kinds.states.actions.weather", MAX_WEATHERS),
        decode_amounts(action.wears),
        action.removes,
    )
