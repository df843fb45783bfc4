"""A client of the WebSocket endpoint for tests, in either subprotocol."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from google.protobuf import json_format

from tickmind.adapters.websocket.frames import JSON_SUBPROTOCOL, PROTOBUF_SUBPROTOCOL
from tickmind.wire.v1 import door_pb2 as pb

SUBPROTOCOLS = (JSON_SUBPROTOCOL, PROTOBUF_SUBPROTOCOL)
WAIT_S = 60


class SocketClient:
    """Sends and receives frames as messages, written as the subprotocol says."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.is_json = socket.protocol == JSON_SUBPROTOCOL

    async def send(self, frame: dict[str, Any] | None = None, **fields: Any) -> None:
        """Send a frame, given as its JSON form."""
        frame = (frame or {}) | fields
        if self.is_json:
            await self.socket.send_json(frame)
        else:
            await self.socket.send_bytes(json_format.ParseDict(frame, pb.SocketRequest()).SerializeToString())

    async def receive(self) -> Any:
        """Receive the next frame; None at the end."""
        async with asyncio.timeout(WAIT_S):
            message = await self.socket.receive()
        if message.type is aiohttp.WSMsgType.TEXT:
            assert self.is_json
            return json_format.Parse(message.data, pb.SocketResponse())
        if message.type is aiohttp.WSMsgType.BINARY:
            assert not self.is_json
            return pb.SocketResponse.FromString(message.data)
        return None

    async def receive_until(self, kind: str) -> Any:
        """Receive until there is a frame of a kind (`control.ack`, `watch`), and return that part of it."""
        while (frame := await self.receive()) is not None:
            part: Any = frame
            for name in kind.split("."):
                if part.WhichOneof("frame") != name:
                    break
                part = getattr(part, name)
            else:
                return part
            assert frame.WhichOneof("frame") != "error", frame
        raise AssertionError(f"the connection ended before {kind}")

    async def open(self, entity_id: str = "entity:1", controller_id: str = "me", **more: Any) -> Any:
        """Take control of an entity, and return what the world says."""
        opening = {"entityId": entity_id, "controllerId": controller_id} | more
        await self.send(control={"open": opening})
        return await self.receive_until("control.opened")

    async def intend(self, tick_id: int, intent: dict[str, Any]) -> Any:
        """Send the intent of a tick, and return its acknowledgement."""
        await self.send(control={"intent": {"tickId": str(tick_id), "intent": intent}})
        return (await self.receive_until("control.ack")).ack


@asynccontextmanager
async def connected(
    url: str, subprotocol: str = JSON_SUBPROTOCOL, headers: dict[str, str] | None = None
) -> AsyncIterator[SocketClient]:
    """A connection to an endpoint."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(url, protocols=[subprotocol], headers=headers or {}, max_msg_size=0) as socket,
    ):
        yield SocketClient(socket)
