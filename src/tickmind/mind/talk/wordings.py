"""`Wordings`: lines in a model's words that are still to be said."""

import re

from tickmind.base import Limit
from tickmind.mind.talk.phrasebook import Act

MAX_WORDINGS = Limit("number of lines in a model's words that a mind keeps to say later", 24)
REUSED = (Act.TELL, Act.ANSWER, Act.ADMIT)  # acts whose words fit another talk as well
_NAME = "\0"  # stands for whom a line is said to


class Wordings:
    """Lines that came after their turn, or before it, by what they are for. Each is said once; old ones are dropped.

    >>> kept = Wordings()
    >>> kept.add(Act.TELL, "I picked berries.", "My hands are red, Tom: berries!", "Tom")
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
        """What its lines tell."""
        return [told for _, told, _ in self._lines if told]

    def add(self, act: Act, news: str, text: str, name: str = "") -> None:
        """Keep a line that was meant for a person of that name; empty: for anybody.

        One that names the person twice, or tells of it, is for nobody else.
        """
        named = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        if act not in REUSED or _NAME in text or (name and (named.search(news) or len(named.findall(text)) > 1)):
            return
        line = named.sub(_NAME, text) if name else text
        self._lines[_key(act, news, line)] = None
        if not MAX_WORDINGS.allows(len(self._lines)):
            del self._lines[next(iter(self._lines))]

    def take(self, act: Act, news: str, name: str) -> str:
        """Return a line for an act, said to a person of that name, and forget it; empty if there is none."""
        key = next((one for one in self._lines if one[:2] == _key(act, news, "")[:2]), None)
        if key is None:
            return ""
        del self._lines[key]
        return key[2].replace(_NAME, name)


def _key(act: Act, news: str, line: str) -> tuple[Act, str, str]:
    return (Act.TELL if news else act), news, line  # what answers a question may be told as well
