"""Server-sent events: bytes in any cut, the `data` of each event out.

Only `data` is kept: every provider repeats the event's name inside it. What is no part of an event stream is kept apart
(`stray`), and so is what the endpoint marks as an error (`failure`): both are how endpoints fail in mid-stream.
"""

_BOM = b"\xef\xbb\xbf"
_FIELDS = (b"event", b"id", b"retry", b":")  # what a line that is not data may begin with
_MAX_STRAY_BYTES = 64 * 1024  # how much of other lines is kept


class SseDecoder:
    """Reads an event stream. Lines end with LF, CRLF or CR; an event that the stream's end cuts short is kept."""

    __slots__ = ("_data", "_failing", "_first", "_partial", "_skip_lf", "_stray", "_stray_bytes", "failure")

    def __init__(self) -> None:
        self._data: list[bytes] = []  # data lines of the event that is being read
        self._partial: list[bytes] = []  # pieces of the line that is being read
        self._skip_lf = False  # the last piece ended with CR, so a LF belongs to it
        self._first = True
        self._failing = False  # the event that is being read is called an error
        self._stray: list[bytes] = []  # lines that are no part of an event stream
        self._stray_bytes = 0
        self.failure: bytes | None = None  # the data of an `error` event, or the rest of an `error:` line

    @property
    def stray(self) -> bytes:
        """The lines so far that are no part of an event stream, shortened."""
        return b"\n".join(self._stray)

    def feed(self, piece: bytes) -> list[bytes]:
        """Take the next bytes and give the data of all events that are whole now."""
        if self._skip_lf and piece:
            self._skip_lf = False
            if piece[0] == 10:
                piece = piece[1:]
        if not piece:
            return []
        lines = piece.splitlines()
        last = piece[-1]
        if last == 13:
            self._skip_lf = True
        elif last != 10:
            rest = lines.pop()
            if not lines:
                self._partial.append(rest)
                return []
            lines[0] = self._whole_line(lines[0])
            self._partial.append(rest)
            return self._read(lines)
        lines[0] = self._whole_line(lines[0])
        return self._read(lines)

    def finish(self) -> list[bytes]:
        """Give the last event, though its blank line never came."""
        return self._read([self._whole_line(b""), b""])

    def _whole_line(self, end: bytes) -> bytes:
        if self._partial:
            self._partial.append(end)
            end = b"".join(self._partial)
            self._partial.clear()
        return end

    def _read(self, lines: list[bytes]) -> list[bytes]:
        if self._first:
            self._first = False
            lines[0] = lines[0].removeprefix(_BOM)
        events: list[bytes] = []
        data = self._data
        for line in lines:
            if not line:
                if data:
                    event = data[0] if len(data) == 1 else b"\n".join(data)
                    if self._failing:
                        self.failure = event
                    else:
                        events.append(event)
                    data.clear()
                self._failing = False
            elif line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif line == b"data":
                data.append(b"")
            elif line.startswith(b"error:"):
                self.failure = line[6:].strip()
            elif not line.startswith(_FIELDS):
                self._keep_stray(line)
            elif line.startswith(b"event:"):
                self._failing = line[6:].strip() == b"error"
        return events

    def _keep_stray(self, line: bytes) -> None:
        room = _MAX_STRAY_BYTES - self._stray_bytes
        if room > 0:
            self._stray.append(line[:room])
            self._stray_bytes += len(line)
