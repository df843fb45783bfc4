"""`FullVillager`: a villager whose memory is at its budget from the beginning, and a village where each has a persona.

`python -m benchmarks.full_villager` is the program; its villagers begin with all that a mind may hold.
"""

import random

from benchmarks.mind import PLACES, THINGS
from tickmind.agent import Start
from tickmind.characters.villager import Villager
from tickmind.mind.memory import EntryKind, Memory
from tickmind.mind.memory.memory import MAX_ENTRIES
from tickmind.world.generators import generate_village

TREES = ("oak", "elm", "ash", "birch", "lime", "pear", "yew")
PARTS = ("row", "lane", "yard", "green", "end", "hill", "side")
FIRST, SECOND = ("Ba", "Ce", "Di", "Fo", "Gu", "Ha", "Je", "Ki", "Lo", "Mu"), ("da", "len", "ri", "mo", "sut")
THIRD = ("", "na", "ro", "bel", "vin", "ka", "mir", "tu", "ses", "li")
TRAITS = ("warm", "brisk", "quiet", "stubborn", "curious", "dry", "fair", "cheerful", "gruff", "gentle")
TIES = ("a cousin", "the best friend", "a housemate", "a rival")
KNOWN = 12  # acquaintances of each
INSIGHTS, DEEDS = 40, 60  # entries of these kinds; the others are of what was heard
SIDE = 140
_CALENDAR = """\
calendar:
  day_ticks: 600
  begins: "07:00"
  night: ["21:00", "06:00"]
  weather: {sun: 4, cloud: 3, rain: 2}
"""


def name_of(number: int) -> str:
    """Return the name of a villager; the first 500 differ."""
    return f"{FIRST[number % 10]}{SECOND[number // 10 % 5]}{THIRD[number // 50 % 10]}"


def peopled_village(villagers: int) -> str:
    """Return the scenario of a village in which each has a persona, relations, a home, work and a day of its own."""
    step = SIDE // len(TREES)
    zones = [f"{tree}_{part}" for tree in TREES for part in PARTS]
    areas = [
        f"  {tree}_{part}: {{within: [{x * step}, {y * step}, {x * step + step - 1}, {y * step + step - 1}]}}"
        for x, tree in enumerate(TREES)
        for y, part in enumerate(PARTS)
    ]
    chance = random.Random(7)
    people = [_persona(number, villagers, zones, chance) for number in range(villagers)]
    village = generate_village(7, width=SIDE, height=SIDE, houses=60, actors=villagers)
    head, _, rest = village.partition("\nactors:")
    sections = ["zones:", *areas, _CALENDAR, "personas:", *people]
    return f"{head}\n" + "\n".join(sections) + f"\nactors:{rest}"


def _persona(number: int, villagers: int, zones: list[str], chance: random.Random) -> str:
    others = dict.fromkeys((number + chance.randrange(1, villagers)) % villagers + 1 for _ in range(3))
    relations = ", ".join(f'"entity:{other}": {chance.choice(TIES)}' for other in others)
    home, work = chance.choice(zones), chance.choice(zones)
    facts = f'"{chance.choice(THINGS).capitalize()} can be had at {chance.choice(PLACES)}."'
    return (
        f'  "entity:{number + 1}": {{name: {name_of(number)}, age: {chance.randrange(18, 80)}, '
        f"traits: [{', '.join(chance.sample(TRAITS, 2))}], goals: [to have {chance.choice(THINGS)}], "
        f"fears: [to lose {chance.choice(THINGS)}], knows: [{facts}], home: {home}, work: {work}, "
        f'voice: "short and warm", backstory: "One of many.", secret: "I hid a coin at {chance.choice(PLACES)}.", '
        f"relations: {{{relations}}}}}"
    )


def fill(memory: Memory, people: list[tuple[str, str]], chance: random.Random) -> None:
    """Bring a memory to its budget: what some people said, what was done with them, and insights from that.

    A memory at its budget forgets a tenth at once, so it begins anywhere between: else all would forget in one tick.
    """
    most = int(MAX_ENTRIES.maximum)
    full = most - INSIGHTS - chance.randrange(most // 10)
    for number in range(20 * most):
        if len(memory) >= full:
            break
        who, name = chance.choice(people)
        thing, place = chance.choice(THINGS), chance.choice(PLACES)
        if number < DEEDS:
            text = f"I gave {thing} to {name} at {place}."
            memory.note(0, text, kind=EntryKind.GAVE, about=(thing, who), place=place)
        else:
            text = f"{name} spoke of {thing} at {place} on day {chance.randrange(99)}."
            memory.note(0, text, kind=EntryKind.HEARD, about=who, place=place, told_by=who)
    grounds = [entry.number for entry in memory]
    for number in range(INSIGHTS):
        who, name = chance.choice(people)
        text = f"{name} is most often at {chance.choice(PLACES)}, as I have seen {number + 2} times."
        memory.note(0, text, kind=EntryKind.INSIGHT, about=who, evidence=tuple(chance.sample(grounds, 2)))


class FullVillager(Villager):
    """Begins with a memory at its budget, and knows twelve others besides those of its persona."""

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        number = int(start.entity_id.rpartition(":")[2])
        chance = random.Random(number)
        others = [(f"entity:{other}", name_of(other - 1)) for other in chance.sample(range(1, 500), KNOWN)]
        for who, name in others:
            self.talker.people.meet(who, name).heard = True
        fill(self.memory, others, chance)


if __name__ == "__main__":
    FullVillager.run()
