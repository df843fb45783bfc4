"""`IdMaker`: ids of runs, calls and sessions that sort by the time they were made; and numbers of texts."""

import random
import secrets
import threading
import zlib

from tickmind.base.clock import Clock, SystemClock

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: they are misread
_TIME_DIGITS = 9  # 45 bits of milliseconds, until the year 3084
_CHANCE_DIGITS = 8  # 40 bits
_CHANCE_SPAN = 32**_CHANCE_DIGITS


def _digits(value: int, width: int) -> str:
    letters = [_ALPHABET[(value >> (5 * place)) & 31] for place in reversed(range(width))]
    return "".join(letters)


class IdMaker:
    """Make ids such as `run_1hm5vxkq27c3e9a0p`, each greater than the one before, even within one millisecond.

    Give it a `ManualClock` and a seeded `random.Random` and the ids repeat. Threads may share it.

        >>> make_id = IdMaker()
        >>> make_id("run") < make_id("run")
        True
    """

    def __init__(self, *, clock: Clock | None = None, rng: random.Random | None = None) -> None:
        self._clock = clock or SystemClock()
        self._rng = rng or random.SystemRandom()
        self._lock = threading.Lock()
        self._last = (-1, -1)  # milliseconds, chance

    def __call__(self, prefix: str) -> str:
        """Make the next id."""
        with self._lock:
            millis = max(int(self._clock.wall() * 1000), self._last[0])
            chance = self._rng.randrange(_CHANCE_SPAN)
            if millis == self._last[0] and chance <= self._last[1]:
                chance = self._last[1] + 1
                if chance == _CHANCE_SPAN:
                    millis, chance = millis + 1, 0
            self._last = (millis, chance)
        return f"{prefix}_{_digits(millis, _TIME_DIGITS)}{_digits(chance, _CHANCE_DIGITS)}"


def text_sum(text: str) -> int:
    """Return the CRC-32 of a text: a number that is the same in every process and on every machine."""
    return zlib.crc32(text.encode(errors="surrogatepass"))


def secret_token(size_bytes: int = 24) -> str:
    """Make a token that can't be guessed, for leases and callers' keys."""
    return secrets.token_urlsafe(size_bytes)
