"""Codec of kinds of items with a number each."""

from collections.abc import Sequence

from tickmind.protocol import ItemAmounts
from tickmind.wire.codec.values import count, name, number
from tickmind.wire.messages.limits import MAX_AMOUNT, MAX_KINDS
from tickmind.wire.v1 import entity_pb2 as pb


def encode_amounts(items: ItemAmounts) -> list[pb.ItemAmount]:
    """Encode items."""
    return [pb.ItemAmount(item=item, amount=amount) for item, amount in items]


def decode_amounts(items: Sequence[pb.ItemAmount]) -> ItemAmounts:
    """Decode items."""
    count(items, "items", MAX_KINDS)
    return tuple((name(each.item, "item"), number(each.amount, "amount", 1, int(MAX_AMOUNT.maximum))) for each in items)
