"""JSON straight from the bytes of a message: what `write_json` writes, without making the message.

A thousand observers of a tick see much of the same: parts of messages that recur, such as an entity in sight, are
written once.
"""

import base64
from collections.abc import Callable
from typing import Any, TypeAlias

import orjson
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from tickmind.wire.json_form.json_writer import write_json
from tickmind.wire.json_form.limits import MAX_KEPT_PART_BYTES, MAX_KEPT_PARTS

Part: TypeAlias = Callable[[bytes], str]
Number: TypeAlias = Callable[[int], str]
_Fields: TypeAlias = dict[int, tuple[str, str, Any]]  # tag -> JSON key, kind, what writes the value
_NUMBER, _TEXT, _LIST, _MESSAGE = "number", "text", "list", "message"  # kinds of fields
_DEFAULT = ""  # a value that is left out
_LENGTH_PREFIXED = 2  # a wire type; that of the numbers is 0
_ONE_BYTE = 15  # the largest number of a field whose tag is one byte
_MOST_BYTES = 10  # of a number
_32_BITS = (1 << 32) - 1


class _UnusualError(Exception):
    """The bytes are no message, or have what is not worth a rule here: protobuf reads them."""


class WireJson:
    """Writes messages of one kind.

    WireJson(ControlResponse.DESCRIPTOR).write(data)
    """

    def __init__(self, message: Any) -> None:
        self._message: Descriptor = message
        self._class = GetMessageClass(message)
        self._fields: _Fields | None = None  # not at once, as messages may contain each other
        self._oneofs: list[set[str]] = []  # keys of which a message has at most one

    def write(self, data: bytes) -> str:
        """Return the JSON of a message that is given as its bytes; raises `DecodeError` if they are none."""
        try:
            return self._write(data)
        except (_UnusualError, IndexError, KeyError, UnicodeDecodeError):
            return write_json(self._class.FromString(data))

    def _write(self, data: bytes) -> str:
        if self._fields is None:
            self._learn()
        assert self._fields is not None, "it was learnt"
        fields = self._fields
        texts: dict[str, str] = {}  # key -> value
        messages: dict[str, tuple[KeptTexts, bytes]] = {}  # key -> what writes it, and its bytes
        place, end = 0, len(data)
        while place < end:
            tag = data[place]
            key, kind, write = fields[tag]
            value = data[place + 1]
            place += 2
            if value > 127:
                value, place = _varint(data, place, value)
            if kind is _NUMBER:
                texts[key] = write[value]
                continue
            part = data[place : place + value]
            place += value
            if kind is _TEXT:
                texts[key] = write[part]
            elif kind is _MESSAGE:
                known = messages.get(key)
                messages[key] = (write, part if known is None else known[1] + part)  # two parts of it are one message
                texts[key] = _DEFAULT  # its place
            else:
                if key in texts:
                    raise _UnusualError  # other fields are between its parts
                listed = [write[part]]
                while place < end and data[place] == tag:
                    value = data[place + 1]
                    place += 2
                    if value > 127:
                        value, place = _varint(data, place, value)
                    listed.append(write[data[place : place + value]])
                    place += value
                texts[key] = f"[{','.join(listed)}]"
        if place != end:
            raise _UnusualError
        for key, (write, part) in messages.items():
            texts[key] = write[part]
        for keys in self._oneofs:
            if len(keys & texts.keys()) > 1:
                raise _UnusualError
        return f"{{{','.join([key + text for key, text in texts.items() if text])}}}"

    def _learn(self) -> None:
        self._fields = {}
        for field in self._message.fields:
            if field.number > _ONE_BYTE:
                continue
            key, tag = _key(field), field.number << 3
            kind, write = _part_of(field)
            if write is not None:
                self._fields[tag | _LENGTH_PREFIXED] = (key, kind, write)
            elif not field.is_repeated and not field.has_presence and (number := _number_of(field)) is not None:
                self._fields[tag] = (key, _NUMBER, KeptNumbers(number))
        self._oneofs = [{_key(field) for field in oneof.fields} for oneof in self._message.oneofs]


def _key(field: FieldDescriptor) -> str:
    return f'"{field.json_name}":'


def _part_of(field: FieldDescriptor) -> tuple[str, "KeptTexts | None"]:
    """Return of which kind a field is, and what writes its bytes; None if that is left to protobuf."""
    kind = _LIST if field.is_repeated else _MESSAGE if field.message_type is not None else _TEXT
    if field.message_type is not None:
        if field.message_type.GetOptions().map_entry:
            return kind, None
        return kind, KeptTexts(_writer_of(field.message_type), most=_most_kept(field))
    if field.type == FieldDescriptor.TYPE_STRING:
        write = _text if field.is_repeated or field.has_presence else _text_if_any
        return kind, KeptTexts(write, most=_most_kept(field))
    if field.type == FieldDescriptor.TYPE_BYTES and not field.has_presence and not field.is_repeated:
        return kind, KeptTexts(_base64_if_any)
    return kind, None


def _most_kept(field: FieldDescriptor) -> float:
    """Return how many values of a field are kept: none if there may be a secret in them."""
    return 0 if _is_secret(field, set()) else MAX_KEPT_PARTS.maximum


def _is_secret(field: FieldDescriptor, seen: set[str]) -> bool:
    message = field.message_type
    if field.GetOptions().debug_redact or message is None or message.full_name in seen:
        return bool(field.GetOptions().debug_redact)
    seen.add(message.full_name)
    return any(_is_secret(inner, seen) for inner in message.fields)


_writers: dict[str, WireJson] = {}  # full name of a message -> its writer


def _writer_of(message: Any) -> Part:
    writer = _writers.get(message.full_name)
    if writer is None:
        writer = _writers[message.full_name] = WireJson(message)
    return writer.write


class KeptTexts(dict[bytes, str]):
    """The JSON of parts that recur, by their bytes; it begins anew when it is full. `kept[part]` writes a new one."""

    def __init__(self, write: Part, *, most: float = MAX_KEPT_PARTS.maximum) -> None:
        super().__init__()
        self._write = write
        self._most = most
        self._most_bytes = MAX_KEPT_PART_BYTES.maximum

    def __missing__(self, part: bytes) -> str:
        text = self._write(part)
        if len(part) <= self._most_bytes and self._most:
            if len(self) >= self._most:
                self.clear()
            self[part] = text
        return text


class KeptNumbers(dict[int, str]):
    """The JSON of numbers, as `KeptTexts` does it for parts."""

    def __init__(self, write: Number) -> None:
        super().__init__()
        self._write = write

    def __missing__(self, value: int) -> str:
        text = self._write(value)
        if len(self) >= MAX_KEPT_PARTS.maximum:
            self.clear()
        self[value] = text
        return text


def _number_of(field: FieldDescriptor) -> Number | None:
    """Return what writes a number; None if that is left to protobuf."""
    if field.enum_type is not None:
        names = {value.number: f'"{value.name}"' for value in field.enum_type.values if value.number}
        return lambda value: names.get(value & _32_BITS) or _small(value)
    if field.type == FieldDescriptor.TYPE_BOOL:
        return lambda value: "true" if value else _DEFAULT
    return {
        FieldDescriptor.TYPE_INT32: _small,
        FieldDescriptor.TYPE_UINT32: lambda value: str(value & _32_BITS or _DEFAULT),
        FieldDescriptor.TYPE_INT64: _large,
        FieldDescriptor.TYPE_UINT64: lambda value: f'"{value}"' if value else _DEFAULT,
    }.get(field.type)


def _small(value: int) -> str:
    value &= _32_BITS  # what is above them does not count
    return str(value - (1 << 32) if value >> 31 else value) if value else _DEFAULT


def _large(value: int) -> str:
    return f'"{value - (1 << 64) if value >> 63 else value}"' if value else _DEFAULT


def _text(data: bytes) -> str:
    return orjson.dumps(data.decode()).decode()


def _text_if_any(data: bytes) -> str:
    return orjson.dumps(data.decode()).decode() if data else _DEFAULT


def _base64_if_any(data: bytes) -> str:
    return f'"{base64.b64encode(data).decode()}"' if data else _DEFAULT


def _varint(data: bytes, place: int, first: int) -> tuple[int, int]:
    """Return a number of several bytes, of which the first is given, and the place after it."""
    value, shift = first & 127, 7
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value >> 64:
                raise _UnusualError
            return value, place
        shift += 7
        if shift >= 7 * _MOST_BYTES:
            raise _UnusualError
