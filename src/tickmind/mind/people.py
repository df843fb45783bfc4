"""`People`: what one knows of others, and which experiences that rests on."""

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tickmind.base import Limit, text_sum

MAX_PEOPLE = Limit("number of people that a character knows", 100)
CLOSE_LIKING, CLOSE_TRUST = 0.3, 0.2  # of a close friend
COLD_LIKING = -0.2  # from which on down one does not speak to a person of one's own accord
FRIEND_LIKING, FOE_LIKING = 0.2, -0.4  # at first, of those to whom a persona is related
_FOE = re.compile(
    r"\b(?:enem(?:y|ies)|feud\w*|foes?|quarrel\w*|(?:not|never) (?:on speaking terms|speak)|(?:no|not an?) friends?|"
    r"fell out|fallen out)\b",
    re.IGNORECASE,
)
_FRIEND = re.compile(
    r"\b(?:friend|cousin|sister|brother|mother|father|daughter|son|wife|husband|aunt|uncle|pupil|teacher|housemate|"
    r"partner|companion|helper)s?\b",
    re.IGNORECASE,
)
MAX_TOPICS = Limit("number of things that were said to a person", 60)


@dataclass(slots=True)
class Acquaintance:
    """What is known of one person. Liking and trust go from -1 to 1."""

    person_id: str
    name: str = ""  # by which it calls itself
    heard: bool = False  # whether it has said anything yet
    talks: int = 0
    liking: float = 0.0
    trust: float = 0.0
    topics: "array[int]" = field(
        default_factory=lambda: array("I")
    )  # sums of what was said to it, or by it; newest last

    @property
    def called(self) -> str:
        """How one speaks to it: by its name, or else by its id."""
        return self.name or spoken_id(self.person_id)

    @property
    def is_close(self) -> bool:
        """Whether it is a friend, who is told what others are not."""
        return self.liking >= CLOSE_LIKING and self.trust >= CLOSE_TRUST

    @property
    def is_cold(self) -> bool:
        """Whether one does not speak to it of one's own accord."""
        return self.liking <= COLD_LIKING

    def shown(self) -> dict[str, float]:
        """Return what counts, for those who watch."""
        return {"talks": self.talks, "liking": round(self.liking, 2), "trust": round(self.trust, 2)}

    def add_topic(self, topic: str) -> None:
        """Note that this has been talked about."""
        self.add_topic_sum(text_sum(topic))

    def has_topic(self, topic: str) -> bool:
        """Return whether this has been talked about. One in four thousand million other texts has the same sum."""
        return text_sum(topic) in self.topics

    def add_topic_sum(self, topic_sum: int) -> None:
        """Note that a text with this sum has been talked about: a sum takes a tenth of the room."""
        if topic_sum in self.topics:
            self.topics.remove(topic_sum)
        self.topics.append(topic_sum)
        if not MAX_TOPICS.allows(len(self.topics)):
            del self.topics[0]

    def like(self, change: float) -> None:
        """Like it more or less."""
        self.liking = max(-1.0, min(1.0, self.liking + change))

    def believe(self, change: float) -> None:
        """Trust it more or less."""
        self.trust = max(-1.0, min(1.0, self.trust + change))


class People:
    """All that a character knows of others. Over the limit, those not talked with for longest are forgotten."""

    def __init__(self, *own_names: str) -> None:
        self._own_names = frozenset(name.lower() for name in own_names)
        self._known: dict[str, Acquaintance] = {}  # the one met or talked with last is last

    def __iter__(self) -> Iterator[Acquaintance]:
        return iter(self._known.values())

    def __len__(self) -> int:
        return len(self._known)

    def get(self, person_id: str) -> Acquaintance | None:
        """Return what is known of a person; None if they have not met."""
        return self._known.get(person_id)

    def meet(self, person_id: str, name: str = "") -> Acquaintance:
        """Return what is known of a person, which is little at first; the first name that it gives is taken over.

        The name of another, or one's own, is not.
        """
        known = self._known.pop(person_id, None)
        if known is None:
            known = Acquaintance(person_id)
            for other in self._known.values():
                if other.name.lower() == known.called.lower():
                    other.name = ""  # it belongs to the one that is called so
        self._known[person_id] = known
        if name and not known.name and not self._is_taken(name, person_id):
            known.name = name
        if not MAX_PEOPLE.allows(len(self._known)):
            del self._known[next(iter(self._known))]
        return known

    def know(self, person_id: str, relation: str) -> None:
        """Know a person from the beginning, by what it is: a cousin, or one with whom there is a quarrel."""
        person = self.meet(person_id)
        person.heard = True
        person.like(FOE_LIKING if _FOE.search(relation) else FRIEND_LIKING if _FRIEND.search(relation) else 0.0)

    def make_peace(self, person_id: str) -> Acquaintance | None:
        """End the quarrel with a person, and return what is known of it; None if there is none."""
        person = self._known.get(person_id)
        if person is None or not person.is_cold:
            return None
        person.liking = 0.0
        return person

    def _is_taken(self, name: str, person_id: str) -> bool:
        others = (other for other in self._known.values() if other.person_id != person_id)
        return name.lower() in self._own_names or any(name.lower() == other.called.lower() for other in others)

    def restore(self, people: Iterable[Acquaintance]) -> None:
        """Take over what was kept. Raises `TypeError` or `ValueError` for malformed values, and takes nothing then."""
        known = {person.person_id: person for person in people}
        for person in known.values():
            texts, degrees = (person.person_id, person.name), (person.liking, person.trust)
            if not all(type(text) is str for text in texts) or type(person.talks) is not int:
                raise TypeError("a person must have an id, a name and a number of talks")
            if not all(-1 <= degree <= 1 for degree in degrees):
                raise ValueError("liking and trust go from -1 to 1")
        if not MAX_PEOPLE.allows(len(known)):
            raise ValueError("too many people")
        self._known = known

    def called(self, person_id: str) -> str:
        """Return how one speaks of a person."""
        known = self._known.get(person_id)
        return known.called if known else spoken_id(person_id)


def spoken_id(person_id: str) -> str:
    """Return an id as it is spoken: one that is a word is a name."""
    return person_id.capitalize() if person_id.isalpha() else person_id
