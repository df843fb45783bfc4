"""Every length that a message may have is taken, and one more is not."""

from collections.abc import Callable
from typing import Any

import pytest

from tickmind.wire import MessageError, codec
from tickmind.wire.codec.insights import decode_insight
from tickmind.wire.v1 import action_pb2, lease_pb2, telemetry_pb2


def insight(**fields: Any) -> Any:
    return decode_insight(telemetry_pb2.Insight(entity_id="entity:1", tick_id=1, whole=True, **fields))


def entry(key: str, value: str = "1") -> telemetry_pb2.BoardEntry:
    return telemetry_pb2.BoardEntry(key=key, value_json=value)


def say(text: str) -> Any:
    return codec.decode_intent(action_pb2.Intent(say=action_pb2.Say(text=text, channel="local")))


def acquire(**fields: str) -> Any:
    return codec.decode_acquire(lease_pb2.AcquireLeaseRequest(**{"entity_id": "a", "controller_id": "me", **fields}))


LENGTHS: dict[str, tuple[int, Callable[[int], Any]]] = {  # what -> how long it may be, and how to decode one so long
    "speech": (500, lambda size: say("x" * size)),
    "kind": (
        100,
        lambda size: codec.decode_intent(action_pb2.Intent(pickup=action_pb2.Pickup(kind="x" * size, amount=1))),
    ),
    "entity": (100, lambda size: acquire(entity_id="x" * size)),
    "controller": (200, lambda size: acquire(controller_id="x" * size)),
    "secret": (200, lambda size: acquire(previous_lease_id="x" * size)),
    "nodes of a tree": (400, lambda size: insight(tree=[telemetry_pb2.TreeLine(text="x")] * size)),
    "a node": (200, lambda size: insight(tree=[telemetry_pb2.TreeLine(text="x" * size)])),
    "entries of a board": (100, lambda size: insight(board=[entry(f"k{number}") for number in range(size)])),
    "a key": (200, lambda size: insight(board=[entry("k" * size)])),
    "a value": (2000, lambda size: insight(board=[entry("k", '"' + "x" * (size - 2) + '"')])),
    "keys that are gone": (100, lambda size: insight(gone_keys=["k"] * size)),
    "a key that is gone": (200, lambda size: insight(gone_keys=["k" * size])),
    "memories": (30, lambda size: insight(memories=[telemetry_pb2.MemoryNote(text="x")] * size)),
    "a memory": (500, lambda size: insight(memories=[telemetry_pb2.MemoryNote(text="x" * size)])),
}


@pytest.mark.parametrize("what", LENGTHS)
def test_as_much_as_the_limit_is_taken_and_one_more_is_not(what):
    most, decode = LENGTHS[what]
    assert decode(most) is not None
    with pytest.raises(MessageError):
        decode(most + 1)
