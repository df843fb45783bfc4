"""`ControlSession`: control of one entity over one stream."""

from collections.abc import Callable
from typing import Any, TypeAlias

from tickmind.protocol import Ack, Intent, Lease, Observation, RunInfo
from tickmind.wire.client.connection import WorldEndpoint
from tickmind.wire.client.session import StreamSession
from tickmind.wire.codec import decode_down, decode_up, encode_up
from tickmind.wire.errors import ControlClosedError, MessageError
from tickmind.wire.messages.frames import ControlAck, ControlIntent, ControlOpen, ControlOpened, ControlUp

_Down: TypeAlias = ControlOpened | Observation | ControlAck


class ControlSession(StreamSession[ControlUp, _Down, Ack, Observation]):
    """One controlled entity: iterate for observations, `submit` intents.

    Only the newest observation waits, so a slow agent never answers for a tick that is long over. The lease is kept
    alive while the event loop runs. Once iterating or submitting raises `ControlClosedError`, control may be lost:
    open a new session with `previous=session.lease.lease_id`.
    """

    def __init__(
        self, dial: Callable[[], Any], connection: WorldEndpoint, opening: ControlOpen, *, release: bool
    ) -> None:
        super().__init__(
            dial,
            connection,
            opening,
            encode=encode_up,
            decode=decode_down,
            subject=f"control of {opening.entity_id}",
            release=release,
        )
        self._lease: Lease | None = None
        self._run = RunInfo()
        self._newest: Observation | None = None

    @property
    def lease(self) -> Lease:
        """The lease; its secret takes the entity back after a break.

        Raises `ControlClosedError` if the session was never opened.
        """
        if self._lease is None:
            raise ControlClosedError("the session is not open; use it in `async with`")
        return self._lease

    @property
    def run(self) -> RunInfo:
        """The run that the world is in, as minds need to know it."""
        return self._run

    async def submit(self, tick_id: int, intent: Intent) -> Ack:
        """Send the intent of a tick and wait for the acknowledgement."""
        return await self._submit(ControlIntent(tick_id, intent))

    def submit_nowait(self, tick_id: int, intent: Intent) -> None:
        """Send the intent of a tick without waiting; `statistics` counts the acknowledgements."""
        self._send(ControlIntent(tick_id, intent))

    def submit_checked_nowait(self, tick_id: int, intent: Intent) -> None:
        """Send an intent like `submit_nowait`, but raise the `MessageError` of one that every world would refuse."""
        message = encode_up(ControlIntent(tick_id, intent))
        decode_up(message)
        self._send_encoded(message)

    def _begin(self, answer: _Down) -> int | None:
        if not isinstance(answer, ControlOpened):
            return None
        self._lease, self._run = answer.lease, answer.run
        return answer.lease.ttl_ms

    def _next(self) -> Observation | None:
        newest, self._newest = self._newest, None
        return newest

    def _take(self, frame: _Down) -> None:
        match frame:
            case Observation():
                self._observations += 1
                self._missed += self._newest is not None
                self._newest = frame
                self._changed.set()
            case ControlAck(_, ack):
                self._acknowledge(ack, ack.accepted, not ack.accepted)
            case ControlOpened():
                raise MessageError("opened", "the first frame and no other")
