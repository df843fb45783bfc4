"""The streams that only go down: of TickService, ObservationService, EntityDiscovery and ViewerService."""

from collections.abc import Iterable, Iterator
from typing import Any

import grpc

from tickmind.protocol import Reason
from tickmind.server.authority import Authority
from tickmind.server.delivery.lifecycle import Changes
from tickmind.server.delivery.streams import Stream, StreamKind
from tickmind.server.services.methods import streamed
from tickmind.server.services.streaming import Sender, open_stream
from tickmind.wire import codec, columns
from tickmind.wire.v1 import entity_pb2, observation_pb2, tick_pb2, viewer_pb2

NEWEST = 1  # only the newest message waits


async def _finish(authority: Authority, context: Any, ended: Reason = Reason.NONE) -> None:
    """Abort with the reason, if the server ends the stream."""
    if authority.stopping:
        await context.abort(grpc.StatusCode.UNAVAILABLE, "the world is stopping")
    if ended:
        await context.abort(grpc.StatusCode.PERMISSION_DENIED, f"the lease does not allow this: {ended}")


def tick_methods(authority: Authority) -> dict[str, Any]:
    """Return the methods of TickService by name."""

    async def stream_ticks(data: bytes, context: Any) -> None:
        codec.parse(tick_pb2.StreamTicksRequest, data)
        stream = await open_stream(authority, context, StreamKind.TICKS, NEWEST)
        authority.tick_readers[stream.outbox] = None
        try:
            await Sender(authority, context, stream).run()
            await _finish(authority, context)
        finally:
            authority.tick_readers.pop(stream.outbox, None)

    return {"StreamTicks": streamed(stream_ticks)}


def observation_methods(authority: Authority) -> dict[str, Any]:
    """Return the methods of ObservationService by name."""

    async def stream_observations(data: bytes, context: Any) -> None:
        request = codec.decode_observations_request(codec.parse(observation_pb2.StreamObservationsRequest, data))
        stream = await open_stream(authority, context, StreamKind.OBSERVATIONS, NEWEST)
        listener = authority.listen(request, stream.outbox)
        if isinstance(listener, Reason):
            authority.streams.close(stream)
            await _finish(authority, context, listener)
            return
        try:
            await Sender(authority, context, stream).run()
            if not listener.sent:
                await _finish(authority, context, listener.grant.ended or Reason.INVALID_LEASE)
        finally:
            authority.leave(listener)

    return {"StreamObservations": streamed(stream_observations)}


def discovery_streams(authority: Authority) -> dict[str, Any]:
    """Return the streams of EntityDiscovery by name. The whole world is written before the next tick."""
    parts = tuple(part.SerializeToString() for part in codec.encode_world(authority.info))

    async def stream_world(data: bytes, context: Any) -> None:
        codec.parse(entity_pb2.StreamWorldRequest, data)
        stream = await open_stream(authority, context, StreamKind.WORLD, len(parts))
        for part in parts:
            stream.outbox.put(part)
        stream.outbox.end()
        await Sender(authority, context, stream).run()

    def write(changes: Changes) -> Iterator[bytes]:
        for event in changes.events(authority.info.actors):
            yield entity_pb2.StreamEntityLifecycleResponse(event=codec.encode_lifecycle(event)).SerializeToString()

    async def stream_lifecycle(data: bytes, context: Any) -> None:
        request = codec.parse(entity_pb2.StreamEntityLifecycleRequest, data)
        stream: Stream[Changes] = await open_stream(
            authority, context, StreamKind.LIFECYCLE, authority.limits.lifecycle_backlog.maximum
        )
        present: Iterable[Changes] = authority.present() if request.include_present else ()
        for changes in present:
            stream.outbox.put(changes)
        authority.lifecycle.follow(stream)
        try:
            await Sender(authority, context, stream).run(write)
            await _finish(authority, context)
        finally:
            authority.lifecycle.leave(stream)

    return {"StreamWorld": streamed(stream_world), "StreamEntityLifecycle": streamed(stream_lifecycle)}


def viewer_streams(authority: Authority) -> dict[str, Any]:
    """Return the stream of ViewerService by name."""

    async def stream_events(data: bytes, context: Any) -> None:
        view = columns.decode_filter(codec.parse(viewer_pb2.StreamViewerEventsRequest, data).filter)
        stream = await open_stream(authority, context, StreamKind.VIEWER, authority.limits.viewer_backlog.maximum)
        authority.viewers[stream] = view
        try:
            await Sender(authority, context, stream).run()
            await _finish(authority, context)
        finally:
            authority.viewers.pop(stream, None)

    return {"StreamViewerEvents": streamed(stream_events)}
