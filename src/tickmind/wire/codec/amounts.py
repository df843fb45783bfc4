"""Codec of numbers by name: so many of an item, what is added to a need, and the value of a need."""

from collections.abc import Sequence

from tickmind.protocol import ItemAmounts, NeedChanges
from tickmind.wire.codec.values import count, name, number
from tickmind.wire.messages.limits import MAX_AMOUNT, MAX_KINDS, MAX_NEED, MAX_OWN_NEEDS
from tickmind.wire.v1 import entity_pb2 as pb
from tickmind.wire.v1 import observation_pb2

NEED = int(MAX_NEED.maximum)
MAX_CHANGES = MAX_OWN_NEEDS.at(int(MAX_OWN_NEEDS.maximum) + 2)  # with energy and hunger


def encode_amounts(items: ItemAmounts) -> list[pb.ItemAmount]:
    """Encode items."""
    return [pb.ItemAmount(item=item, amount=amount) for item, amount in items]


def decode_amounts(items: Sequence[pb.ItemAmount]) -> ItemAmounts:
    """Decode items."""
    count(items, "items", MAX_KINDS)
    return tuple((name(each.item, "item"), number(each.amount, "amount", 1, int(MAX_AMOUNT.maximum))) for each in items)


def encode_changes(changes: NeedChanges) -> list[pb.NeedChange]:
    """Encode what is added to needs."""
    return [pb.NeedChange(need=need, by=by) for need, by in changes]


def decode_changes(changes: Sequence[pb.NeedChange], field: str) -> NeedChanges:
    """Decode what is added to needs."""
    if not changes:
        return ()
    count(changes, field, MAX_CHANGES)
    return tuple((name(each.need, field), number(each.by, field, -NEED, NEED)) for each in changes)


def decode_needs(needs: Sequence[observation_pb2.NeedValue]) -> tuple[tuple[str, int], ...]:
    """Decode the own needs of an observer."""
    if not needs:
        return ()
    count(needs, "me.needs", MAX_OWN_NEEDS)
    return tuple((name(need.name, "me.needs"), number(need.value, "me.needs", 0, NEED)) for need in needs)
