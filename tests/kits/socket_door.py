"""A small WebSocket before a world for tests of clients: control frames in the JSON form, and what can go wrong."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import grpc.aio
from aiohttp import WSMsgType, web
from google.protobuf import json_format

from tickmind.wire.v1 import control_pb2_grpc
from tickmind.wire.v1 import door_pb2 as pb

SUBPROTOCOL = "tickmind.v1.json"


@asynccontextmanager
async def socket_door(world_addr: str) -> AsyncIterator[str]:
    """Serve the WebSocket of a world, and yield its URL."""

    async def answer(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=[SUBPROTOCOL])
        await socket.prepare(request)
        async with grpc.aio.insecure_channel(world_addr) as channel:
            call = control_pb2_grpc.ControlServiceStub(channel).Control()
            down = asyncio.create_task(send_down(call, socket))
            with suppress(grpc.aio.AioRpcError, asyncio.CancelledError, asyncio.InvalidStateError):
                async for message in socket:
                    if message.type is WSMsgType.TEXT:
                        await call.write(json_format.Parse(message.data, pb.SocketRequest()).control)
            down.cancel()
            await asyncio.gather(down, return_exceptions=True)
            call.cancel()
        return socket

    async def send_down(call, socket):
        try:
            async for response in call:
                await socket.send_str(json_format.MessageToJson(pb.SocketResponse(control=response), indent=None))
        except grpc.aio.AioRpcError:
            error = pb.SocketError(code=pb.SOCKET_ERROR_CODE_UNREACHABLE, message="the world is away", ends=True)
            with suppress(ConnectionError):
                await socket.send_str(json_format.MessageToJson(pb.SocketResponse(error=error), indent=None))
        await socket.close()

    app = web.Application()
    app.router.add_get("/ws/v1", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"ws://{host}:{port}/ws/v1"
    finally:
        await runner.cleanup()
