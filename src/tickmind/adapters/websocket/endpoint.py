"""The endpoint at `/ws/v1`, for any aiohttp application that checks `Host` and `Origin`."""

import asyncio

from aiohttp import hdrs, web

from tickmind.adapters.websocket.frames import CODECS
from tickmind.adapters.websocket.limits import SocketLimits
from tickmind.adapters.websocket.session import TOKEN, SocketContext, SocketSession
from tickmind.base import Secret
from tickmind.base.access.token_file import Tokens
from tickmind.viewer.access import RequestGuard
from tickmind.wire import WorldEndpoint
from tickmind.wire.client.relay import WorldRelay

PATH = "/ws/v1"
HEARTBEAT_S = 15.0


class WebSocketEndpoint:
    """Serves a world's calls over WebSocket; `handle` answers the requests to `path`. Use it in `async with`.

    Each caller's token is passed on to the world, which checks it as it does for gRPC. With `tokens` only they are
    admitted at all: for addresses that other machines can reach.

        async with WebSocketEndpoint(WorldEndpoint("127.0.0.1:50051")) as endpoint:
            app.router.add_get(endpoint.path, endpoint.handle)
    """

    path = PATH

    def __init__(self, world: WorldEndpoint, *, tokens: Tokens = (), limits: SocketLimits | None = None) -> None:
        self._tokens = RequestGuard(frozenset(), tokens)
        self._limits = limits or SocketLimits()
        readers = asyncio.Semaphore(int(self._limits.world_readers.maximum))
        self._context = SocketContext(WorldRelay(world), self._limits, self._why_not, readers)
        self._sessions: dict[SocketSession, asyncio.Task[None]] = {}
        self._is_stopping = False
        self.stalled = 0  # connections cut off because their client read too slowly

    async def __aenter__(self) -> "WebSocketEndpoint":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._sessions)

    async def close(self) -> None:
        """End all connections, and take no more."""
        self._is_stopping = True
        for session in self._sessions:
            session.stop()
        if self._sessions:
            await asyncio.wait(self._sessions.values(), timeout=2 * self._limits.close_s.maximum)
        left = list(self._sessions.values())
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._context.relay.close()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection until it ends, or say in plain words why it can't be."""
        if self._is_stopping:
            return _refuse(503, "the endpoint is stopping")
        socket = web.WebSocketResponse(
            protocols=tuple(CODECS),
            heartbeat=HEARTBEAT_S,
            max_msg_size=int(self._limits.frame_bytes.maximum),
            compress=False,
        )
        if not socket.can_prepare(request):
            return _refuse(400, f"this address is a WebSocket; connect with the subprotocol {_choices()}")
        offered = {protocol.strip() for protocol in request.headers.get(hdrs.SEC_WEBSOCKET_PROTOCOL, "").split(",")}
        if not offered & CODECS.keys():
            return _refuse(400, f"choose a subprotocol: {_choices()}")
        given = request.headers.getall(hdrs.AUTHORIZATION, [])
        token = given[0].removeprefix("Bearer ") if given else ""
        if given and (len(given) > 1 or not given[0].startswith("Bearer ") or not TOKEN.fullmatch(token)):
            return _refuse(401, "send one token, as `Authorization: Bearer ...`")
        if not self._limits.sockets.allows(len(self._sessions) + 1):
            return _refuse(503, f"the {self._limits.sockets.name} has reached {self._limits.sockets.maximum}")
        await socket.prepare(request)
        codec = CODECS[socket.ws_protocol or ""]
        session = SocketSession(socket, request.transport, codec, Secret(token) if token else None, self._context)
        task = self._sessions[session] = asyncio.create_task(session.run())
        task.add_done_callback(lambda _task: self._forget(session))
        try:
            await asyncio.wait({task})  # a wait, because the end of this request must not cut its closing short
        finally:
            session.leave()
            await asyncio.wait({task})
        return socket

    def _forget(self, session: SocketSession) -> None:
        del self._sessions[session]
        self.stalled += session.is_stalled

    def _why_not(self, token: Secret | None) -> str:
        if self._tokens.token_allowed(token.reveal() if token else None):
            return ""
        return "missing or wrong token; send it as `Authorization: Bearer ...` or as `token` of the first frame"


def _choices() -> str:
    return " or ".join(CODECS)


def _refuse(status: int, words: str) -> web.Response:
    headers = {hdrs.RETRY_AFTER: "1"} if status == 503 else {}
    return web.json_response({"error": words}, status=status, headers=headers)
