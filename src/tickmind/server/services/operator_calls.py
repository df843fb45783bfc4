"""OperatorService: orders that are answered when the tick in which they are carried out is recorded."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tickmind.server.authority import Authority
from tickmind.wire import codec
from tickmind.wire.messages.placements import PlacementOutcome, PlacementRequest
from tickmind.wire.v1 import operator_pb2 as pb

Answers: TypeAlias = dict[str, Callable[[bytes], Awaitable[bytes]]]  # method -> request to response, both serialized


def operator_calls(authority: Authority) -> Answers:
    """Return the calls of OperatorService by name."""

    async def place(request: PlacementRequest) -> PlacementOutcome:
        done: asyncio.Future[PlacementOutcome] = asyncio.get_running_loop().create_future()

        def settle(outcome: PlacementOutcome) -> None:
            if not done.done():
                done.set_result(outcome)

        pending = authority.placements.add(request, settle)
        if isinstance(pending, PlacementOutcome):
            return pending
        try:
            return await done
        finally:
            authority.placements.withdraw(pending)  # if the client is gone

    async def spawn(data: bytes) -> bytes:
        outcome = await place(codec.decode_placement_request(codec.parse(pb.SpawnActorRequest, data)))
        return codec.encode_placement_outcome(outcome, pb.SpawnActorResponse).SerializeToString()

    async def despawn(data: bytes) -> bytes:
        outcome = await place(codec.decode_placement_request(codec.parse(pb.DespawnActorRequest, data)))
        return codec.encode_placement_outcome(outcome, pb.DespawnActorResponse).SerializeToString()

    return {"SpawnActor": spawn, "DespawnActor": despawn}
