"""`Wordings`: lines in a model's words that are still to be said."""

import re
from collections import Counter
from collections.abc import Sequence

from tickmind.base import Limit
from tickmind.mind.talk.phrasebook import Act

MAX_WORDINGS = Limit("number of lines in a model's words that a mind keeps to say later", 48)
WORDINGS_EACH = 2  # lines for the same news or question, as several people are told or asked
REUSED = (Act.TELL, Act.ANSWER, Act.ASK)  # acts whose words fit another talk as well
_NAME = "\0"  # stands for whom a line is said to


class Wordings:
    """Lines that came after their turn, or before it, by what they are for. Each is said once; old ones are dropped.

    >>> kept = Wordings()
    >>> kept.add(Act.TELL, "I picked berries.", "My hands are red, Tom: berries!", "Tom")
    True
    >>> kept.take(Act.TELL, "I picked berries.", "Ada")
    'My hands are red, Ada: berries!'
    >>> kept.take(Act.TELL, "I picked berries.", "Ada")
    ''
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[Act, str, str], None] = {}  # act, what it tells and the line; the newest last

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def news(self) -> list[str]:
        """What its lines tell or ask."""
        return [told for _, told, _ in self._lines if told]

    def add(self, act: Act, news: str, text: str, name: str = "") -> bool:
        """Keep a line that was meant for a person of that name; empty: for anybody. Return whether it is kept.

        One that names the person twice, or tells of it, is for no other person; one that it has is nothing new.
        """
        named = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        if act not in REUSED or _NAME in text or (name and (named.search(news) or len(named.findall(text)) > 1)):
            return False
        key = _key(act, news, named.sub(_NAME, text) if name else text)
        if key in self._lines:
            return False
        self._lines[key] = None
        if not MAX_WORDINGS.allows(len(self._lines)):
            del self._lines[next(iter(self._lines))]
        return True

    def scarcest(self, wanted: Sequence[str]) -> str:
        """Return what of some news or questions it has the fewest lines for; nothing if it has enough for each."""
        counts = Counter(self.news)
        least = min(wanted, key=lambda told: counts[told], default="")
        return least if counts[least] < WORDINGS_EACH else ""

    def take(self, act: Act, news: str, name: str) -> str:
        """Return a line for an act, said to a person of that name, and forget it; empty if there is none."""
        return self._take(next((line for line in self._lines if line[:2] == _key(act, news, "")[:2]), None), name)

    def take_question(self, name: str) -> str:
        """Return the oldest question, said to a person of that name, and forget it; empty if there is none."""
        return self._take(next((line for line in self._lines if line[0] is Act.ASK), None), name)

    def _take(self, key: tuple[Act, str, str] | None, name: str) -> str:
        if key is None:
            return ""
        del self._lines[key]
        return key[2].replace(_NAME, name)


def _key(act: Act, news: str, line: str) -> tuple[Act, str, str]:
    return (Act.TELL if act is Act.ANSWER and news else act), news, line  # what answers a question may be told as well
