"""How frames are written: one codec for each subprotocol."""

import re
from typing import Protocol

from google.protobuf import json_format
from google.protobuf.message import DecodeError

from tickmind.adapters.websocket.errors import BadFrameError
from tickmind.adapters.websocket.limits import MAX_FRAME_VALUES
from tickmind.wire.codec.writer import field_head
from tickmind.wire.json_form.frames import JsonFrame
from tickmind.wire.json_form.json_writer import write_json
from tickmind.wire.json_form.limits import MAX_KEPT_PART_BYTES, MAX_KEPT_PARTS
from tickmind.wire.json_form.wire_json import KeptTexts, WireJson
from tickmind.wire.v1 import control_pb2
from tickmind.wire.v1 import door_pb2 as pb

JSON_SUBPROTOCOL = "tickmind.v1.json"
PROTOBUF_SUBPROTOCOL = "tickmind.v1.protobuf"
MAX_DEPTH = 24  # no message of the schema is nested deeper
MAX_WORDS_CHARS = 300
_ACK = bytes([control_pb2.ControlResponse.ACK_FIELD_NUMBER << 3 | 2])  # with what an acknowledgement begins
_CONTROL = pb.SocketResponse.CONTROL_FIELD_NUMBER
_UNKNOWN_FIELD = re.compile(r'has no field named "(?P<name>.*?)" at "(?P<path>.*?)"', re.DOTALL)


class FrameCodec(Protocol):
    """Reads and writes the frames of one subprotocol; with `is_json` it takes a `JsonFrame` for a `ControlResponse`."""

    is_json: bool

    def read(self, data: str | bytes) -> pb.SocketRequest:
        """Read a frame up; raises `BadFrameError` if it is none."""

    def known_intent(self, data: str | bytes) -> bytes | None:
        """Return the `ControlRequest` of a frame that was read before and has only an intent; None for other frames."""

    def write(self, frame: pb.SocketResponse) -> str | bytes:
        """Write a frame down."""

    def write_control(self, data: bytes) -> str | bytes:
        """Write a frame down that holds a `ControlResponse`, given as the bytes in which the world has sent it."""


class _KnownIntents:
    """Frames with an intent alone, none of which has a secret, by their data: many clients send the same in a tick."""

    def __init__(self) -> None:
        self._intents: dict[str | bytes, bytes] = {}  # data -> the `ControlRequest`

    def known_intent(self, data: str | bytes) -> bytes | None:
        """Return the `ControlRequest` of a frame that was read before and has only an intent; None for other frames."""
        return self._intents.get(data)

    def _keep(self, data: str | bytes, request: pb.SocketRequest) -> None:
        if request.control.HasField("intent") and not request.token and MAX_KEPT_PART_BYTES.allows(len(data)):
            if len(self._intents) >= MAX_KEPT_PARTS.maximum:
                self._intents.clear()
            self._intents[data] = request.control.SerializeToString()


class ProtobufFrames(_KnownIntents):
    """Binary frames, each one message."""

    is_json = False

    def read(self, data: str | bytes) -> pb.SocketRequest:
        """Read a frame up; raises `BadFrameError` if it is none."""
        if isinstance(data, str):
            raise BadFrameError(f"frames of {PROTOBUF_SUBPROTOCOL} are binary; this one is text")
        request = pb.SocketRequest()
        try:
            request.ParseFromString(data)
        except (DecodeError, ValueError):
            raise BadFrameError("the frame is no SocketRequest in protobuf's binary form") from None
        self._keep(data, request)
        return request

    def write(self, frame: pb.SocketResponse) -> bytes:
        """Write a frame down."""
        return frame.SerializeToString()

    def write_control(self, data: bytes) -> bytes:
        """Write a frame down that holds a `ControlResponse`."""
        return field_head(_CONTROL, len(data)) + data


class JsonFrames(_KnownIntents):
    """Text frames in the JSON mapping of proto3; fields that the schema does not have are refused.

    Many clients get the same acknowledgements: those are written once.
    """

    is_json = True

    def __init__(self) -> None:
        super().__init__()
        self._write_control = WireJson(control_pb2.ControlResponse.DESCRIPTOR).write
        self._acks = KeptTexts(self._write_control)

    def read(self, data: str | bytes) -> pb.SocketRequest:
        """Read a frame up; raises `BadFrameError` if it is none."""
        request = self._read(data)
        self._keep(data, request)
        return request

    def write(self, frame: pb.SocketResponse) -> str:
        """Write a frame down."""
        return write_json(frame)

    def write_control(self, data: bytes) -> str:
        """Write a frame down that holds a `ControlResponse`."""
        if isinstance(data, JsonFrame):
            return f'{{"control":{data.decode()}}}'
        write = self._acks.__getitem__ if data[:1] == _ACK else self._write_control
        return f'{{"control":{write(data)}}}'

    def _read(self, data: str | bytes) -> pb.SocketRequest:
        if isinstance(data, bytes):
            raise BadFrameError(f"frames of {JSON_SUBPROTOCOL} are text; this one is binary")
        if not data.lstrip().startswith("{"):
            raise BadFrameError("the frame is no SocketRequest in JSON: it is no object")
        if not MAX_FRAME_VALUES.allows(_count_values(data)):
            raise BadFrameError(f"the {MAX_FRAME_VALUES.name} is over {MAX_FRAME_VALUES.maximum}; send several frames")
        request = pb.SocketRequest()
        try:
            json_format.Parse(data, request, max_recursion_depth=MAX_DEPTH)
        except json_format.ParseError as error:
            raise BadFrameError(f"the frame is no SocketRequest in JSON: {_words(str(error))}") from None
        except (AttributeError, RecursionError, TypeError, ValueError):  # from values of other types than expected
            raise BadFrameError("the frame is no SocketRequest in JSON: a value has another type") from None
        return request


CODECS: dict[str, FrameCodec] = {JSON_SUBPROTOCOL: JsonFrames(), PROTOBUF_SUBPROTOCOL: ProtobufFrames()}


def _count_values(data: str) -> int:
    """Return about how many values a text has; reading them takes a hundred times as long as counting them."""
    most = _count_signs(data)
    if MAX_FRAME_VALUES.allows(most):
        return most
    without_quotes_in_texts = data.replace("\\\\", "").replace('\\"', "")
    return _count_signs("".join(without_quotes_in_texts.split('"')[::2]))  # what is in texts does not count


def _count_signs(data: str) -> int:
    return data.count(",") + data.count("{") + data.count("[")


def _words(reason: str) -> str:
    """Return protobuf's reason without its list of all other fields, and without halves of letters in it."""
    reason = reason.encode("utf-8", "backslashreplace").decode()
    if "SystemError" in reason:  # protobuf's own, for a name that is half of a letter
        return "a name in it is no field"
    unknown = _UNKNOWN_FIELD.search(reason)
    if unknown is not None:
        return f"{unknown['path'][:100]} has no field {unknown['name'][:100]!r}"
    return reason.splitlines()[0][:MAX_WORDS_CHARS] if reason else "it is malformed"
