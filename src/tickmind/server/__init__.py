"""The world server: runs ticks on time, grants leases, takes intents and sends observations.

    world = TileWorld.from_scenario(load_scenario("scenarios/clearing.yaml"))
    async with WorldServer(world, ServerConfig("127.0.0.1:50051")) as server:
        await server.run()

`Authority` is the same world without network, threads or clock, for simulations and tests.
"""

from tickmind.server.authority import Authority
from tickmind.server.checkpoint import (
    Checkpoint,
    CheckpointStore,
    RunHistory,
    load_checkpoint,
    resume,
    save_checkpoint,
)
from tickmind.server.control.leases import Leases
from tickmind.server.delivery.reports import ReportSink
from tickmind.server.errors import AddressError, CheckpointError, ExposureError, ReplayError, ServerError
from tickmind.server.exposure import DEFAULT_ADDRESS, ServerTls
from tickmind.server.limits import ServerLimits
from tickmind.server.pace import TickPace
from tickmind.server.server import ServerConfig, WorldServer
from tickmind.server.statistics import ServerStatistics
from tickmind.server.tick_loop import DiscardSink, TickLoop, TickWaiter

__all__ = [
    "DEFAULT_ADDRESS",
    "AddressError",
    "Authority",
    "Checkpoint",
    "CheckpointError",
    "CheckpointStore",
    "DiscardSink",
    "ExposureError",
    "Leases",
    "ReplayError",
    "ReportSink",
    "RunHistory",
    "ServerConfig",
    "ServerError",
    "ServerLimits",
    "ServerStatistics",
    "ServerTls",
    "TickLoop",
    "TickPace",
    "TickWaiter",
    "WorldServer",
    "load_checkpoint",
    "resume",
    "save_checkpoint",
]
