"""A network without sockets, under the real services and the real clients.

Streams keep their order, as gRPC's do, but may be slow, and break at any message with each side noticing in its own
time. Plain calls may be late, lost on the way there or back, or arrive twice, in any order.
"""

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol, TypeAlias

import grpc
import grpc.aio

Bytes: TypeAlias = Callable[[Any], bytes]
Message: TypeAlias = Callable[[bytes], Any]
Status: TypeAlias = tuple[grpc.StatusCode, str]
GONE: Status = (grpc.StatusCode.UNAVAILABLE, "the connection is gone")


class Host(Protocol):
    """A process that serves."""

    alive: bool

    def spawn(self, work: Any) -> "asyncio.Task[Any]":
        """Start a task inside the process."""
        ...


@dataclass(slots=True)
class Weather:
    """How bad the network is. A chance is that of one message."""

    delay_s: tuple[float, float] = (0.001, 0.02)
    lose: float = 0.0
    double: float = 0.0
    sever: float = 0.0
    notice_s: tuple[float, float] = (0.0, 0.1)  # how long a side does not know that a connection is broken


class Node:
    """A place from which calls are made. While it is held, nothing gets to it or away from it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.held_until_s = 0.0


class Network:
    """Carries calls to the one process that serves, if there is one. `on_sent` sees all that it sends as it is sent."""

    def __init__(
        self, rng: random.Random, on_sent: Callable[[str, bytes], None], on_failed: Callable[[str], None]
    ) -> None:
        self.rng = rng
        self.weather = Weather()
        self.on_sent = on_sent  # of which method, and the message
        self.on_failed = on_failed  # which method could not answer because of a fault in the server
        self._host: Host | None = None
        self._methods: Mapping[str, Any] = {}
        self._open: dict[StreamCall, None] = {}

    def channel(self, node: Node) -> "Channel":
        """What a client talks through."""
        return Channel(self, node)

    def listen(self, host: Host, services: Mapping[str, Any]) -> None:
        """Let a process serve; services are as gRPC takes them."""
        self._host, self._methods = host, services

    def fall(self) -> None:
        """The process that served is gone, with all its connections."""
        self._host = None
        for call in list(self._open):
            call.sever(server_too=False)

    def break_some(self, chance: float) -> None:
        """Break open streams."""
        for call in list(self._open):
            if self.rng.random() < chance:
                call.sever(server_too=True)

    def find(self, path: str) -> tuple[Host, Any] | None:
        """Who serves a method, and how."""
        if self._host is None or not self._host.alive:
            return None
        service = self._methods[path.split("/")[1]]
        return self._host, service.service(SimpleNamespace(method=path, invocation_metadata=()))

    def at(self, node: Node, when_s: float, then: Callable[[], None]) -> float:
        """Do something when a message gets through to or from a node, not before the time given; gives that time."""
        loop = asyncio.get_running_loop()
        due_s = max(loop.time() + self.rng.uniform(*self.weather.delay_s), when_s, node.held_until_s)
        loop.call_at(due_s, then)
        return due_s

    def notice_s(self) -> float:
        return asyncio.get_running_loop().time() + self.rng.uniform(*self.weather.notice_s)

    def refused(self, path: str, status: Status, host: Host) -> None:
        if status[0] is grpc.StatusCode.INTERNAL and host.alive:
            self.on_failed(path)

    def opened(self, call: "StreamCall") -> None:
        self._open[call] = None

    def closed(self, call: "StreamCall") -> None:
        self._open.pop(call, None)


class Channel:
    """As much of a gRPC channel as the stubs use."""

    def __init__(self, network: Network, node: Node) -> None:
        self._network = network
        self._node = node

    def unary_unary(self, path: str, request_serializer: Bytes, response_deserializer: Message, **_: Any) -> Any:
        async def call(request: Any, *, metadata: Any = (), timeout: float = 10.0) -> Any:  # noqa: ASYNC109 - gRPC's own form
            data = await _plain(self._network, self._node, path, request_serializer(request), timeout)
            return response_deserializer(data)

        return call

    def unary_stream(self, path: str, request_serializer: Bytes, response_deserializer: Message, **_: Any) -> Any:
        def call(request: Any, *, metadata: Any = (), timeout: float | None = None) -> "StreamCall":
            return StreamCall(
                self._network, self._node, path, request_serializer, response_deserializer, request=request
            )

        return call

    def stream_stream(self, path: str, request_serializer: Bytes, response_deserializer: Message, **_: Any) -> Any:
        def call(*, metadata: Any = ()) -> "StreamCall":
            return StreamCall(self._network, self._node, path, request_serializer, response_deserializer)

        return call

    async def close(self) -> None:
        """Streams are ended by those who have opened them."""


class PlainContext:
    """The server's side of a plain call."""

    async def abort(self, code: grpc.StatusCode, details: str) -> None:
        raise Refused(code, details)

    def peer(self) -> str:
        return "sim:0"


class Refused(grpc.aio.AbortError):  # type: ignore[misc]  # gRPC has no types
    """The server ended a call with a status."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.status: Status = (code, details)


def _failure(status: Status) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(status[0], grpc.aio.Metadata(), grpc.aio.Metadata(), details=status[1])


async def _plain(network: Network, node: Node, path: str, data: bytes, timeout_s: float) -> bytes:
    """One plain call. The request may come twice; the first answer counts."""
    answer: asyncio.Future[bytes | Status] = asyncio.get_running_loop().create_future()
    rng = network.rng

    def settle(found: bytes | Status) -> None:
        if not answer.done():
            answer.set_result(found)

    async def serve(handler: Any, host: Host) -> None:
        try:
            found: bytes | Status = await handler.unary_unary(data, PlainContext())
        except Refused as refusal:
            found = refusal.status
            network.refused(path, found, host)
        if isinstance(found, bytes):
            network.on_sent(path, found)
        if rng.random() >= network.weather.lose:
            network.at(node, 0.0, lambda: settle(found))

    def arrive() -> None:
        found = network.find(path)
        if found is None:
            network.at(node, 0.0, lambda: settle(GONE))
        else:
            host, handler = found
            host.spawn(serve(handler, host))

    copies = (rng.random() >= network.weather.lose) + (rng.random() < network.weather.double)
    for _ in range(copies):
        network.at(node, 0.0, arrive)
    try:
        async with asyncio.timeout(timeout_s):
            found = await answer
    except TimeoutError:
        found = (grpc.StatusCode.DEADLINE_EXCEEDED, "no answer")
    if isinstance(found, bytes):
        return found
    raise _failure(found)


class Line:
    """Messages in one direction that have arrived and wait to be read."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self.last_due_s = 0.0  # when the message before arrives, which the next one can't overtake
        self.over = False

    def put(self, data: bytes) -> None:
        if not self.over:
            self._waiting.append(data)
            self._changed.set()

    def end(self) -> None:
        self.over = True
        self._changed.set()

    async def get(self) -> bytes | None:
        """The next message, or None after the last one."""
        while not self._waiting:
            if self.over:
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft()


class StreamCall:
    """A stream: the client's side is what gRPC gives, `context` is what the server gets."""

    def __init__(
        self, network: Network, node: Node, path: str, serialize: Bytes, deserialize: Message, *, request: Any = None
    ) -> None:
        self._network = network
        self._node = node
        self._path = path
        self._serialize = serialize
        self._deserialize = deserialize
        self._up, self._down = Line(), Line()
        self._status: Status | None = None
        self._severed = False
        self._serving: asyncio.Task[Any] | None = None
        first = None if request is None else serialize(request)
        network.opened(self)
        self._send(self._up, lambda: self._arrive(first))

    def _send(self, line: Line, then: Callable[[], None]) -> None:
        network = self._network
        if self._severed:
            return
        if network.rng.random() < network.weather.sever:
            self.sever(server_too=True)
            return
        line.last_due_s = network.at(self._node, line.last_due_s, then)

    # The client's side

    async def write(self, message: Any) -> None:
        if self._status is not None:
            raise asyncio.InvalidStateError("the call is over")
        data = self._serialize(message)
        self._send(self._up, lambda: self._up.put(data))
        await asyncio.sleep(0)

    async def __aiter__(self) -> AsyncIterator[Any]:
        while (data := await self._down.get()) is not None:
            yield self._deserialize(data)
        if self._status is not None and self._status[0] is not grpc.StatusCode.OK:
            raise _failure(self._status)

    def cancel(self) -> bool:
        if self._status is None:
            self._end((grpc.StatusCode.CANCELLED, "cancelled"))
            self._send(self._up, self._leave)
        return True

    def _end(self, status: Status) -> None:
        if self._status is None:
            self._status = status
            self._down.end()

    # Between the two

    def sever(self, *, server_too: bool) -> None:
        """Break the connection; what is on its way may still arrive until a side has noticed."""
        if self._severed:
            return
        self._severed = True
        loop, network = asyncio.get_running_loop(), self._network
        network.closed(self)
        loop.call_at(max(network.notice_s(), self._node.held_until_s), self._end, GONE)
        if server_too:
            loop.call_at(network.notice_s(), self._leave)

    def _leave(self) -> None:
        """The server notices that the client is gone."""
        self._network.closed(self)
        self._up.end()
        if self._serving is not None:
            self._serving.cancel()

    # The server's side

    def _arrive(self, first: bytes | None) -> None:
        found = self._network.find(self._path)
        if found is None:
            self._network.closed(self)
            self._network.at(self._node, 0.0, lambda: self._end(GONE))
            return
        if self._up.over:
            return
        host, handler = found
        serve = handler.unary_stream if first is not None else handler.stream_stream
        self._serving = host.spawn(self._serve(serve, first, host))

    async def _serve(self, serve: Any, first: bytes | None, host: Host) -> None:
        status: Status = (grpc.StatusCode.OK, "")
        try:
            await serve(first, StreamContext(self, host))
        except Refused as refusal:
            status = refusal.status
            self._network.refused(self._path, status, host)
        self._network.closed(self)
        if host.alive:
            self._send(self._down, lambda: self._end(status))

    def to_server(self) -> Line:
        return self._up

    def to_client(self, data: bytes) -> None:
        self._network.on_sent(self._path, data)
        self._send(self._down, lambda: self._down.put(data))


class StreamContext:
    """As much of gRPC's context as the services use."""

    def __init__(self, call: StreamCall, host: Host) -> None:
        self._call = call
        self._host = host

    async def send_initial_metadata(self, _metadata: Any) -> None:
        await asyncio.sleep(0)

    async def read(self) -> Any:
        data = await self._call.to_server().get()
        return grpc.aio.EOF if data is None else data

    async def write(self, data: bytes) -> None:
        if self._host.alive:
            self._call.to_client(data)
        await asyncio.sleep(0)

    async def abort(self, code: grpc.StatusCode, details: str) -> None:
        raise Refused(code, details)

    def peer(self) -> str:
        return "sim:0"
