"""`Circle`: the people of a talk of more than two, in the order in which they speak."""

from collections.abc import Iterable

from tickmind.base import Limit

MAX_CIRCLE = Limit("number of people in one talk", 5)


class Circle:
    """Who takes part in a talk, and whose turn it is: after each line that of the next one in the order of joining.

    Each member keeps a circle of its own and hears the same lines, so all agree without a word about it. If two have
    spoken at once, the one further back in the order counts as the last. A line out of turn moves the turn, too.

    >>> circle = Circle(["ada", "bram", "cleo"], "ada")
    >>> circle.next_id
    'bram'
    >>> circle.speak("cleo", 2)
    >>> circle.next_id
    'ada'
    """

    def __init__(self, members: Iterable[str], last_id: str, tick: int = 0) -> None:
        self.members = list(dict.fromkeys(members))
        """All who take part, in the order of their turns."""
        self._last_id, self._last_tick = last_id, tick
        self.next_id = self._after(last_id)
        """Whose turn it is."""

    def speak(self, person_id: str, tick: int) -> None:
        """Note that a member has spoken, as heard in a tick."""
        members = self.members
        at_once = tick == self._last_tick and self._last_id in members
        if at_once and members.index(person_id) < members.index(self._last_id):
            return
        self._last_id, self._last_tick = person_id, tick
        self.next_id = self._after(person_id)

    def add(self, person_id: str) -> None:
        """Take in one more, who speaks after all others. Whose turn it is stays."""
        if person_id not in self.members and MAX_CIRCLE.allows(len(self.members) + 1):
            self.members.append(person_id)

    def remove(self, person_id: str) -> None:
        """Let one go; if it is the turn of that one, it is the turn of the one after it."""
        if person_id == self.next_id:
            self.next_id = self._after(person_id)
        self.members.remove(person_id)

    def _after(self, person_id: str) -> str:
        return self.members[(self.members.index(person_id) + 1) % len(self.members)]
