"""Play for a team in the arena: bring gems home, raid the others' hoard, and tag opponents in one's own half.

A tagged player drops its gems and lies down for a while. The world knows nothing of this game: a tag is something
that is said, and players keep the rules by themselves.
"""

from collections.abc import Iterator
from typing import ClassVar

from tickmind.agent import Character, Start, action, condition
from tickmind.agent.knowledge import Person, Thing, Tile, distance
from tickmind.ai import Action, Condition, Node, Selector, Sequence, Status
from tickmind.protocol import ActorStatus as BodyStatus
from tickmind.protocol import Drop, Pickup

GEM = "gem"
DOWN_TICKS = 60  # that a tagged player lies down
SAFE_TICKS = 60  # after getting up in which a player can't be tagged
ENOUGH = 2  # gems to go home with
DANGER_STEPS = 4  # with an opponent so near it goes home with less
GUARD_STEPS = 8  # that a guard stays from its home


class ArenaPlayer(Character):
    """Settings: `team`, `side` (west or east), `middle` (the first column of the eastern half), `guards` (ids)."""

    tree: ClassVar[Node] = Selector(
        Sequence(Condition("asleep"), Selector(Sequence(Condition("down"), Action("wait")), Action("wake"))),
        Sequence(Condition("down"), Action("lie_down")),
        Action("tag"),
        Sequence(Condition("laden"), Action("bring_home")),
        Action("chase"),
        Action("collect"),
        Sequence(Condition("guards"), Action("stand_guard")),
        Action("raid"),
        Action("explore"),
        Action("wander"),
        memory=False,
    )

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.team = start.settings.text("team")
        self._west = start.settings.text("side") == "west"
        self._middle = start.settings.whole("middle")
        self._is_guard = start.entity_id in start.settings.texts("guards")
        self._down_until = self._safe_until = 0  # ticks
        self._tagged: dict[str, int] = {}  # opponent -> the tick in which it was tagged last

    def remember(self) -> None:
        """Notice a tag: its own id, said by an opponent right beside it, in the opponent's half."""
        if self._safe_until > self.tick or self._is_ours(self.at):
            return
        for line in self.speech.heard_now:
            speaker = self.surroundings.people.get(line.speaker_id)
            if line.text == f"Tag, {self.entity_id}!" and speaker and distance(speaker.at, self.at) <= 2:
                self._down_until = self.tick + DOWN_TICKS
                self._safe_until = self._down_until + SAFE_TICKS

    # Conditions

    def _is_ours(self, at: Tile) -> bool:
        return (at[0] < self._middle) is self._west

    def _opponents(self) -> Iterator[Person]:
        """Yield the opponents in sight who are on their feet, the nearest first."""
        for person in self.surroundings.near(self.at, 99):
            if person.type != self.team and not person.status & BodyStatus.ASLEEP:
                yield person

    def _homes(self) -> set[Tile]:
        return {thing.at for thing in self.surroundings.things_of(f"{self.team}_home")}

    @condition
    def guards(self) -> bool:
        """Return whether it stays in its own half."""
        return self._is_guard

    @condition
    def down(self) -> bool:
        """Return whether it was tagged and has to lie down."""
        return self.tick < self._down_until

    @condition
    def laden(self) -> bool:
        """Return whether it has enough to go home with, or something and an opponent near."""
        gems = self.carries(GEM)
        near = next(self._opponents(), None)
        return gems >= ENOUGH or (gems > 0 and near is not None and distance(near.at, self.at) <= DANGER_STEPS)

    # Actions

    @action
    def lie_down(self) -> Status:
        """Let go of everything and lie down."""
        gems = self.carries(GEM)
        return self.do(Drop(GEM, gems)) if gems else self.sleep()

    @action
    def tag(self) -> Status:
        """Tag an opponent right beside it that is in the wrong half."""
        for person in self._opponents():
            if distance(person.at, self.at) > 1:
                break
            if self._is_ours(person.at) and self._may_tag(person):
                self._tagged[person.entity_id] = self.tick
                return self.do(self.speech.say(self.tick, f"Tag, {person.entity_id}!", to=person.entity_id))
        return Status.FAILURE

    def _may_tag(self, person: Person) -> bool:
        last = self._tagged.get(person.entity_id)
        return last is None or self.tick - last > DOWN_TICKS + SAFE_TICKS

    @action
    def bring_home(self) -> Status:
        """Carry gems to one of the team's home tiles, and lay them down there."""
        if self.at in self._homes():
            return self.do(Drop(GEM, self.carries(GEM)))
        return self.go_to(f"{self.team}_home")

    @action
    def chase(self) -> Status:
        """Run after an opponent in its own half."""
        for person in self._opponents():
            if self._is_ours(person.at) and self._may_tag(person):
                return self.walk(person.at, beside=True)
        return Status.FAILURE

    @action
    def collect(self) -> Status:
        """Get a gem that is not at home already; guards leave those in the other half."""
        place = self.surroundings.nearest(self._gems(), self.at)
        if place is None:
            return Status.FAILURE
        return self.do(Pickup(GEM, ENOUGH)) if place.at == self.at else self.walk(place.at)

    def _gems(self) -> Iterator[Thing]:
        homes, taken = self._homes(), self.surroundings.occupied
        for thing in self.surroundings.things_with(GEM):
            wanted = thing.at not in homes and (not self._is_guard or self._is_ours(thing.at))
            if wanted and thing.at not in taken and self.reachable(thing):
                yield thing

    @action
    def stand_guard(self) -> Status:
        """Stay near its home."""
        home = self.surroundings.nearest(self.surroundings.things_of(f"{self.team}_home"), self.at)
        if home is not None and distance(home.at, self.at) > GUARD_STEPS:
            return self.walk(home.at, beside=True)
        return self.wander()

    @action
    def raid(self) -> Status:
        """Go to where the others keep their gems."""
        homes = [
            thing
            for thing in self.surroundings.things.values()
            if thing.seen.kind.endswith("_home") and thing.at not in self._homes() and distance(thing.at, self.at) > 3
        ]
        home = self.surroundings.nearest(homes, self.at)
        return Status.FAILURE if home is None else self.walk(home.at, beside=True)


if __name__ == "__main__":
    ArenaPlayer.run()
