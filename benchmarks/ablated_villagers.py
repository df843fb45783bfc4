"""Villagers that lack one part of their minds: `python ablated_villagers.py plan` is a program for `tickmind up`."""

import sys
from collections.abc import Callable, Iterable

from tickmind.agent import Start
from tickmind.characters.villager import Villager
from tickmind.mind.plans import DayErrand
from tickmind.mind.promises import Promise
from tickmind.mind.talk import Remark, Talker
from tickmind.mind.talk.line_checker import clean_line, is_for_code
from tickmind.mind.talk.repeats import SpokenBefore
from tickmind.protocol.setting import clock_of, zone_phrase

SHORT_MEMORY = 5  # entries of a villager without a memory


class WithoutReflection(Villager):
    """Has no insights at the end of a day."""

    def look_back(self) -> None:
        """Tidy the memory only."""
        self.memory.tidy(self.tick)


class WithoutPlan(Villager):
    """Has no errands, and makes no appointments."""

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self._routine = []

    def hear_news(self, text: str) -> None:
        """Do nothing about it."""


class WithoutMemory(Villager):
    """Remembers the last few things only, be it what happened, what it promised or where it was to go."""

    def remember(self) -> None:
        """Note what happened, and forget what was before: promises and appointments of which it has no entry, too."""
        super().remember()
        for entry in list(self.memory)[:-SHORT_MEMORY]:
            self.memory.forget(entry.number)
        texts = [entry.text for entry in self.memory]
        promises = self.talker.promises
        known = [one for one in promises if self._is_in_mind(one, texts)]
        if len(known) < len(promises):
            promises.restore(known)
        self._appointments = [one for one in self._appointments if any(map(self._says(one[1]), texts))]

    def _is_in_mind(self, promise: Promise, texts: Iterable[str]) -> bool:
        one = "I" if promise.by == self.entity_id else self.talker.people.called(promise.by)
        other = "me" if promise.to == self.entity_id else self.talker.people.called(promise.to)
        begins = f"{one} promised to bring {other} {promise.amount} {promise.item} by "
        return any(text.startswith(begins) for text in texts)

    def _says(self, errand: DayErrand) -> Callable[[str], bool]:
        return lambda text: f"{zone_phrase(errand.place)} at {clock_of(errand.minute)}" in text


class _Unheeding(SpokenBefore):
    def shared(self, text: str, names: Iterable[str] = ()) -> float:  # noqa: ARG002  whatever it is
        """Find that no line was said before."""
        return 0.0


class WithoutChecker(Villager):
    """Does not mind what it has said before."""

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.talker.spoken = _Unheeding()


class _UncheckedTalker(Talker):
    def reworded(self, remark: Remark, words: str, name: str = "") -> Remark:  # noqa: ARG002
        """Take a model's words as they are, unless listeners would do something about them."""
        line = clean_line(words, (self._name, self._me))
        is_usable = bool(line) and not is_for_code(line) and self.may_reword(remark)
        return remark._replace(text=line, is_worded=True) if is_usable else remark

    def usable(self, text: str) -> str:
        """Take a line as it is."""
        return text


class WithoutTalkChecker(WithoutChecker):
    """Says what a model writes, whatever that means and how often it was said."""

    talker_type = _UncheckedTalker


ABLATED: dict[str, type[Villager]] = {
    "checker": WithoutChecker,
    "memory": WithoutMemory,
    "plan": WithoutPlan,
    "reflection": WithoutReflection,
}
UNCHECKED = "talk checker"
WORDED: dict[str, type[Villager]] = {UNCHECKED: WithoutTalkChecker}
"""What differs only where a model words lines."""

if __name__ == "__main__":
    {**ABLATED, **WORDED}[sys.argv[1]].run()
