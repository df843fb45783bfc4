"""One client's connection: its frames go to the world as they are, and the world's answers come back."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from tickmind.adapters.websocket.errors import BadFrameError, failed_call, socket_error
from tickmind.adapters.websocket.frame_pace import FramePace
from tickmind.adapters.websocket.frame_writer import FrameWriter
from tickmind.adapters.websocket.frames import FrameCodec
from tickmind.adapters.websocket.limits import MAX_TOKEN_CHARS, SocketLimits
from tickmind.adapters.websocket.outbox import Frame, SocketOutbox
from tickmind.adapters.websocket.questions import Questions
from tickmind.base import Secret, get_logger, redact
from tickmind.wire import ControlClosedError, WireError
from tickmind.wire.client.relay import RelayCaller, WorldRelay
from tickmind.wire.client.relayed_control import ControlLink
from tickmind.wire.json_form.frames import JsonFrame
from tickmind.wire.v1 import control_pb2, viewer_pb2
from tickmind.wire.v1 import door_pb2 as pb

TOKEN = re.compile(rf"[\x21-\x7e]{{1,{MAX_TOKEN_CHARS.maximum}}}")
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SocketContext:
    """What all connections of an endpoint share."""

    relay: WorldRelay
    limits: SocketLimits
    admits: Callable[[Secret | None], str]  # why a caller with this token may not enter; empty if it may
    world_readers: asyncio.Semaphore


class SocketSession:
    """Serves one WebSocket until the client leaves, control or watching ends, or a limit is passed.

    `token` is the one of the handshake's headers, if there was one.
    """

    def __init__(
        self,
        socket: web.WebSocketResponse,
        transport: asyncio.Transport | None,
        codec: FrameCodec,
        token: Secret | None,
        context: SocketContext,
    ) -> None:
        self._socket = socket
        self._writer = FrameWriter(socket, transport, codec, context.limits.stall_s.maximum)
        self._codec = codec
        self._token = token
        self._context = context
        self._limits = context.limits
        self._outbox = SocketOutbox(context.limits.unsent)
        self._caller: RelayCaller | None = None
        self._link: ControlLink | None = None
        self._lease_id = ""  # of the control
        self._is_controlling = False  # from the first frame of the world until the last
        self._watching: asyncio.Task[None] | None = None
        self._questions: Questions | None = None
        self._pace = FramePace(context.limits)
        self.is_stalled = False

    async def run(self) -> None:
        """Serve the client, and close the connection."""
        sending = self._start(self._send)
        reading = self._start(self._read)
        try:
            await asyncio.wait({sending, reading}, return_when=asyncio.FIRST_COMPLETED)
            if reading.done() and self._outbox.ended:
                await sending  # there may be a last frame
        finally:
            work = [task for task in (sending, reading, self._watching) if task is not None]
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            if self._questions is not None:
                await self._questions.close()
            if self._link is not None:
                await self._link.close()
            await self._close()

    def stop(self) -> None:
        """Tell the client that the endpoint stops, and end the connection."""
        self._fail(pb.SOCKET_ERROR_CODE_STOPPING, "the endpoint is stopping; connect again later", retry_after_ms=1000)

    def leave(self) -> None:
        """End the connection without more words, because the client is gone."""
        self._outbox.end(at_once=True)

    def _start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """Run a part of the connection; whatever fails there, the client sees no inside of ours, and others go on."""

        async def guarded() -> None:
            try:
                await work()
            except Exception:  # noqa: BLE001 - as above
                _log.exception("a WebSocket connection failed")
                self._fail(pb.SOCKET_ERROR_CODE_INTERNAL, "internal error of the endpoint; see its log")

        return asyncio.create_task(guarded())

    # frames up

    async def _read(self) -> None:
        """Read frames until the client leaves or the connection ends."""
        try:
            data = await self._receive(self._limits.first_frame_s.maximum)
            if data is None:
                return
            first = self._codec.read(data)
            self._caller = self._enter(first)
            if self._caller is None:
                return
            await self._take(self._caller, first, is_first=True)
            while not self._outbox.ended:
                try:
                    data = await self._receive(None if self._is_busy() else self._limits.idle_s.maximum)
                    if data is None:
                        return
                    intent = self._codec.known_intent(data)
                    if intent is None or not self._pass_on(intent):
                        await self._take(self._caller, self._codec.read(data))
                except BadFrameError as error:
                    self._put(socket_error(pb.SOCKET_ERROR_CODE_BAD_FRAME, str(error)))
        except BadFrameError as error:
            self._fail(pb.SOCKET_ERROR_CODE_BAD_FRAME, str(error))
        except TimeoutError:
            self._fail(pb.SOCKET_ERROR_CODE_SILENT, "no frame came for too long; connect again")
        except WireError as error:
            self._outbox.end(failed_call(error, ends=True))
        except ConnectionError:
            return

    async def _receive(self, timeout_s: float | None) -> str | bytes | None:
        """Wait for a frame, read more slowly after too many; None if the client is gone."""
        wait_s = self._pace.wait_s(asyncio.get_running_loop().time())
        if wait_s:
            await asyncio.sleep(wait_s)
        message = await self._socket.receive(timeout=timeout_s)
        if message.type not in {WSMsgType.TEXT, WSMsgType.BINARY}:
            return None
        data: str | bytes = message.data
        self._pace.note(len(data))
        return data

    def _enter(self, first: pb.SocketRequest) -> RelayCaller | None:
        """Check the token, and return the client's way to the world."""
        token = self._token
        if first.token:
            if not TOKEN.fullmatch(first.token):
                raise BadFrameError("token must be printable ASCII without spaces")
            given = Secret(first.token)
            if token is not None and given != token:
                raise BadFrameError("the tokens of the header and of the first frame differ; send one of them")
            token = self._token = given
        why = self._context.admits(token)
        if why:
            self._fail(pb.SOCKET_ERROR_CODE_NOT_ALLOWED, why)
            return None
        return self._context.relay.caller(token)

    def _is_admitted(self) -> bool:
        """Whether the token is valid still; a withdrawn one ends the connection."""
        if not self._context.admits(self._token):
            return True
        self._fail(pb.SOCKET_ERROR_CODE_NOT_ALLOWED, "the token was withdrawn; connect again with one that is valid")
        return False

    def _pass_on(self, intent: bytes) -> bool:
        """Pass an intent on; return False, and leave it, if this client has no control."""
        link = self._link
        if link is None or link.ended or not self._is_controlling:
            return False
        if self._is_admitted():
            link.send_nowait(intent)
        return True

    async def _take(self, caller: RelayCaller, request: pb.SocketRequest, *, is_first: bool = False) -> None:
        if not self._is_admitted():
            return
        if request.token and not is_first:
            raise BadFrameError("a token may be in the first frame only")
        match request.WhichOneof("frame"):
            case "control":
                await self._control(caller, request.control)
            case "watch":
                if self._watching is not None:
                    raise BadFrameError("watch: this connection watches already; open another one for another filter")
                self._watching = self._start(partial(self._watch, caller, request.watch))
            case None:
                raise BadFrameError(
                    "exactly one of control, watch, describe, telemetry, snapshot and world must be set"
                )
            case _:
                self._ask(caller, request)

    async def _control(self, caller: RelayCaller, frame: control_pb2.ControlRequest) -> None:
        kind = frame.WhichOneof("frame")
        if kind is None:
            raise BadFrameError("control: exactly one of open, intent, keepAlive and release must be set")
        if self._link is None:
            if kind != "open":
                raise BadFrameError("control: the first of its frames must be open")
            link = self._link = caller.control(
                self._take_down, self._control_ended, play=frame.open.play, as_json=self._codec.is_json
            )
            if self._take_opened(await link.open(frame.SerializeToString())):
                link.start_silently()
        elif kind == "open":
            raise BadFrameError("control: one connection controls one entity; open another one for another entity")
        elif not self._link.ended:
            self._link.send_nowait(frame.SerializeToString())

    def _ask(self, caller: RelayCaller, request: pb.SocketRequest) -> None:
        if self._questions is None:
            self._questions = Questions(
                caller,
                self._outbox.put_patiently,
                self._limits,
                self._context.world_readers,
                self._start,
                self._cut_off,
            )
        if not self._questions.ask(request, self._lease_id):
            words = f"{self._limits.questions.maximum} questions wait for their answers; ask again later"
            code = pb.SOCKET_ERROR_CODE_OVERLOADED
            self._put(socket_error(code, words, retry_after_ms=1000, request_id=request.request_id))

    def _is_busy(self) -> bool:
        return self._is_controlling or self._watching is not None

    # frames down

    def _take_down(self, frame: bytes) -> None:
        """Queue a frame of the control stream, of which only the kind matters here."""
        kind = control_pb2.ControlResponse.OBSERVATION_FIELD_NUMBER
        if not isinstance(frame, JsonFrame):
            kind = frame[0] >> 3 if frame else 0
        match kind:
            case control_pb2.ControlResponse.OBSERVATION_FIELD_NUMBER:
                if not self._write_nowait(frame):
                    self._outbox.put_newest(frame)
            case control_pb2.ControlResponse.CLOSED_FIELD_NUMBER:
                self._is_controlling = False
                self._outbox.end(frame)
            case _:
                if not self._write_nowait(frame):
                    self._put(frame)

    def _write_nowait(self, frame: bytes) -> bool:
        """Write a frame if no other waits; one that can't be written at all ends this connection as a queued frame."""
        if not self._outbox.is_empty:
            return False
        try:
            return self._writer.write_nowait(frame)
        except Exception:  # noqa: BLE001 - other clients' frames come after this one
            return False

    def _take_opened(self, frame: bytes) -> bool:
        """Queue the first frame of the control stream; return whether the client has control now."""
        self._take_down(frame)
        opened = control_pb2.ControlResponse.FromString(frame)
        if not opened.HasField("opened"):
            return False
        self._is_controlling = True
        self._lease_id = opened.opened.lease.lease_id
        return True

    def _control_ended(self, failure: WireError | None) -> None:
        """End the connection: after `closed` or as the client asked, without more words."""
        self._is_controlling = False
        is_plain_end = failure is None or isinstance(failure, ControlClosedError)
        self._outbox.end(None if is_plain_end or failure is None else failed_call(failure, ends=True))

    async def _watch(self, caller: RelayCaller, request: viewer_pb2.StreamViewerEventsRequest) -> None:
        try:
            async for event in caller.viewer_events(request):
                if not self._is_admitted():
                    return
                self._put(pb.SocketResponse(watch=event))
            self._outbox.end()
        except WireError as error:
            self._outbox.end(failed_call(error, ends=True))

    def _put(self, frame: Frame) -> None:
        if not self._outbox.put(frame):
            self._cut_off(f"{self._limits.unsent.maximum} frames wait to be read")

    def _cut_off(self, why: str) -> None:
        self.is_stalled = True
        self._fail(pb.SOCKET_ERROR_CODE_STALLED, f"{why}; read faster, and connect again", at_once=True)

    def _fail(self, code: pb.SocketErrorCode, words: str, *, retry_after_ms: int = 0, at_once: bool = False) -> None:
        error = socket_error(code, redact(words), retry_after_ms=retry_after_ms, ends=True)
        self._outbox.end(error, at_once=at_once)

    async def _send(self) -> None:
        """Send what waits until the end, or until the client takes too long for one frame."""
        try:
            while (frame := await self._outbox.next()) is not None:
                await self._writer.write(frame)
        except TimeoutError:
            self.is_stalled = True
            self._writer.abort()
        except ConnectionError:
            return  # reading ends, too

    async def _close(self) -> None:
        """Close the WebSocket, without waiting for a client that stalls."""
        try:
            async with asyncio.timeout(self._limits.close_s.maximum):
                await self._socket.close(code=WSCloseCode.OK, drain=False)
        except (ConnectionError, TimeoutError):
            self._writer.abort()
