"""The questions of one client, answered one after the other."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from tickmind.adapters.websocket.errors import failed_call, socket_error
from tickmind.adapters.websocket.limits import SocketLimits
from tickmind.wire import WireError
from tickmind.wire.client.relay import RelayCaller
from tickmind.wire.v1 import door_pb2 as pb


class Questions:
    """Asks the world what a client asks, and queues each answer as soon as nothing else waits for the client."""

    def __init__(
        self,
        caller: RelayCaller,
        put: Callable[[pb.SocketResponse], Awaitable[None]],
        limits: SocketLimits,
        world_readers: asyncio.Semaphore,
        start: Callable[[Callable[[], Coroutine[Any, Any, None]]], asyncio.Task[None]],
        on_stalled: Callable[[str], None],
    ) -> None:
        self._caller = caller
        self._put = put
        self._limits = limits
        self._world_readers = world_readers
        self._start = start
        self._on_stalled = on_stalled
        self._waiting: deque[pb.SocketRequest] = deque()
        self._working: asyncio.Task[None] | None = None

    def ask(self, request: pb.SocketRequest, lease_id: str) -> bool:
        """Queue a question; return False, and leave it out, if as many wait as may.

        A report without a lease gets `lease_id`.
        """
        if not self._limits.questions.allows(len(self._waiting) + 1):
            return False
        kind = request.telemetry.WhichOneof("report")
        if kind is not None and not getattr(request.telemetry, kind).lease_id:
            getattr(request.telemetry, kind).lease_id = lease_id
        self._waiting.append(request)
        if self._working is None or self._working.done():
            self._working = self._start(self._work)
        return True

    async def close(self) -> None:
        """Drop the questions that wait, and the one that is being asked."""
        self._waiting.clear()
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)

    async def _work(self) -> None:
        while self._waiting:
            request = self._waiting[0]  # it counts until it is answered
            try:
                await self._answer(request)
            except WireError as error:
                await self._put(failed_call(error, request_id=request.request_id))
            self._waiting.popleft()

    async def _answer(self, request: pb.SocketRequest) -> None:
        number = request.request_id
        match request.WhichOneof("frame"):
            case "describe":
                page = await self._caller.entities(request.describe)
                await self._put(pb.SocketResponse(describe=page, request_id=number))
            case "snapshot":
                snapshot = await self._caller.snapshot(request.snapshot)
                await self._put(pb.SocketResponse(snapshot=snapshot, request_id=number))
            case "world":
                await self._send_world(request)
            case _:
                await self._report(request)

    async def _send_world(self, request: pb.SocketRequest) -> None:
        """Read the whole world before sending it: a client that stalls must not delay the world's other streams."""
        async with self._world_readers:
            parts = [part async for part in self._caller.world(request.world)]
            try:
                async with asyncio.timeout(self._limits.world_s.maximum):
                    for place, part in enumerate(parts, start=1):
                        response = pb.WorldPart(part=part, last=place == len(parts))
                        await self._put(pb.SocketResponse(world=response, request_id=request.request_id))
            except TimeoutError:  # others wait to read the world
                self._on_stalled(f"the world was not read within {self._limits.world_s.maximum:g} s")

    async def _report(self, request: pb.SocketRequest) -> None:
        kind = request.telemetry.WhichOneof("report")
        if kind is None:
            words = "telemetry: exactly one of thought, status and insights must be set"
            code = pb.SOCKET_ERROR_CODE_BAD_FRAME
            await self._put(socket_error(code, words, request_id=request.request_id))
            return
        answer = await self._caller.report(getattr(request.telemetry, kind))
        telemetry = pb.TelemetryAnswer(ack=answer.ack)
        await self._put(pb.SocketResponse(telemetry=telemetry, request_id=request.request_id))
