"""Sending of streams: one message at a time, never waiting for a reader that stalls."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import grpc

from tickmind.server.authority import Authority
from tickmind.server.callers import WITHDRAWN
from tickmind.server.delivery.outbox import Outbox
from tickmind.server.delivery.streams import Stream, StreamKind
from tickmind.server.services.ack_batcher import AckBatcher

T = TypeVar("T")
CUT_TURNS = 64  # streams cut off together are ended in so many turns
CUT_TURN_S = 0.005  # time between two turns


def host_of(peer: str) -> str:
    """Return the host of a gRPC peer (`ipv4:127.0.0.1:5123`), without the port; all Unix sockets are one host."""
    if peer.startswith("unix"):
        return "unix"
    return peer.rsplit(":", 1)[0]


async def open_stream(authority: Authority, context: Any, kind: StreamKind, capacity: float) -> Stream[Any]:
    """Count a new stream, or refuse it. The caller sends it with `Sender`, which closes it too."""
    if authority.stopping:
        await context.abort(grpc.StatusCode.UNAVAILABLE, "the world is stopping")
    peer = host_of(context.peer())
    if why := authority.streams.why_not(kind, peer):
        await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, why)
    return authority.streams.open(kind, peer, Outbox(int(capacity)))


class Sender:
    """Sends a stream's outbox until it ends, or until the reader is cut off.

    A reader that was cut off gets the reason when it reads on. Until then gRPC holds the message that it did not take,
    and nothing else is kept for it.
    """

    def __init__(self, authority: Authority, context: Any, stream: Stream[T]) -> None:
        self._authority = authority
        self._context = context
        self._stream = stream
        self._changed = asyncio.Event()
        self._running: asyncio.Task[Any] | None = None
        self._quiet = False
        stream.outbox.wake = self._wake
        stream.on_cut = self._cut_off

    def _wake(self) -> None:
        if not self._quiet:
            self._changed.set()

    def _cut_off(self) -> None:
        """End it soon. Streams that are cut off together end in turns, so that no tick waits for them."""
        turn = self._authority.streams.cut % CUT_TURNS
        asyncio.get_running_loop().call_later(turn * CUT_TURN_S, self._end)

    def _end(self) -> None:
        if self._running is not None:
            self._running.cancel()  # sending would wait forever for the reader

    async def run(self, expand: Callable[[T], Iterable[bytes]] | None = None) -> None:
        """Send until the end; `expand` makes messages from an item."""
        try:
            # gRPC treats a cut-off first message as a call that never began, and would not send the reason
            await self._context.send_initial_metadata(())
            await self._send_until_cut(expand)
            if self._stream.cut_off:
                withdrawn = self._stream.cut_off == WITHDRAWN
                status = grpc.StatusCode.UNAUTHENTICATED if withdrawn else grpc.StatusCode.RESOURCE_EXHAUSTED
                await self._context.abort(status, self._stream.cut_off)
        finally:
            self._authority.streams.close(self._stream)

    async def _send_until_cut(self, expand: Callable[[T], Iterable[bytes]] | None) -> None:
        task = asyncio.current_task()
        assert task is not None, "streams are served in tasks"
        self._running = task
        try:
            if not self._stream.cut_off:
                await self._send(expand)
        except asyncio.CancelledError:
            if not self._stream.cut_off:
                raise
            task.uncancel()
        finally:
            self._running = None

    def answer(self, take: Callable[[bytes], None], data: bytes, acks: AckBatcher) -> None:
        """Handle a frame; its answers are sent when the batcher flushes."""
        self._quiet = True
        try:
            take(data)
        finally:
            self._quiet = False
        outbox = self._stream.outbox
        if outbox.ended:
            self._changed.set()
        elif outbox:
            acks.add(self._changed.set)

    async def _send(self, expand: Callable[[Any], Iterable[bytes]] | None) -> None:
        stream, changed = self._stream, self._changed
        while True:
            changed.clear()
            while (item := stream.outbox.take()) is not None:
                for message in (cast("bytes", item),) if expand is None else expand(item):
                    stream.begin_write(len(message))
                    await self._context.write(message)
                    stream.end_write()
            if stream.outbox.ended:
                return
            await changed.wait()
