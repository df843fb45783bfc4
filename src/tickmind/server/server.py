"""The world server: a world behind its gRPC services."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc.aio

from tickmind.base import Clock, SystemClock, secret_token
from tickmind.base.access.token_file import Tokens
from tickmind.base.garbage import GarbageKeeper
from tickmind.base.telemetry.metrics_page import MetricsPage
from tickmind.protocol import Sink, TickRecord
from tickmind.server.authority import Authority
from tickmind.server.callers import WITHDRAWN, CallerRegistry
from tickmind.server.checkpoint import EVERY_TICKS, CheckpointStore, RunHistory, load_checkpoint, resume
from tickmind.server.delivery.reports import ReportSink
from tickmind.server.delivery.streams import LOOK_S
from tickmind.server.errors import AddressError
from tickmind.server.exposure import DEFAULT_ADDRESS, ServerTls, check_exposure, check_free
from tickmind.server.limits import LEASE_TTL_MS, MAX, ServerLimits
from tickmind.server.metrics import check_metrics_port, open_metrics
from tickmind.server.pace import TickPace
from tickmind.server.services import services_of
from tickmind.server.services.token_check import TokenCheck
from tickmind.server.statistics import ServerStatistics
from tickmind.server.tick_loop import TickLoop
from tickmind.wire import server_options
from tickmind.wire.client.connection import is_local
from tickmind.world import TileWorld
from tickmind.world.kernels import warm_up

GRACE_S = 2.0  # for the last frames when the world stops


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Where and how a world is served. Port 0 takes any free port."""

    address: str = DEFAULT_ADDRESS
    tls: ServerTls | None = None
    tokens: Tokens = ()  # of agents; a file's may change while the world runs
    # For orders of operators. If neither these nor `tokens` are given, this machine may order without one.
    operator_tokens: Tokens = ()
    viewer_tokens: Tokens = ()  # of those that may look and not control
    reflection: bool | None = None  # None: where only this machine reaches the world
    metrics_port: int | None = None  # on 127.0.0.1; without one there is no /metrics
    lease_ttl_ms: int = LEASE_TTL_MS
    checkpoint_every_ticks: int = EVERY_TICKS
    keep_garbage: bool = False  # True: control this process's garbage collector, which steadies ticks
    limits: ServerLimits = MAX

    @property
    def reflects(self) -> bool:
        """Whether tools such as grpcurl may ask for the services."""
        if self.reflection is None:
            return self.address.startswith("unix:") or is_local(f"{self.address.rsplit(':', 1)[0]}:1")
        return self.reflection

    def check(self) -> None:
        """Raise if the world can't be served there: the address is taken, or exposed without protection."""
        check_exposure(self.address, self.tls, self.tokens, self.viewer_tokens)
        check_free(self.address)
        if self.metrics_port:
            check_metrics_port(self.metrics_port)


class WorldServer:
    """Serves one world. Use it in `async with`, and `run` its ticks inside.

    Every tick goes to `sink` before any client sees it. With `checkpoints` the world resumes from the newest, and
    with `history` through the recorded ticks after it. `run_id` lets viewers and agents recognise the run.
    Clock and secrets are arguments, so that tests control time and chance.

        async with WorldServer(world, ServerConfig("127.0.0.1:50051")) as server:
            await server.run(ticks=100)
    """

    def __init__(
        self,
        world: TileWorld,
        config: ServerConfig | None = None,
        *,
        pace: TickPace | None = None,
        sink: Sink | None = None,
        reports: ReportSink | None = None,
        checkpoints: CheckpointStore | None = None,
        history: RunHistory | None = None,
        run_id: str = "",
        clock: Clock | None = None,
        secrets: Callable[[], str] = secret_token,
        on_tick: Callable[[TickRecord], None] = lambda _record: None,
    ) -> None:
        self._config = config or ServerConfig()
        self._config.check()
        warm_up()
        last_tick_id = None if history is None else history.last_tick_id or 0
        checkpoint = None if checkpoints is None else load_checkpoint(checkpoints, last_tick_id)
        incarnation = resume(world, checkpoint, history)
        self.authority = Authority(
            world,
            clock=clock or SystemClock(),
            pace=pace,
            lease_ttl_ms=self._config.lease_ttl_ms,
            secrets=secrets,
            incarnation=incarnation,
            run_id=run_id,
            reports=reports,
            limits=self._config.limits,
        )
        self._callers = CallerRegistry(self._config.tokens, self._config.operator_tokens, self._config.viewer_tokens)
        self._garbage = GarbageKeeper() if self._config.keep_garbage else None
        self._loop = TickLoop(
            self.authority,
            sink=sink,
            checkpoints=checkpoints,
            checkpoint_every_ticks=self._config.checkpoint_every_ticks,
            garbage=self._garbage,
            on_tick=on_tick,
        )
        self._server: Any = None
        self._health: Any = None
        self._metrics: MetricsPage | None = None
        self._watching: asyncio.Task[None] | None = None
        self._address = self._config.address

    @property
    def address(self) -> str:
        """The address of the world, with its real port."""
        return self._address

    @property
    def metrics_url(self) -> str:
        """The address of the metrics; empty if they are off."""
        return self._metrics.url if self._metrics is not None else ""

    async def __aenter__(self) -> "WorldServer":
        interceptors = (TokenCheck(self._callers),) if self._callers else ()
        server = grpc.aio.server(options=server_options(), interceptors=interceptors)
        services = services_of(self.authority)
        server.add_generic_rpc_handlers(tuple(services.values()))
        await self._add_standard_services(server, tuple(services))
        self._bind(server)
        if self._config.metrics_port is not None:
            self._metrics = await open_metrics(self.authority, self._config.metrics_port)
        self._loop.save()
        await server.start()
        self._server = server
        self._watching = asyncio.create_task(self._watch())
        if self._garbage is not None:
            self._garbage.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def run(self, ticks: int | None = None) -> int:
        """Run so many ticks, or until a rule ends the run, or until `stop`; return the number of ticks."""
        return await self._loop.run(ticks)

    def stop(self) -> None:
        """Let `run` return after the tick that is being resolved."""
        self._loop.stop()

    def statistics(self) -> ServerStatistics:
        """Return the server's figures."""
        return self.authority.statistics()

    async def close(self) -> None:
        """Close all streams, with the reason that the world stops."""
        self._loop.stop()
        self.authority.stop()
        if self._garbage is not None:
            self._garbage.stop()
        if self._watching is not None:
            self._watching.cancel()
        if self._health is not None:
            await self._health.enter_graceful_shutdown()
        if self._server is not None:
            await self._server.stop(GRACE_S)
            self._server = None
        if self._metrics is not None:
            await self._metrics.close()
            self._metrics = None
        self._remove_socket()

    def _remove_socket(self) -> None:
        if self._address.startswith("unix:"):
            Path(self._address.removeprefix("unix:")).unlink(missing_ok=True)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self.authority.streams.cut_stalled()
            if self._callers.have_changed():
                self.authority.streams.cut_where(lambda stream: not self._callers.is_valid(stream.caller), WITHDRAWN)

    async def _add_standard_services(self, server: Any, names: tuple[str, ...]) -> None:
        from grpc_health.v1 import health, health_pb2, health_pb2_grpc

        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        for name in ("", *names):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        if self._config.reflects:
            from grpc_reflection.v1alpha import reflection

            reflection.enable_server_reflection((*names, health.SERVICE_NAME, reflection.SERVICE_NAME), server)

    def _bind(self, server: Any) -> None:
        address, tls = self._config.address, self._config.tls
        try:
            port = (
                server.add_insecure_port(address) if tls is None else server.add_secure_port(address, tls.credentials())
            )
        except RuntimeError as error:
            raise AddressError(f"can't listen on {address}; choose another address") from error
        if not address.startswith("unix:"):
            self._address = f"{address.rsplit(':', 1)[0]}:{port}"
