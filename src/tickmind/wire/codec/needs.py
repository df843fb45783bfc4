"""Codec of what changes needs, and of the needs that a world declares."""

from collections.abc import Sequence

from tickmind.protocol import ItemInfo, NeedChanges
from tickmind.wire.codec.values import count, name, number
from tickmind.wire.messages.limits import MAX_KINDS, MAX_NEED, MAX_OWN_NEEDS
from tickmind.wire.v1 import entity_pb2 as pb
from tickmind.wire.v1 import observation_pb2

NEED = int(MAX_NEED.maximum)
MAX_CHANGES = MAX_OWN_NEEDS.at(int(MAX_OWN_NEEDS.maximum) + 2)  # with energy and hunger


def encode_changes(changes: NeedChanges) -> list[pb.NeedChange]:
    """Encode what is added to needs."""
    return [pb.NeedChange(need=need, by=by) for need, by in changes]


def decode_changes(changes: Sequence[pb.NeedChange], field: str) -> NeedChanges:
    """Decode what is added to needs."""
    if not changes:
        return ()
    count(changes, field, MAX_CHANGES)
    return tuple((name(each.need, field), number(each.by, field, -NEED, NEED)) for each in changes)


def encode_items(items: Sequence[ItemInfo]) -> list[pb.ItemInfo]:
    """Encode kinds of items."""
    return [pb.ItemInfo(name=item.name, use=encode_changes(item.use)) for item in items]


def decode_items(items: Sequence[pb.ItemInfo]) -> tuple[ItemInfo, ...]:
    """Decode kinds of items."""
    count(items, "items", MAX_KINDS)
    return tuple(ItemInfo(name(item.name, "items.name"), decode_changes(item.use, "items.use")) for item in items)


def decode_values(needs: Sequence[observation_pb2.NeedValue]) -> tuple[tuple[str, int], ...]:
    """Decode the own needs of an observer."""
    if not needs:
        return ()
    count(needs, "me.needs", MAX_OWN_NEEDS)
    return tuple((name(need.name, "me.needs"), number(need.value, "me.needs", 0, NEED)) for need in needs)
