"""A thousand agents over WebSocket beside a thousand on gRPC streams, against the same world.

The world has a core of its own; the others have the load and the endpoint, a process as that of `tickmind websocket`.
`python -m benchmarks websocket` runs it.
"""

import asyncio
import multiprocessing
import os
import random
import statistics
from collections.abc import Awaitable
from multiprocessing.connection import Connection as Pipe

import aiohttp

from benchmarks.harness import Result
from benchmarks.world_load import DIRECTIONS, Agents, control_agents, run
from tickmind.adapters.websocket.frames import JSON_SUBPROTOCOL, PROTOBUF_SUBPROTOCOL
from tickmind.protocol import Move
from tickmind.server.event_loop import run_on_quick_loop
from tickmind.wire.codec import encode_intent
from tickmind.wire.v1 import action_pb2, control_pb2
from tickmind.wire.v1 import door_pb2 as pb

AGENTS = 1000
SECONDS = 120 if os.environ.get("LONG") else 20
ROUNDS = 3
BAR = 1 / 1.5
MOVES = [encode_intent(Move(direction)) for direction in DIRECTIONS]


def _serve(pipe: Pipe, address: str) -> None:
    """Serve the endpoint in a process of its own, until the pipe says otherwise."""
    from tickmind.adapters.websocket import WebSocketConfig, WebSocketServer
    from tickmind.wire import WorldEndpoint

    async def serve() -> None:
        async with WebSocketServer(WorldEndpoint(address, timeout_s=60), WebSocketConfig(port=0)) as server:
            pipe.send(server.url)
            await asyncio.get_running_loop().run_in_executor(None, pipe.recv)

    run_on_quick_loop(serve())


async def _agent(
    session: aiohttp.ClientSession,
    url: str,
    subprotocol: str,
    number: int,
    opened: asyncio.Semaphore,
    stop: asyncio.Event,
) -> None:
    """An agent that goes about; like the one on a gRPC stream it reads no more than it must, but for JSON."""
    dice = random.Random(number)
    async with session.ws_connect(url, protocols=[subprotocol], max_msg_size=0) as socket:
        opening = control_pb2.ControlOpen(entity_id=f"entity:{number + 1}", controller_id=f"load:{number}")
        first = pb.SocketRequest(control=control_pb2.ControlRequest(open=opening))
        if subprotocol == PROTOBUF_SUBPROTOCOL:
            await socket.send_bytes(first.SerializeToString())
        else:
            await socket.send_json(
                {"control": {"open": {"entityId": opening.entity_id, "controllerId": opening.controller_id}}}
            )
        async for message in socket:
            if stop.is_set():
                return
            if subprotocol == PROTOBUF_SUBPROTOCOL:
                frame = pb.SocketResponse.FromString(message.data)
                kind = frame.control.WhichOneof("frame")
                tick_id = frame.control.observation.tick_id
            else:
                parsed = message.json()["control"]
                kind = next(iter(parsed))
                tick_id = int(parsed.get("observation", {}).get("tickId", 0))
            if kind == "opened":
                opened.release()
            elif kind == "observation" and subprotocol == PROTOBUF_SUBPROTOCOL:
                await socket.send_bytes(_move(tick_id, dice.choice(MOVES)))
            elif kind == "observation":
                move = {"direction": f"DIRECTION_{dice.choice(DIRECTIONS).name}"}
                await socket.send_json({"control": {"intent": {"tickId": str(tick_id), "intent": {"move": move}}}})
            elif kind == "closed":
                raise RuntimeError(f"agent {number} was closed: {message.data!r}")


def _move(tick_id: int, intent: action_pb2.Intent) -> bytes:
    moving = control_pb2.ControlIntent(tick_id=tick_id, intent=intent)
    return pb.SocketRequest(control=control_pb2.ControlRequest(intent=moving)).SerializeToString()


def socket_agents(count: int, subprotocol: str) -> Agents:
    """Agents on a WebSocket each, and the endpoint that serves them."""

    def make(address: str, opened: asyncio.Semaphore, stop: asyncio.Event) -> list[Awaitable[None]]:
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=_serve, args=(there, address), daemon=True)
        process.start()
        url = here.recv()
        session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

        async def endpoint() -> None:
            """Leave when the agents do."""
            opened.release()
            try:
                await stop.wait()
            finally:
                await session.close()
                here.send("stop")
                process.join(10)

        return [endpoint(), *(_agent(session, url, subprotocol, number, opened, stop) for number in range(count))]

    return make


def beside_grpc(seconds: float = SECONDS) -> list[Result]:
    """1,000 agents over WebSocket beside 1,000 on gRPC streams: when their answers are there, and how many are late."""
    results = []
    plain = [run(AGENTS, control_agents(AGENTS), seconds) for _ in range(ROUNDS)]
    grpc_ms = statistics.median(one.figures.answers_p99_ms for one in plain)
    for name, subprotocol in (("protobuf", PROTOBUF_SUBPROTOCOL), ("json", JSON_SUBPROTOCOL)):
        rounds = [run(AGENTS, socket_agents(AGENTS, subprotocol), seconds) for _ in range(ROUNDS)]
        ours_ms = statistics.median(one.figures.answers_p99_ms for one in rounds)
        results.append(Result(f"websocket/{name} p99", ours_ms, "ms", "gRPC streams", grpc_ms, grpc_ms / ours_ms, BAR))
        late = sum(one.figures.refused.get("late_tick", 0) for one in rounds)
        results.append(Result(f"websocket/{name} late intents", late, "", "the limit", 0.0, float(late == 0), 1.0))
    return results


BENCHMARKS = (beside_grpc,)
