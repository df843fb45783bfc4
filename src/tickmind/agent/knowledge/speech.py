"""Conversation: what was heard and said, who is owed an answer, and what need not be said again."""

import re
from collections import deque
from dataclasses import dataclass

from tickmind.agent.knowledge.memory import words_of
from tickmind.agent.knowledge.paths import distance
from tickmind.agent.knowledge.tiles import Tile
from tickmind.base import Limit
from tickmind.protocol import Heard, Observation, Say

MAX_LINES = Limit("number of lines that one keeps in mind", 60)
MAX_SAID_CHARS = Limit("length of what one says", 300, "characters")
TALKING_STEPS = 4  # so near somebody must be to be talking to one, if no name is named
ANSWER_TICKS = 8  # after so many ticks a line needs no answer any more
REPEAT_TICKS = 60  # so long the same is not said again


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """Something that was said."""

    tick: int
    speaker_id: str
    text: str
    to_me: bool = False


class Speech:
    """The talk of one character. `names` are what it is called by others, besides its id."""

    def __init__(self, entity_id: str, names: tuple[str, ...] = (), *, max_lines: Limit = MAX_LINES) -> None:
        self._me = entity_id
        called = "|".join(re.escape(name) for name in (entity_id, *names) if name)
        self._called = re.compile(rf"(?<![\w:])(?:{called})(?![\w:])", re.IGNORECASE)
        self.lines: deque[SpokenLine] = deque(maxlen=int(max_lines.maximum))
        """What was heard and said, newest last."""
        self.heard_now: tuple[SpokenLine, ...] = ()
        """What was heard in this tick."""
        self._met: dict[str, int] = {}  # entity id -> the tick in which it first spoke to one, or one to it
        self._said: dict[str, int] = {}  # text as compared -> the tick in which it was said last
        self._talked: dict[str, int] = {}  # entity id -> the tick in which one last spoke to it or it to one
        self._owed: dict[str, SpokenLine] = {}  # entity id -> its line that has no answer yet
        self._spoke_tick = -REPEAT_TICKS
        self._addressed: deque[tuple[int, str]] = deque(maxlen=self.lines.maxlen)  # tick, to whom one spoke

    def listen(self, observation: Observation) -> None:
        """Take in what is heard, and tell what is meant for oneself."""
        heard = [event for event in observation.events if isinstance(event, Heard)]
        if not heard and not self._owed:
            self.heard_now = ()
            return
        tick, me = observation.tick_id, observation.me
        self.heard_now = tuple(
            [
                SpokenLine(tick, one.speaker_id, one.text, self._is_meant(one, observation, (me.x, me.y)))
                for one in heard
            ]
        )
        for line in self.heard_now:
            self.lines.append(line)
            if line.to_me:
                self._owed[line.speaker_id] = line
                self._met.setdefault(line.speaker_id, tick)
                self._talked[line.speaker_id] = tick
        for speaker in [who for who, line in self._owed.items() if tick - line.tick > ANSWER_TICKS]:
            del self._owed[speaker]

    def _is_meant(self, heard: Heard, observation: Observation, at: Tile) -> bool:
        """Whoever is named is meant; else it is the nearest to the speaker, if near enough."""
        if self._called.search(heard.text):
            return True
        x, y = heard.x, heard.y
        steps = distance((x, y), at)
        if steps > TALKING_STEPS:
            return False
        for other in observation.visible_entities:
            nearer = abs(other.x - x) < steps and abs(other.y - y) < steps
            if (nearer or other.entity_id in heard.text) and other.entity_id != heard.speaker_id:
                return False
        return True

    def owed(self) -> SpokenLine | None:
        """The oldest line that wants an answer of mine."""
        return next(iter(self._owed.values()), None)

    def settle(self, entity_id: str) -> None:
        """Owe somebody no answer any more."""
        self._owed.pop(entity_id, None)

    def may_say(self, tick: int, text: str) -> bool:
        """Whether a text is worth saying: not empty, and not said lately."""
        key = _compared(text)
        return bool(key) and tick - self._said.get(key, -REPEAT_TICKS) >= REPEAT_TICKS

    def say(self, tick: int, text: str, to: str = "") -> Say:
        """Note that one says something, to somebody or to all who hear it, and make the intent."""
        flat = " ".join(text.split())[: int(MAX_SAID_CHARS.maximum)]
        self._said[_compared(flat)] = tick
        if len(self._said) > 4 * len(self.lines) + 100:
            self._said = {key: when for key, when in self._said.items() if tick - when < REPEAT_TICKS}
        self._spoke_tick = tick
        self.lines.append(SpokenLine(tick, self._me, flat))
        if to:
            self._met.setdefault(to, tick)
            self._talked[to] = tick
            self._addressed.append((tick, to))
            self.settle(to)
        return Say(flat)

    def silent_ticks(self, tick: int) -> int:
        """For how long one has said nothing."""
        return tick - self._spoke_tick

    def spoke_to(self, entity_id: str, tick: int, within_ticks: int = REPEAT_TICKS) -> int:
        """How many times one has spoken to somebody not long ago."""
        return sum(1 for when, whom in self._addressed if whom == entity_id and tick - when < within_ticks)

    def talked_before(self, line: SpokenLine) -> bool:
        """Whether one had talked with the speaker of a line before that."""
        return self._met.get(line.speaker_id, line.tick) < line.tick

    def met(self) -> tuple[str, ...]:
        """With whom one has talked, in the order of the first time."""
        return tuple(self._met)

    def talked_lately(self, entity_id: str, tick: int, within_ticks: int = REPEAT_TICKS) -> bool:
        """Whether one has talked with somebody not long ago."""
        when = self._talked.get(entity_id)
        return when is not None and tick - when < within_ticks


def _compared(text: str) -> str:
    """A text as it is compared with others: its words alone."""
    return " ".join(sorted(words_of(text))) or " ".join(text.lower().split())
