"""Limits of a WebSocket endpoint. Limits of one message are in `tickmind.wire.messages.limits`."""

from dataclasses import dataclass

from tickmind.base import Limit

MAX_SOCKETS = Limit("number of WebSocket connections", 2000)
MAX_FRAME_BYTES = Limit("size of a frame of a WebSocket client", 1024 * 1024, "bytes")
MAX_FRAME_VALUES = Limit("number of values in a JSON frame of a WebSocket client", 20_000)
MAX_FRAMES_PER_S = Limit("number of frames of a WebSocket client in a second", 200)
MAX_BYTES_PER_S = Limit("size of the frames of a WebSocket client in a second", 256 * 1024, "bytes")
MAX_UNSENT_FRAMES = Limit("number of frames that wait for a WebSocket client", 256)
MAX_QUESTIONS = Limit("number of unanswered questions of a WebSocket client", 16)
MAX_WORLD_READERS = Limit("number of WebSocket clients that read a whole world at a time", 4)
MAX_TOKEN_CHARS = Limit("length of a token", 512, "characters")
MAX_FIRST_FRAME_S = Limit("time until a WebSocket client has sent its request, and then its first frame", 10, "s")
MAX_IDLE_S = Limit("time that a WebSocket client may be silent that neither controls nor watches", 60, "s")
MAX_STALL_S = Limit("time that a WebSocket client takes for one frame", 5, "s")
MAX_WORLD_S = Limit("time that a WebSocket client takes for a whole world", 60, "s")
MAX_CLOSE_S = Limit("time that a WebSocket client takes to close", 1, "s")


@dataclass(frozen=True, slots=True)
class SocketLimits:
    """The limits of one endpoint; `SocketLimits(sockets=MAX_SOCKETS.at(10))` sets one of them.

    A client that sends more frames or bytes in a second is read more slowly. Of the observations and of the answers
    only one waits for a client; one that leaves more than `unsent` other frames unread, stalls for `stall_s`, or takes
    longer than `world_s` for a whole world, is cut off.
    """

    sockets: Limit = MAX_SOCKETS
    frame_bytes: Limit = MAX_FRAME_BYTES
    frames_per_s: Limit = MAX_FRAMES_PER_S
    bytes_per_s: Limit = MAX_BYTES_PER_S
    unsent: Limit = MAX_UNSENT_FRAMES
    questions: Limit = MAX_QUESTIONS
    world_readers: Limit = MAX_WORLD_READERS
    first_frame_s: Limit = MAX_FIRST_FRAME_S
    idle_s: Limit = MAX_IDLE_S
    stall_s: Limit = MAX_STALL_S
    world_s: Limit = MAX_WORLD_S
    close_s: Limit = MAX_CLOSE_S
