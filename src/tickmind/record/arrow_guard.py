"""A guard for Arrow messages: detects, before reading, whether one would grow while being read."""

import struct

_OFFSET = struct.Struct("<I")
_SIGNED = struct.Struct("<i")
_SHORT = struct.Struct("<H")

_HEADER = 2  # place of the header among the fields of a message
_COMPRESSION = 3  # place of the compression among the fields of a batch


def _field(data: bytes, table: int, place: int) -> int | None:
    """Return where a field of a table is, or None if it is absent."""
    entries = table - _SIGNED.unpack_from(data, table)[0]
    if entries < 0:
        raise struct.error("a table before the beginning of the message")
    if 4 + 2 * place >= _SHORT.unpack_from(data, entries)[0]:
        return None
    offset = _SHORT.unpack_from(data, entries + 4 + 2 * place)[0]
    return table + offset if offset else None


def is_compressed(metadata: bytes) -> bool:
    """Whether the buffers of a batch are compressed, by the metadata of its message."""
    message = _OFFSET.unpack_from(metadata)[0]
    header = _field(metadata, message, _HEADER)
    if header is None:
        return False
    batch = header + _OFFSET.unpack_from(metadata, header)[0]
    return _field(metadata, batch, _COMPRESSION) is not None
