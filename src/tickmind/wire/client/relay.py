"""Calls of many callers over a few connections, for a bridge that passes messages on as they are."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeAlias

import grpc.aio

from tickmind.base import Limit, Secret
from tickmind.wire.client.calls import call_error, open_channel
from tickmind.wire.client.connection import WorldEndpoint
from tickmind.wire.client.link import Link
from tickmind.wire.client.relayed_control import ControlCarrier, ControlLink, RelayedLink
from tickmind.wire.client.service_calls import service_calls
from tickmind.wire.errors import WireError
from tickmind.wire.v1 import entity_pb2, operator_pb2, relay_pb2, telemetry_pb2, viewer_pb2

MAX_RELAY_CHANNELS = Limit("number of connections of a bridge to its world", 4)

Report: TypeAlias = (
    telemetry_pb2.ReportThoughtRequest | telemetry_pb2.ReportStatusRequest | telemetry_pb2.ReportInsightsRequest
)
ReportAnswer: TypeAlias = (
    telemetry_pb2.ReportThoughtResponse | telemetry_pb2.ReportStatusResponse | telemetry_pb2.ReportInsightsResponse
)

_RELAY = relay_pb2.DESCRIPTOR.services_by_name["RelayService"].full_name
_OPERATOR = operator_pb2.DESCRIPTOR.services_by_name["OperatorService"].full_name


class _ServiceCalls:
    """The services of a world on one connection."""

    def __init__(self, connection: WorldEndpoint) -> None:
        self.channel = open_channel(connection)
        self.relay = self.channel.stream_stream(f"/{_RELAY}/RelayControl")
        self.play = self.channel.stream_stream(f"/{_OPERATOR}/Play")
        self.entities = service_calls(self.channel, entity_pb2.DESCRIPTOR)
        self.telemetry = service_calls(self.channel, telemetry_pb2.DESCRIPTOR)
        self.viewer = service_calls(self.channel, viewer_pb2.DESCRIPTOR)
        self._carriers: dict[WorldEndpoint, ControlCarrier] = {}  # with the token of its clients
        self._closing: set[asyncio.Task[None]] = set()

    def control(
        self,
        connection: WorldEndpoint,
        on_frame: Callable[[bytes], None],
        on_end: Callable[[WireError | None], None],
        *,
        as_json: bool,
    ) -> ControlLink:
        """Return a control stream, which shares a stream to the world with others that have the same token."""
        carrier = self._carriers.get(connection)
        if carrier is None:
            metadata = connection.metadata
            carrier = self._carriers[connection] = ControlCarrier(
                lambda: self.relay(metadata=metadata), connection, lambda: self._drop(connection)
            )
        return RelayedLink(carrier, on_frame, on_end, as_json=as_json)

    async def close(self) -> None:
        """Close the connection and the streams on it."""
        for connection in list(self._carriers):
            self._drop(connection)
        await asyncio.gather(*self._closing)
        await self.channel.close()

    def _drop(self, connection: WorldEndpoint) -> None:
        """End a stream that no client uses any more."""
        carrier = self._carriers.pop(connection, None)
        if carrier is not None:
            closing = asyncio.create_task(carrier.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)


class WorldRelay:
    """A world for the callers of a bridge: `caller` returns the calls of one of them, with the caller's own token.

    The bridge has no rights of its own: a token in `connection` is not used.

        relay = WorldRelay(WorldEndpoint("127.0.0.1:50051"))
        page = await relay.caller(token).entities(request)
    """

    def __init__(self, connection: WorldEndpoint, *, channels: Limit = MAX_RELAY_CHANNELS) -> None:
        self._connection = replace(connection, token=None)
        self._most = int(channels.maximum)
        self._open: list[_ServiceCalls] = []
        self._turn = 0

    def __repr__(self) -> str:
        return f"WorldRelay({self._connection.address!r})"

    def caller(self, token: Secret | None) -> "RelayCaller":
        """Return the calls of one caller, on the connection whose turn it is."""
        if len(self._open) < self._most:
            self._open.append(_ServiceCalls(self._connection))
        self._turn = (self._turn + 1) % len(self._open)
        return RelayCaller(self._open[self._turn], replace(self._connection, token=token))

    async def close(self) -> None:
        """Close all connections and the streams on them."""
        while self._open:
            await self._open.pop().close()


class RelayCaller:
    """The calls of one caller. Messages are neither read nor changed; errors are those of `WorldClient`."""

    def __init__(self, calls: _ServiceCalls, connection: WorldEndpoint) -> None:
        self._calls = calls
        self._connection = connection

    def control(
        self,
        on_frame: Callable[[bytes], None],
        on_end: Callable[[WireError | None], None],
        *,
        play: bool = False,
        as_json: bool = False,
    ) -> ControlLink:
        """Return a control stream, to be opened with the caller's first frame; it keeps no lease alive by itself.

        Each `ControlRequest` is given as its bytes, and `on_frame` gets each `ControlResponse` but the first as its
        bytes, or an observation as a `JsonFrame` if `as_json` asks for that. A stream to `play` is for a person, and
        takes the right of an operator and a stream of its own.
        """
        if not play:
            return self._calls.control(self._connection, on_frame, on_end, as_json=as_json)
        metadata = self._connection.metadata
        return Link(
            lambda: self._calls.play(metadata=metadata),
            self._connection,
            encode=_as_it_is,
            decode=_as_it_is,
            on_frame=on_frame,
            on_end=on_end,
            awaits=lambda: False,
        )

    async def entities(
        self, request: entity_pb2.ListControllableEntitiesRequest
    ) -> entity_pb2.ListControllableEntitiesResponse:
        """Return a page of actors."""
        answer: entity_pb2.ListControllableEntitiesResponse = await self._call(
            self._calls.entities.ListControllableEntities, request
        )
        return answer

    async def snapshot(self, request: viewer_pb2.GetViewerSnapshotRequest) -> viewer_pb2.GetViewerSnapshotResponse:
        """Return the world after the last recorded tick."""
        answer: viewer_pb2.GetViewerSnapshotResponse = await self._call(self._calls.viewer.GetViewerSnapshot, request)
        return answer

    async def report(self, request: Report) -> ReportAnswer:
        """Report a thought, a status or insights."""
        calls: dict[type, Any] = {
            telemetry_pb2.ReportThoughtRequest: self._calls.telemetry.ReportThought,
            telemetry_pb2.ReportStatusRequest: self._calls.telemetry.ReportStatus,
            telemetry_pb2.ReportInsightsRequest: self._calls.telemetry.ReportInsights,
        }
        answer: ReportAnswer = await self._call(calls[type(request)], request)
        return answer

    def world(self, request: entity_pb2.StreamWorldRequest) -> AsyncIterator[entity_pb2.StreamWorldResponse]:
        """Iterate over the parts of everything that never changes in a run."""
        return self._stream(self._calls.entities.StreamWorld, request, self._connection.timeout_s)

    def viewer_events(
        self, request: viewer_pb2.StreamViewerEventsRequest
    ) -> AsyncIterator[viewer_pb2.StreamViewerEventsResponse]:
        """Iterate over the events of each tick that pass the filter, until the stream breaks."""
        return self._stream(self._calls.viewer.StreamViewerEvents, request, None)

    async def _call(self, method: Callable[..., Awaitable[Any]], request: Any) -> Any:
        connection = self._connection
        try:
            return await method(request, metadata=connection.metadata, timeout=connection.timeout_s)
        except grpc.aio.AioRpcError as error:
            raise call_error(error, connection) from None

    async def _stream(self, method: Callable[..., Any], request: Any, timeout_s: float | None) -> AsyncIterator[Any]:
        call = method(request, metadata=self._connection.metadata, timeout=timeout_s)
        try:
            async for message in call:
                yield message
        except grpc.aio.AioRpcError as error:
            raise call_error(error, self._connection) from None
        finally:
            call.cancel()


def _as_it_is(message: bytes) -> bytes:
    return message
