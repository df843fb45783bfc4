"""How fast the frames of one client are read: as reading takes time, a client that sends much waits."""

from tickmind.adapters.websocket.limits import SocketLimits


class FramePace:
    """Credit for frames, which grows with time: a frame takes one, and more by its size. Times are in seconds."""

    def __init__(self, limits: SocketLimits) -> None:
        self._most = limits.frames_per_s.maximum
        self._per_byte = self._most / limits.bytes_per_s.maximum
        self._credit = self._most
        self._credited_s = 0.0

    def wait_s(self, now_s: float) -> float:
        """Take the credit for the next frame, and return how long to wait before it is read."""
        self._credit = min(self._most, self._credit + (now_s - self._credited_s) * self._most) - 1
        self._credited_s = now_s
        return max(0.0, -self._credit / self._most)

    def note(self, size: int) -> None:
        """Take the credit for the size of a frame."""
        self._credit -= size * self._per_byte
