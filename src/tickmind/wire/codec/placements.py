"""Codec of operators' orders and their outcomes."""

from typing import Any, TypeAlias

from tickmind.protocol import REASON_CODES
from tickmind.wire.codec.values import SIDE, encoder, name, number, present, reason, tick
from tickmind.wire.messages.placements import PlacementOutcome, PlacementRequest
from tickmind.wire.v1 import operator_pb2 as pb

Placing: TypeAlias = pb.SpawnActorRequest | pb.DespawnActorRequest
Placed: TypeAlias = pb.SpawnActorResponse | pb.DespawnActorResponse


@encoder
def encode_placement_request(request: PlacementRequest) -> Placing:
    """Encode an order."""
    if request.leaves:
        return pb.DespawnActorRequest(entity_id=request.entity_id)
    return pb.SpawnActorRequest(entity_id=request.entity_id, at=_encode_tile(request.at))


def decode_placement_request(message: Placing) -> PlacementRequest:
    """Decode an order."""
    entity_id = name(message.entity_id, "entity_id")
    if isinstance(message, pb.DespawnActorRequest):
        return PlacementRequest(entity_id, leaves=True)
    return PlacementRequest(entity_id, _decode_tile(message.at) if message.HasField("at") else None)


@encoder
def encode_placement_outcome(outcome: PlacementOutcome, kind: type[Placed]) -> Placed:
    """Encode the outcome of an order, as a response of this kind."""
    code: Any = REASON_CODES[outcome.reason]
    return kind(outcome=pb.PlacementOutcome(reason=code, tick_id=outcome.tick_id, at=_encode_tile(outcome.at)))


def decode_placement_outcome(message: Placed) -> PlacementOutcome:
    """Decode the outcome of an order."""
    present(message, "outcome")
    outcome = message.outcome
    at = _decode_tile(outcome.at) if outcome.HasField("at") else None
    return PlacementOutcome(reason(outcome.reason, "reason"), tick(outcome.tick_id), at)


def _encode_tile(at: tuple[int, int] | None) -> pb.Tile | None:
    return None if at is None else pb.Tile(x=at[0], y=at[1])


def _decode_tile(message: pb.Tile) -> tuple[int, int]:
    return number(message.x, "x", 0, SIDE - 1), number(message.y, "y", 0, SIDE - 1)
