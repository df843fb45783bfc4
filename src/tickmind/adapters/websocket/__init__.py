"""A world's calls over one WebSocket, for browsers, game engines and languages without gRPC.

`WebSocketServer` serves `/ws/v1` by itself, `WebSocketEndpoint` as a part of another web server. `frame_schema` returns
the JSON schema of the frames.
"""

from tickmind.adapters.websocket.endpoint import WebSocketEndpoint
from tickmind.adapters.websocket.errors import BadFrameError, WebSocketAddressError, WebSocketError
from tickmind.adapters.websocket.limits import SocketLimits
from tickmind.adapters.websocket.schema import frame_schema
from tickmind.adapters.websocket.server import WebSocketConfig, WebSocketServer

__all__ = [
    "BadFrameError",
    "SocketLimits",
    "WebSocketAddressError",
    "WebSocketConfig",
    "WebSocketEndpoint",
    "WebSocketError",
    "WebSocketServer",
    "frame_schema",
]
