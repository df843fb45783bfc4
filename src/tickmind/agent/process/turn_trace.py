"""`TurnTrace`: what a mind did in each tick since the last report."""

from tickmind.base import Limit
from tickmind.protocol.reports import TurnCode, encode_turns

REPORT_TICKS = 1000  # turns after which they are reported even if nothing has happened
MAX_GAP = Limit("number of missed ticks in a row that are reported", 1_000_000)


class TurnTrace:
    """The turns of one entity in this process."""

    def __init__(self) -> None:
        self._codes: list[TurnCode] = [TurnCode.BEGAN]
        self._last_tick: int | None = None
        self._asked: list[int] = []  # ticks of questions whose turns are not noted yet
        self._unusual = False  # some turn since the last report was no act in time

    @property
    def is_due(self) -> bool:
        """Whether the turns should be reported: not all are those of a mind that acts in time, or there are many."""
        return self._unusual or len(self._codes) >= REPORT_TICKS

    @property
    def last_tick(self) -> int | None:
        """The tick of the last turn; None before the first."""
        return self._last_tick

    @property
    def is_new(self) -> bool:
        """Whether nothing was reported yet."""
        return self._codes[:1] == [TurnCode.BEGAN]

    def note(self, tick_id: int, code: TurnCode) -> None:
        """Note a turn; ticks in between were missed, and a tick that a world repeats counts once."""
        if self._last_tick is not None:
            gap = tick_id - self._last_tick - 1
            if gap < 0:
                return
            if not MAX_GAP.allows(gap):
                self._codes = [TurnCode.BEGAN]
            else:
                self._codes += [TurnCode.MISSED] * gap
            self._unusual |= gap > 0
        self._codes.append(code)
        self._unusual |= code is not TurnCode.ACTED
        self._last_tick = tick_id
        while self._asked and self._asked[0] <= tick_id:
            del self._asked[0]
            self._codes.append(TurnCode.ASKED)

    def question(self, tick_id: int) -> None:
        """Note a question to a model in a tick, whose turn may be noted before or after that."""
        if self._last_tick is not None and tick_id <= self._last_tick:
            self._codes.append(TurnCode.ASKED)
        else:
            self._asked.append(tick_id)

    def take(self) -> str:
        """Return the turns since the last call; the last one is that of the last noted tick."""
        if self._last_tick is None:
            return ""
        codes, self._codes, self._unusual = self._codes, [], False
        return encode_turns(codes)
