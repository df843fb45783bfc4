"""A thousand agents over WebSocket beside a thousand on gRPC streams, against the same world.

The world has a core of its own; the others have the load and the endpoint, a process as that of `tickmind websocket`.
`python -m benchmarks websocket` runs it.
"""

import asyncio
import multiprocessing
import os
import random
from collections.abc import Awaitable
from functools import lru_cache
from multiprocessing.connection import Connection as Pipe
from typing import Any, ClassVar

import aiohttp
from google.protobuf import json_format

from benchmarks.harness import Result, paired
from benchmarks.world_load import (
    DIRECTIONS,
    OBSERVATION_TAG,
    OPENED_TAG,
    Agents,
    Run,
    control_agents,
    limited,
    missed_ticks,
    none_found,
    run,
    tick_of,
)
from tickmind.adapters.websocket.frames import JSON_SUBPROTOCOL, PROTOBUF_SUBPROTOCOL
from tickmind.protocol import Move
from tickmind.server.event_loop import run_on_quick_loop
from tickmind.wire.codec import encode_intent
from tickmind.wire.v1 import control_pb2
from tickmind.wire.v1 import door_pb2 as pb

AGENTS = 1000
SECONDS = 120 if os.environ.get("LONG") else 20
ROUNDS = 3
TIMES = 1.5  # that of gRPC streams which WebSockets may take
BAR = 1 / TIMES
ANSWERS_MS, JITTER_MS = 250.0, 10.0  # the bars of gRPC streams
ACK_TAG = control_pb2.ControlResponse.ACK_FIELD_NUMBER << 3 | 2


def _serve(pipe: Pipe, address: str) -> None:
    """Serve the endpoint in a process of its own, until the pipe says otherwise."""
    from tickmind.adapters.websocket import WebSocketConfig, WebSocketServer
    from tickmind.wire import WorldEndpoint

    async def serve() -> None:
        config = WebSocketConfig(port=0, keep_garbage=True)  # as that of `tickmind websocket`
        async with WebSocketServer(WorldEndpoint(address, timeout_s=60), config) as server:
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
    """An agent that goes about; like the one on a gRPC stream it reads no more than it must."""
    dice = random.Random(number)
    opening = control_pb2.ControlOpen(entity_id=f"entity:{number + 1}", controller_id=f"load:{number}")
    form = FORMS[subprotocol]
    async with session.ws_connect(url, protocols=[subprotocol], max_msg_size=0) as socket:
        send = socket.send_str if subprotocol == JSON_SUBPROTOCOL else socket.send_bytes
        await send(form.write(pb.SocketRequest(control=control_pb2.ControlRequest(open=opening))))
        async for message in socket:
            if stop.is_set():
                return
            kind, tick_id = form.read(message.data)
            if kind == "observation":
                await send(_move(subprotocol, tick_id, dice.randrange(8)))
            elif kind == "opened":
                opened.release()
            elif kind != "ack":
                raise RuntimeError(f"agent {number} got {message.data!r}")


class _ProtobufForm:
    """Frames of the protobuf subprotocol, read as little as frames of a gRPC stream are."""

    KINDS: ClassVar = {OBSERVATION_TAG: "observation", OPENED_TAG: "opened", ACK_TAG: "ack"}

    def read(self, data: bytes) -> tuple[str, int]:
        """Return the kind of a frame, and the tick of an observation."""
        place = 1
        while data[place] & 128:
            place += 1
        kind = self.KINDS.get(data[place + 1], "")
        return kind, tick_of(data[place + 1 : place + 20]) if kind == "observation" else 0

    def write(self, frame: pb.SocketRequest) -> Any:
        return frame.SerializeToString()


class _JsonForm:
    """Frames of the JSON subprotocol: the tick is found without reading all."""

    START = '{"control":{"'
    TICK = '"tickId":"'

    def read(self, data: str) -> tuple[str, int]:
        """Return the kind of a frame, and the tick of an observation."""
        if not data.startswith(self.START):
            return "", 0
        kind = data[len(self.START) : data.index('"', len(self.START))]
        if kind != "observation":
            return kind, 0
        place = data.index(self.TICK) + len(self.TICK)
        return kind, int(data[place : data.index('"', place)])

    def write(self, frame: pb.SocketRequest) -> Any:
        return json_format.MessageToJson(frame, indent=None)


FORMS: dict[str, Any] = {PROTOBUF_SUBPROTOCOL: _ProtobufForm(), JSON_SUBPROTOCOL: _JsonForm()}


@lru_cache(maxsize=64)
def _move(subprotocol: str, tick_id: int, way: int) -> Any:
    moving = control_pb2.ControlIntent(tick_id=tick_id, intent=encode_intent(Move(DIRECTIONS[way])))
    return FORMS[subprotocol].write(pb.SocketRequest(control=control_pb2.ControlRequest(intent=moving)))


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
    """1,000 agents over WebSocket beside 1,000 on gRPC streams: whether they keep the bars in every round.

    The bars of gRPC streams are theirs, but that answers may take 1.5 times as long.
    """
    sides: dict[str, Agents] = {"gRPC streams": control_agents(AGENTS)}
    sides |= {name: socket_agents(AGENTS, name) for name in (PROTOBUF_SUBPROTOCOL, JSON_SUBPROTOCOL)}
    rounds: dict[str, list[Run]] = {name: [] for name in sides}
    for turn in range(ROUNDS):
        for name in sorted(sides, reverse=bool(turn % 2)):
            found = run(AGENTS, sides[name], seconds)
            figures = found.figures
            print(
                f"  {name}: answers p50 {figures.answers_p50_ms:.0f} ms, p99 {figures.answers_p99_ms:.0f} ms; "
                f"late {figures.refused.get('late_tick', 0)}, missed ticks {missed_ticks(figures, seconds):.0f}, "
                f"jitter p99 {figures.jitter_p99_ms:.1f} ms; CPU: world {figures.cpu_s / seconds:.2f} cores, "
                f"load {found.cpu_s / seconds:.2f} cores; {found.machine}"
            )
            rounds[name].append(found)
    grpc_ms = [one.figures.answers_p99_ms for one in rounds["gRPC streams"]]
    results = []
    for name, ours in rounds.items():
        short = name.rpartition(".")[2]
        late = sum(one.figures.refused.get("late_tick", 0) for one in ours)
        answers_ms = ANSWERS_MS * (1.0 if name == "gRPC streams" else TIMES)
        p99_ms = [one.figures.answers_p99_ms for one in ours]
        results += [
            none_found(f"websocket/{short} late intents", late),
            limited(f"websocket/{short} answers p99", max(p99_ms), "ms", answers_ms),
            limited(f"websocket/{short} jitter p99", max(one.figures.jitter_p99_ms for one in ours), "ms", JITTER_MS),
            none_found(f"websocket/{short} missed ticks", sum(missed_ticks(one.figures, seconds) for one in ours)),
        ]
        if name != "gRPC streams":
            results.append(
                paired(f"websocket/{short} p99", p99_ms, grpc_ms, unit="ms", peer_name="gRPC streams", bar=BAR)
            )
    return results


BENCHMARKS = (beside_grpc,)
