"""`Mood`: how a mind feels, changed by what happens to it and fading with time."""

from types import MappingProxyType

WEIGHT = 0.2  # by which a mood shifts what a character would do, at most
EVENTS = MappingProxyType(
    {
        "got a gift": 0.2,
        "got what was promised": 0.3,
        "was let down": -0.3,
        "broke a promise": -0.2,
        "had a talk": 0.05,
        "was left": -0.05,
    }
)  # what happens -> by how much it changes a mood
_WORDS = ((0.6, "cheerful"), (0.2, "content"), (-0.2, "calm"), (-0.6, "low"))  # from this mood on, the best first


class Mood:
    """A number from -1 to 1 that halves in a quarter of a day.

    >>> mood = Mood(day_ticks=600)
    >>> mood.feel(10, 0.8)
    >>> mood.word(10), mood.word(160)
    ('cheerful', 'content')
    """

    def __init__(self, day_ticks: int) -> None:
        self._half_life_ticks = max(1, day_ticks // 4)
        self._value = 0.0
        self._tick = 0  # of the value

    def at(self, tick: int) -> float:
        """Return the mood at a tick."""
        faded: float = 0.5 ** (max(0, tick - self._tick) / self._half_life_ticks)
        return self._value * faded

    def feel(self, tick: int, change: float) -> None:
        """Feel better or worse."""
        self._value = max(-1.0, min(1.0, self.at(tick) + change))
        self._tick = max(tick, self._tick)

    def word(self, tick: int) -> str:
        """Return the mood in a word."""
        value = self.at(tick)
        return next((word for least, word in _WORDS if value >= least), "miserable")

    def weight(self, tick: int) -> float:
        """Return by how much it multiplies what a character is inclined to, from 0.8 to 1.2."""
        return 1 + WEIGHT * self.at(tick)

    def kept(self) -> tuple[float, int]:
        """Return it for `restore`."""
        return self._value, self._tick

    def restore(self, value: object, tick: object) -> None:
        """Take over a mood that was kept. Raises `TypeError` or `ValueError` for a malformed one."""
        if type(tick) is not int or not isinstance(value, float):
            raise TypeError("a mood is a number and its tick")
        if not -1 <= value <= 1 or tick < 0:
            raise ValueError("a mood goes from -1 to 1")
        self._value, self._tick = value, tick
