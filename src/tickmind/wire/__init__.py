"""The wire between worlds and agents: generated protobuf code, the codec between it and `protocol`, and typed clients.

`tickmind.wire.messages.services` states what each call promises; `codec` and `columns` read and write messages.
"""

from tickmind.wire.client.async_client import WorldClient
from tickmind.wire.client.backoff import Backoff
from tickmind.wire.client.connection import Tls, WorldEndpoint, server_options
from tickmind.wire.client.control import ControlSession
from tickmind.wire.client.session import ControlStatistics
from tickmind.wire.client.sync_client import SyncBatchSession, SyncControlSession, SyncWorldClient
from tickmind.wire.errors import (
    ControlClosedError,
    DeadlineError,
    LeaseRefusedError,
    MessageError,
    NotAllowedError,
    OverloadedError,
    RefusedMessageError,
    RpcError,
    TlsError,
    UnreachableError,
    WireConfigError,
    WireError,
    why_unusable,
)
from tickmind.wire.messages.placements import PlacementOutcome
from tickmind.wire.messages.viewing import Region, ViewerEvent, ViewerEventType, ViewerSnapshot, ViewFilter

__all__ = [
    "Backoff",
    "ControlClosedError",
    "ControlSession",
    "ControlStatistics",
    "DeadlineError",
    "LeaseRefusedError",
    "MessageError",
    "NotAllowedError",
    "OverloadedError",
    "PlacementOutcome",
    "RefusedMessageError",
    "Region",
    "RpcError",
    "SyncBatchSession",
    "SyncControlSession",
    "SyncWorldClient",
    "Tls",
    "TlsError",
    "UnreachableError",
    "ViewFilter",
    "ViewerEvent",
    "ViewerEventType",
    "ViewerSnapshot",
    "WireConfigError",
    "WireError",
    "WorldClient",
    "WorldEndpoint",
    "server_options",
    "why_unusable",
]
