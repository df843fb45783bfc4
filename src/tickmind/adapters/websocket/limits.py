"""Limits of a WebSocket endpoint. Limits of one message are in `tickmind.wire.messages.limits`."""

from dataclasses import dataclass

from tickmind.base import Limit

MAX_SOCKETS = Limit("number of WebSocket connections", 2000)
MAX_FRAME_BYTES = Limit("size of a frame of a WebSocket client", 1024 * 1024, "bytes")
MAX_FRAMES_PER_S = Limit("number of frames of a WebSocket client in a second", 200)
MAX_UNSENT_FRAMES = Limit("number of frames that wait for a WebSocket client", 256)
MAX_QUESTIONS = Limit("number of unanswered questions of a WebSocket client", 16)
MAX_WORLD_READERS = Limit("number of WebSocket clients that read a whole world at a time", 4)
MAX_TOKEN_CHARS = Limit("length of a token", 512, "characters")
MAX_FIRST_FRAME_S = Limit("time until a WebSocket client has sent its first frame", 10, "s")
MAX_IDLE_S = Limit("time that a WebSocket client may be silent that neither controls nor watches", 60, "s")
MAX_STALL_S = Limit("time that a WebSocket client takes for one frame", 5, "s")
MAX_CLOSE_S = Limit("time that a WebSocket client takes to close", 1, "s")


@dataclass(frozen=True, slots=True)
class SocketLimits:
    """The limits of one endpoint; `SocketLimits(sockets=MAX_SOCKETS.at(10))` sets one of them.

    A client that sends more frames in a second is read more slowly. Of the observations only the newest waits for a
    client; one that leaves more than `unsent` other frames unread, or stalls for `stall_s`, is cut off.
    """

    sockets: Limit = MAX_SOCKETS
    frame_bytes: Limit = MAX_FRAME_BYTES
    frames_per_s: Limit = MAX_FRAMES_PER_S
    unsent: Limit = MAX_UNSENT_FRAMES
    questions: Limit = MAX_QUESTIONS
    world_readers: Limit = MAX_WORLD_READERS
    first_frame_s: Limit = MAX_FIRST_FRAME_S
    idle_s: Limit = MAX_IDLE_S
    stall_s: Limit = MAX_STALL_S
    close_s: Limit = MAX_CLOSE_S
