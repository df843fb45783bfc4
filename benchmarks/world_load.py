"""A world under load, over the real API: agents on streams of their own, hosts of many, plain calls, stalled readers.

The world runs in a process and on a core of its own, and so does the load; the figures are the world's own, with the
CPU time of both beside them. `python -m benchmarks.world_load --seconds 20 control` runs one of them.
"""

import argparse
import asyncio
import multiprocessing
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import grpc.aio
import numpy as np

from benchmarks.bare_timer import BareTimer, Stillness, bare_timer
from benchmarks.harness import Result
from tickmind.protocol import ACTION_CODES as CODES
from tickmind.protocol import UNUSED, ActionType, IntentColumns, Move, WorldInfo
from tickmind.protocol.direction import Direction
from tickmind.server.event_loop import run_on_quick_loop
from tickmind.wire import WorldClient, WorldEndpoint
from tickmind.wire.client.connection import client_options
from tickmind.wire.codec import encode_intent
from tickmind.wire.v1 import action_pb2, control_pb2, lease_pb2, observation_pb2

SECONDS = 600 if os.environ.get("LONG") else 120
CHANNELS = 16  # connections that the streams of one process share
SETTLE_TICKS = 3  # before anything counts
OPENING_S = 120.0  # until all agents are there
ANSWERING_S = 60.0  # until the world says how it is doing
ENDING_S = 10.0  # for agents to leave in good order
CLOSING_S = 12.0  # after all streams were closed: their leases last 10 s more
STALLED_ACTORS = 2000  # so many make events that fill buffers
CAPACITY_S, FEW = 1.0, 32  # how long it is measured what a world can answer, and with how many calls at a time
DIRECTIONS = tuple(Direction)


def _cores() -> list[int]:
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def _use_cores(cores: list[int]) -> None:
    """Stay on these cores, if there are any: the world has one of its own, and the load has the others."""
    if cores:
        os.sched_setaffinity(0, cores)


# the world, in a process of its own


@dataclass(frozen=True)
class Figures:
    """What a world says of itself since it was told to begin anew."""

    ticks: int
    overruns: int
    overrun_most_ms: float
    jitter_p99_ms: float
    answers_p50_ms: float
    answers_p99_ms: float
    step_ms: float
    prepare_ms: float
    accepted: int
    refused: dict[str, int]
    cut: int
    cpu_s: float
    memory_mb: float
    calls_refused: int


@dataclass(frozen=True)
class Run:
    """One load: the world's figures, the load's CPU time, the world's memory before, and what the end of it did."""

    figures: Figures
    cpu_s: float
    before_mb: float
    closing: Figures  # the same world while all streams are closed at once, and until their leases have run out
    machine: Stillness | str  # the world's core meanwhile


def _serve(pipe: Pipe, actors: int, tick_ms: int) -> None:
    _use_cores(_cores()[:1])
    run_on_quick_loop(_serve_until_told(pipe, actors, tick_ms))


async def _serve_until_told(pipe: Pipe, actors: int, tick_ms: int) -> None:
    from tickmind.server import ServerConfig, WorldServer
    from tickmind.server.statistics import TickTally
    from tickmind.server.testing import meadow
    from tickmind.world import TileWorld

    world = TileWorld.from_scenario(meadow(actors, radius=8, tick_ms=tick_ms))
    async with WorldServer(world, ServerConfig("127.0.0.1:0", keep_garbage=True)) as server:
        running = asyncio.create_task(server.run())
        pipe.send(server.address)
        began_s, most_mb = 0.0, 0.0
        while True:
            await asyncio.sleep(0.05)
            most_mb = max(most_mb, _memory_mb())
            if not pipe.poll():
                continue
            match pipe.recv():
                case "reset":
                    server.authority.tally = TickTally()
                    began_s, most_mb = time.process_time(), _memory_mb()
                    pipe.send(most_mb)
                case "figures":
                    pipe.send(_figures(server.statistics(), time.process_time() - began_s, most_mb))
                case _:
                    break
        server.stop()
        await running


def _figures(stats: Any, cpu_s: float, memory_mb: float) -> Figures:
    return Figures(
        stats.ticks,
        stats.overruns,
        stats.overrun_most_ms,
        stats.jitter_p99_ms,
        stats.answers_p50_ms,
        stats.answers_p99_ms,
        stats.step_p50_ms,
        stats.prepare_p50_ms,
        stats.accepted,
        {reason.value: count for reason, count in stats.refused.items()},
        stats.streams_cut,
        cpu_s,
        memory_mb,
        stats.calls_refused,
    )


def _memory_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def world(actors: int, tick_ms: int = 1000) -> Iterator[tuple[str, Pipe]]:
    """A world in a process of its own: its address, and the pipe to it."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, actors, tick_ms), daemon=True)
    process.start()
    there.close()  # so that the end of the world ends the pipe too
    cores = _cores()
    try:
        address = here.recv()
        _use_cores(cores[1:])
        yield address, here
    finally:
        _use_cores(cores)
        with suppress(OSError):  # it may be gone already
            here.send("stop")
        process.join(30)
        if process.is_alive():
            process.terminate()


# the load


def _channels(address: str, count: int = CHANNELS) -> list[Any]:
    return [grpc.aio.insecure_channel(address, options=client_options(WorldEndpoint(address))) for _ in range(count)]


OBSERVATION_TAG = control_pb2.ControlResponse.OBSERVATION_FIELD_NUMBER << 3 | 2
CLOSED_TAG = control_pb2.ControlResponse.CLOSED_FIELD_NUMBER << 3 | 2
OPENED_TAG = control_pb2.ControlResponse.OPENED_FIELD_NUMBER << 3 | 2


@lru_cache(maxsize=64)
def _move_frame(tick_id: int, way: int) -> bytes:
    intent = control_pb2.ControlIntent(tick_id=tick_id, intent=encode_intent(Move(DIRECTIONS[way])))
    return control_pb2.ControlRequest(intent=intent).SerializeToString()


def tick_of(frame: bytes) -> int:
    """The tick of an observation; reading the rest is not what is measured here."""
    place = 1
    while frame[place] & 128:
        place += 1
    tick_id = shift = 0
    for byte in frame[place + 2 : place + 12]:
        tick_id |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
    return tick_id


async def _control_agent(channel: Any, number: int, opened: asyncio.Semaphore, stop: asyncio.Event) -> None:
    """An agent on a control stream of its own that does nothing but go about; it reads no more than it must."""
    call = channel.stream_stream("/tickmind.v1.ControlService/Control")()
    opening = control_pb2.ControlOpen(entity_id=f"entity:{number + 1}", controller_id=f"load:{number}")
    await call.write(control_pb2.ControlRequest(open=opening).SerializeToString())
    dice = random.Random(number)
    while not stop.is_set() and (frame := await call.read()) is not grpc.aio.EOF:
        if frame[0] == OBSERVATION_TAG:
            await call.write(_move_frame(tick_of(frame), dice.randrange(8)))
        elif frame[0] == OPENED_TAG:
            opened.release()
        elif frame[0] == CLOSED_TAG:
            raise RuntimeError(f"agent {number} was closed: {control_pb2.ControlResponse.FromString(frame)}")
    call.cancel()


async def _plain_agent(channel: Any, number: int, opened: asyncio.Semaphore, stop: asyncio.Event) -> None:
    """An agent with a lease, a stream of observations and a plain call for each intent and each renewal."""
    submit = channel.unary_unary("/tickmind.v1.ActionService/SubmitIntent")
    renew = channel.unary_unary("/tickmind.v1.LeaseService/RenewLease")
    acquire = channel.unary_unary("/tickmind.v1.LeaseService/AcquireLease")
    entity_id = f"entity:{number + 1}"
    wanted = lease_pb2.AcquireLeaseRequest(entity_id=entity_id, controller_id=f"load:{number}")
    lease = lease_pb2.AcquireLeaseResponse.FromString(await acquire(wanted.SerializeToString())).lease
    renewal = lease_pb2.RenewLeaseRequest(lease_id=lease.lease_id).SerializeToString()
    request = observation_pb2.StreamObservationsRequest(lease_id=lease.lease_id, entity_id=entity_id)
    call = channel.unary_stream("/tickmind.v1.ObservationService/StreamObservations")(request.SerializeToString())
    opened.release()
    dice = random.Random(number)
    moves = [encode_intent(Move(direction)) for direction in DIRECTIONS]
    while not stop.is_set() and (data := await call.read()) is not grpc.aio.EOF:
        tick_id = observation_pb2.StreamObservationsResponse.FromString(data).observation.tick_id
        intent = action_pb2.SubmitIntentRequest(
            lease_id=lease.lease_id, entity_id=entity_id, tick_id=tick_id, intent=dice.choice(moves)
        )
        await submit(intent.SerializeToString())
        await renew(renewal)
    call.cancel()


async def _stalled_reader(channel: Any, opened: asyncio.Semaphore, stop: asyncio.Event) -> None:
    """A viewer that reads one message and never another."""
    call = channel.unary_stream("/tickmind.v1.ViewerService/StreamViewerEvents")(b"")
    opened.release()
    await call.read()
    await stop.wait()
    call.cancel()


async def _world(address: str) -> WorldInfo:
    async with WorldClient(WorldEndpoint(address, timeout_s=60)) as client:
        return await client.world()


async def _host(
    address: str, info: Any, rows: Any, number: int, opened: asyncio.Semaphore, stop: asyncio.Event
) -> None:
    """A host of many actors that all go about."""
    dice = np.random.default_rng(number)
    move = CODES[ActionType.MOVE]
    async with (
        WorldClient(WorldEndpoint(address, timeout_s=60)) as client,
        client.control_batch(await info, f"host:{number}", rows) as session,
    ):
        opened.release()
        async for part in session:
            if stop.is_set():
                return
            seen = part.observations
            count = len(seen)
            unused = np.full(count, UNUSED, dtype=np.int32)
            actions = np.full(count, move, dtype=np.uint8)
            ways = dice.integers(0, 8, count, dtype=np.int8)
            session.submit_nowait(
                seen.tick_id, IntentColumns(np.array(seen.actor), actions, ways, unused, unused, unused, {})
            )


async def _measure(
    pipe: Pipe,
    timer: BareTimer,
    agents: list[Awaitable[None]],
    opened: asyncio.Semaphore,
    stop: asyncio.Event,
    seconds: float,
    tick_s: float,
    enough: Callable[[Figures], bool] | None,
    closing_s: float,
) -> Run:
    tasks = [asyncio.ensure_future(agent) for agent in agents]
    await _all_open(tasks, opened)
    await asyncio.sleep(SETTLE_TICKS * tick_s)
    before_mb = await _ask(pipe, "reset")
    began_s = time.process_time()
    loop = asyncio.get_running_loop()
    until_s = loop.time() + seconds
    timer.look()
    while True:
        left_s = max(0.0, until_s - loop.time())
        await asyncio.sleep(left_s if enough is None else min(1.0, left_s))  # to be asked costs the world time
        figures = await _ask(pipe, "figures")
        if loop.time() >= until_s or (enough is not None and enough(figures)):
            break
    machine = timer.look()
    cpu_s = time.process_time() - began_s
    failed = [task.exception() for task in tasks if task.done() and not task.cancelled() and task.exception()]
    await _ask(pipe, "reset")
    stop.set()
    await _leave(tasks)
    await asyncio.sleep(closing_s)
    closing = await _ask(pipe, "figures")
    if failed:
        raise failed[0]  # type: ignore[misc]  # there is one
    return Run(figures, cpu_s, before_mb, closing, machine)


async def _leave(tasks: Sequence[asyncio.Future[None]]) -> None:
    """End all agents; one that waits for a world that does not answer is told twice."""
    for _ in range(2):
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=ENDING_S)
    await asyncio.gather(*[task for task in tasks if task.done()], return_exceptions=True)


class NotOpenError(Exception):
    """Not all agents came, such as one that was cut off because this process read nothing for long."""


async def _all_open(tasks: Sequence[asyncio.Future[None]], opened: asyncio.Semaphore) -> None:
    """Wait until every agent is there; one that ends before that tells why."""

    async def count() -> None:
        for _ in tasks:
            await opened.acquire()

    counting = asyncio.ensure_future(count())
    await asyncio.wait([counting, *tasks], timeout=OPENING_S, return_when=asyncio.FIRST_COMPLETED)
    ended = [task for task in tasks if task.done()]
    if ended or not counting.done():
        counting.cancel()
        await _leave(tasks)
        if not ended:
            raise NotOpenError(f"not all agents were there after {OPENING_S:g} s")
        raise NotOpenError("an agent ended before all were there") from ended[0].exception()


async def _ask(pipe: Pipe, what: str) -> Any:
    pipe.send(what)
    if not await asyncio.get_running_loop().run_in_executor(None, pipe.poll, ANSWERING_S):
        raise TimeoutError(f"the world has said nothing for {ANSWERING_S:g} s")
    return pipe.recv()


Agents = Callable[[str, asyncio.Semaphore, asyncio.Event], list[Awaitable[None]]]


def run(
    actors: int,
    make: Agents,
    seconds: float,
    tick_ms: int = 1000,
    enough: Callable[[Figures], bool] | None = None,
    closing_s: float = 0.0,
) -> Run:
    """Load a world for some time, or until it is enough, and then close all streams at once."""
    with bare_timer(next(iter(_cores()), None)) as timer, world(actors, tick_ms) as (address, pipe):

        async def load() -> Run:
            opened, stop = asyncio.Semaphore(0), asyncio.Event()
            agents = make(address, opened, stop)
            return await _measure(pipe, timer, agents, opened, stop, seconds, tick_ms / 1000, enough, closing_s)

        return run_on_quick_loop(load())


def control_agents(count: int) -> Agents:
    """Agents on control streams of their own."""

    def make(address: str, opened: asyncio.Semaphore, stop: asyncio.Event) -> list[Awaitable[None]]:
        channels = _channels(address)
        return [_control_agent(channels[number % CHANNELS], number, opened, stop) for number in range(count)]

    return make


def plain_agents(count: int) -> Agents:
    """Agents that use plain calls."""

    def make(address: str, opened: asyncio.Semaphore, stop: asyncio.Event) -> list[Awaitable[None]]:
        channels = _channels(address)
        return [_plain_agent(channels[number % CHANNELS], number, opened, stop) for number in range(count)]

    return make


def hosts(actors: int, count: int) -> Agents:
    """Hosts that share all actors among them."""

    def make(address: str, opened: asyncio.Semaphore, stop: asyncio.Event) -> list[Awaitable[None]]:
        parts = np.array_split(np.arange(actors, dtype=np.int32), count)
        info = asyncio.get_running_loop().create_task(_world(address))
        return [_host(address, info, rows, number, opened, stop) for number, rows in enumerate(parts)]

    return make


def stalled_beside(actors: int, normal: int, stalled: int) -> Agents:
    """Normal agents, a host that keeps all others moving, and readers that do not read, each on its own connection."""

    def make(address: str, opened: asyncio.Semaphore, stop: asyncio.Event) -> list[Awaitable[None]]:
        agents = control_agents(normal)(address, opened, stop)
        info = asyncio.get_running_loop().create_task(_world(address))
        agents.append(_host(address, info, np.arange(normal, actors, dtype=np.int32), 0, opened, stop))
        return agents + [_stalled_reader(channel, opened, stop) for channel in _channels(address, stalled)]

    return make


def flooded(leases: int, control: int, most_asked: int) -> Agents:
    """Leases that are renewed, agents on streams, and a connection that asks twice as much as the world answers.

    Half of the flood are snapshots, half are intents of an entity that there is not; no call waits for another, until
    `most_asked` are under way.
    """

    def make(address: str, opened: asyncio.Semaphore, stop: asyncio.Event) -> list[Awaitable[None]]:
        channels = _channels(address)
        agents = [_leaseholder(channels[number % CHANNELS], number, opened, stop) for number in range(leases)]
        agents += [_control_agent(channels[n % CHANNELS], n, opened, stop) for n in range(leases, leases + control)]
        options = [*client_options(WorldEndpoint(address)), ("grpc.use_local_subchannel_pool", 1)]
        return [*agents, _flood(grpc.aio.insecure_channel(address, options=options), most_asked, opened, stop)]

    return make


async def _leaseholder(channel: Any, number: int, opened: asyncio.Semaphore, stop: asyncio.Event) -> None:
    """Hold a lease by plain renewals; raises if one fails."""
    acquire = channel.unary_unary("/tickmind.v1.LeaseService/AcquireLease")
    renew = channel.unary_unary("/tickmind.v1.LeaseService/RenewLease")
    wanted = lease_pb2.AcquireLeaseRequest(entity_id=f"entity:{number + 1}", controller_id=f"holder:{number}")
    lease = lease_pb2.AcquireLeaseResponse.FromString(await acquire(wanted.SerializeToString())).lease
    renewal = lease_pb2.RenewLeaseRequest(lease_id=lease.lease_id).SerializeToString()
    opened.release()
    while not stop.is_set():
        answer = lease_pb2.RenewLeaseResponse.FromString(await renew(renewal))
        if not answer.HasField("lease"):
            raise RuntimeError(f"the lease of {wanted.entity_id} was lost: reason {answer.reason}")
        await asyncio.sleep(0.2)


async def _flood(channel: Any, most_asked: int, opened: asyncio.Semaphore, stop: asyncio.Event) -> None:
    way = encode_intent(Move(DIRECTIONS[0]))
    intent = action_pb2.SubmitIntentRequest(lease_id="x" * 32, entity_id="nobody", tick_id=1, intent=way)
    asks = (
        (channel.unary_unary("/tickmind.v1.ActionService/SubmitIntent"), intent.SerializeToString()),
        (channel.unary_unary("/tickmind.v1.ViewerService/GetViewerSnapshot"), b""),
    )
    calls_per_s = 2 * await _capacity(asks)
    under_way: set[Any] = set()
    loop, sent = asyncio.get_running_loop(), 0
    opened.release()
    began_s = loop.time()
    while not stop.is_set():
        due = int((loop.time() - began_s) * calls_per_s)
        for number in range(sent, due):
            if len(under_way) < most_asked:
                ask, data = asks[number % 2]
                call = ask(data)
                under_way.add(call)
                call.add_done_callback(under_way.discard)
        sent = due  # what was too much is not made up for
        await asyncio.sleep(0.005)
    for call in list(under_way):
        call.cancel()


async def _capacity(asks: Sequence[tuple[Any, bytes]]) -> float:
    """How many of these calls are answered in a second, if a few at a time wait for their answers."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    answered = 0

    async def ask_on(ask: Any, data: bytes) -> None:
        nonlocal answered
        while loop.time() < began_s + CAPACITY_S:
            await ask(data)
            answered += 1

    await asyncio.gather(*(ask_on(*asks[number % 2]) for number in range(FEW)))
    return answered / (loop.time() - began_s)


def _results(name: str, found: Run, answers_ms: float, seconds: float, tick_ms: int = 1000) -> list[Result]:
    figures = found.figures
    late = figures.refused.get("late_tick", 0)
    tick_cpu_ms = figures.cpu_s * 1000 / max(figures.ticks, 1)
    print(f"  {figures}\n  closing: {found.closing}")
    print(
        f"  CPU: world {figures.cpu_s / seconds:.2f} cores, {tick_cpu_ms:.0f} ms for a tick; "
        f"load {found.cpu_s / seconds:.2f} cores; {found.machine}"
    )
    return [
        limited(f"{name}: answers p99", figures.answers_p99_ms, "ms", answers_ms),
        limited(f"{name}: jitter p99", figures.jitter_p99_ms, "ms", 10.0),
        none_found(f"{name}: missed ticks", missed_ticks(figures, seconds, tick_ms)),
        none_found(f"{name}: late intents", late),
        none_found(f"{name}: missed ticks when all close", found.closing.overruns),
    ]


def missed_ticks(figures: Figures, seconds: float, tick_ms: int = 1000) -> float:
    """How many ticks there were too few, or took too long."""
    return max(0.0, seconds * 1000 / tick_ms - 1 - figures.ticks) + figures.overruns


def limited(name: str, ours: float, unit: str, most: float) -> Result:
    """A figure beside the most that it may be."""
    return Result(name, ours, unit, "the limit", most, most / max(ours, 1e-3), 1.0)


def none_found(name: str, found: float) -> Result:
    """A count of what there must be none of."""
    return Result(name, found, "", "the limit", 0.0, float(found == 0), 1.0)


def _load(name: str, actors: int, agents: Agents, answers_ms: float, seconds: float) -> list[Result]:
    return _results(name, run(actors, agents, seconds, closing_s=CLOSING_S), answers_ms, seconds)


def bench_control(seconds: float = SECONDS) -> list[Result]:
    """1,000 agents, each on a control stream of its own."""
    return _load("1,000 control streams", 1000, control_agents(1000), 250.0, seconds)


def bench_batch(seconds: float = SECONDS) -> list[Result]:
    """100,000 characters over 16 batched streams."""
    return _load("100,000 over 16 streams", 100_000, hosts(100_000, 16), 400.0, seconds)


def bench_plain(seconds: float = SECONDS) -> list[Result]:
    """300 agents with plain calls."""
    return _load("300 with plain calls", 300, plain_agents(300), 500.0, seconds)


def bench_stalled(seconds: float = SECONDS) -> list[Result]:
    """200 readers that stall beside 50 agents that do not, at 5 ticks a second, which fills buffers sooner."""
    found = run(STALLED_ACTORS, stalled_beside(STALLED_ACTORS, 50, 200), seconds, tick_ms=200)
    cut = found.figures.cut
    return [
        *_results("200 stalled readers", found, 100.0, seconds, 200),
        limited("200 stalled readers: memory", found.figures.memory_mb - found.before_mb, "MB", 64.0),
        Result("200 stalled readers: cut off", cut, "", "all", 200, cut / 200, 1.0),
    ]


BENCHMARKS = [bench_control, bench_batch, bench_plain, bench_stalled]
BY_NAME = {"control": bench_control, "batch": bench_batch, "plain": bench_plain, "stalled": bench_stalled}


def main() -> None:
    """Run some of them by themselves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", nargs="*", choices=[*BY_NAME, []], help="which loads; all if none is named")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long each of them is measured")
    options = parser.parse_args()
    for name in options.which or BY_NAME:
        for result in BY_NAME[name](options.seconds):
            verdict = "holds" if result.holds else "FAILS"
            print(f"{result.name}: {result.ours:,.1f} {result.unit} (limit {result.peer:g}) {verdict}")


if __name__ == "__main__":
    main()
