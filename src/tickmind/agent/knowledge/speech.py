"""`Speech`: what a character heard and said, and which answers it owes."""

import re
from collections import deque
from dataclasses import dataclass

from tickmind.agent.knowledge.paths import distance
from tickmind.agent.knowledge.tiles import Tile
from tickmind.base import Limit
from tickmind.mind.memory.words import words_of
from tickmind.protocol import Heard, Observation, Say

MAX_LINES = Limit("number of lines that a character keeps in mind", 60)
MAX_SAID_CHARS = Limit("length of a character's speech", 300, "characters")
TALKING_STEPS = 4  # a speaker within so many steps addresses the character, if the line has no name
ANSWER_TICKS = 8  # after so many ticks a line needs no answer
REPEAT_TICKS = 60  # before the same text is said again
_BEFORE_NAME = r"(?:^|[.!?,]\s*|\b(?:hello|hi|hey|dear|thanks|thank you|welcome|day|morning|evening|night)\s+)"


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """One line that was said."""

    tick: int
    speaker_id: str
    text: str
    to_me: bool = False


class Speech:
    """The talk of one character. `names` are what others call it, besides its id."""

    def __init__(self, entity_id: str, names: tuple[str, ...] = (), *, max_lines: Limit = MAX_LINES) -> None:
        self._me = entity_id
        mine = [name for name in (entity_id, *names) if name]
        called = "|".join(map(re.escape, mine))
        self._names = tuple(dict.fromkeys(name.casefold() for name in mine))
        self._called = re.compile(rf"(?<![\w:])(?:{called})(?!:?\w)", re.IGNORECASE)
        self._spoken_to = re.compile(rf"{_BEFORE_NAME}(?:{called})(?=\s*(?:[,;.!?]|:(?!\w)|$))", re.IGNORECASE)
        self.lines: deque[SpokenLine] = deque(maxlen=int(max_lines.maximum))
        """The lines heard and said, newest last."""
        self.heard_now: tuple[SpokenLine, ...] = ()
        """The lines heard in this tick."""
        self._met: dict[str, int] = {}  # entity id -> the tick of the first talk with it
        self._said: dict[str, int] = {}  # normalised text -> the tick in which it was said last
        self._owed: dict[str, SpokenLine] = {}  # entity id -> its line that has no answer yet
        self._spoke_tick = -REPEAT_TICKS

    def listen(self, observation: Observation) -> None:
        """Process what is heard, and mark the lines that are meant for this character."""
        heard = [event for event in observation.events if isinstance(event, Heard)]
        if not heard and not self._owed:
            self.heard_now = ()
            return
        tick, me = observation.tick_id, observation.me
        self.heard_now = tuple(
            [
                SpokenLine(tick, said.speaker_id, said.text, self._is_meant(said, observation, (me.x, me.y)))
                for said in heard
            ]
        )
        for line in self.heard_now:
            self.lines.append(line)
            if line.to_me:
                self._owed[line.speaker_id] = line
                self._met.setdefault(line.speaker_id, tick)
        for speaker in [who for who, line in self._owed.items() if tick - line.tick > ANSWER_TICKS]:
            del self._owed[speaker]

    def names_me(self, text: str) -> bool:
        """Return whether a line has the name or the id of this character in it."""
        return self._has_name(text) and self._called.search(text) is not None

    def speaks_to_me(self, text: str) -> bool:
        """Return whether a line speaks to this character by its name, as "Good day, Finn." and not "I saw Finn." do."""
        return self._has_name(text) and self._spoken_to.search(text) is not None

    def _has_name(self, text: str) -> bool:
        """Return whether a name stands in a line at all, which takes a hundredth of the search for where it stands."""
        folded = text.casefold()
        return any(name in folded for name in self._names)

    def _is_meant(self, heard: Heard, observation: Observation, at: Tile) -> bool:
        """Return whether a line is meant for this character: it is named, or nearest to the speaker and near enough."""
        if self.names_me(heard.text):
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
        """Return the oldest line that needs an answer of this character."""
        return next(iter(self._owed.values()), None)

    def settle(self, entity_id: str) -> None:
        """Mark the lines of a speaker as answered."""
        self._owed.pop(entity_id, None)

    def may_say(self, tick: int, text: str, within_ticks: int = REPEAT_TICKS) -> bool:
        """Return whether a text is worth saying: not empty, and not said within so many ticks."""
        key = _compared(text)
        return bool(key) and tick - self._said.get(key, -REPEAT_TICKS) >= within_ticks

    def say(self, tick: int, text: str, to: str = "") -> Say:
        """Record that the character says something, to one listener or to all, and return the intent."""
        flat = " ".join(text.split())[: int(MAX_SAID_CHARS.maximum)]
        self._said[_compared(flat)] = tick
        if len(self._said) > 4 * len(self.lines) + 100:
            self._said = {key: when for key, when in self._said.items() if tick - when < REPEAT_TICKS}
        self._spoke_tick = tick
        self.lines.append(SpokenLine(tick, self._me, flat))
        if to:
            self._met.setdefault(to, tick)
            self.settle(to)
        return Say(flat)

    def silent_ticks(self, tick: int) -> int:
        """Return for how many ticks the character has said nothing."""
        return tick - self._spoke_tick

    def talked_before(self, line: SpokenLine) -> bool:
        """Return whether the character had talked with the speaker of a line before it."""
        return self._met.get(line.speaker_id, line.tick) < line.tick

    def met(self) -> tuple[str, ...]:
        """Return the entities that the character has talked with, in the order of the first time."""
        return tuple(self._met)


def _compared(text: str) -> str:
    """Return a text as its words alone, for comparison."""
    return " ".join(sorted(words_of(text))) or " ".join(text.lower().split())
