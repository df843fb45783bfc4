"""Snapshots for viewers, made in a thread: packing a large world takes longer than a tick may wait."""

import asyncio

from tickmind.server.authority import Authority
from tickmind.server.services.gate import CallsRefusedError
from tickmind.wire import ViewFilter, codec, columns
from tickmind.wire.v1 import viewer_pb2
from tickmind.world import WorldView

MOST_KEPT = 8  # answers cached for one tick


class Snapshots:
    """Answers `GetViewerSnapshot`: one at a time in a thread, and once per tick for equal requests."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._one = asyncio.Lock()
        self._waiting = 0
        self._of: WorldView | None = None  # the world of the cached answers
        self._answers: dict[ViewFilter, bytes] = {}

    async def answer(self, data: bytes) -> bytes:
        """Return the response to a request, both serialized.

        Raises `MessageError` for a malformed request, and `CallsRefusedError` if too many wait.
        """
        limit = self._authority.limits.waiting_snapshots
        if not limit.allows(self._waiting + 1):
            self._authority.tally.calls_refused += 1
            raise CallsRefusedError(limit)
        view = read_request(data)
        self._waiting += 1
        try:
            async with self._one:
                return await self._find(view)
        finally:
            self._waiting -= 1

    async def _find(self, view: ViewFilter) -> bytes:
        world = self._authority.world_on_record()
        if world is not self._of:
            self._of, self._answers = world, {}
        response = self._answers.get(view)
        if response is None:
            response = await asyncio.to_thread(self.pack, world, view)
            if world is self._of and len(self._answers) < MOST_KEPT:
                self._answers[view] = response
        return response

    def pack(self, world: WorldView, view: ViewFilter) -> bytes:
        """Make the response; thread-safe."""
        snapshot = columns.encode_snapshot(self._authority.viewing.snapshot(world, view))
        return viewer_pb2.GetViewerSnapshotResponse(snapshot=snapshot).SerializeToString()


def read_request(data: bytes) -> ViewFilter:
    """Decode a serialized request; raises `MessageError`."""
    return columns.decode_filter(codec.parse(viewer_pb2.GetViewerSnapshotRequest, data).filter)
