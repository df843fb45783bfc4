"""Another who stands in the only way is waited for, for a moment."""

import random

from tickmind.agent import Character, CharacterHost, Settings, Start, action
from tickmind.agent.character.body import PASSAGE_TICKS
from tickmind.ai import Action, Status
from tickmind.protocol import Direction, Move
from tickmind.world import TileWorld, parse_scenario

CORRIDOR = """
world: corridor
seed: 1
rules: {world_version: "1.1.0", tick_duration_ms: 100, intent_deadline_ms: 50, sight_radius: 12}
floors: {grass: {}, water: {walkable: false}}
legend: {".": {floor: grass}, "~": {floor: water}}
actors:
  - {id: ada, type: villager, at: [0, 1]}
  - {id: bram, type: villager, at: [3, 1]}
map: |
  ~~~~~~~~
  .......~
  ~~~~.~~~
"""
GOAL = (6, 1)


class Walker(Character):
    """Goes to the end of the corridor, and keeps what came of each step."""

    tree = Action("go")

    def __init__(self, start):
        super().__init__(start)
        self.statuses = []

    @action
    def go(self):
        """Take a step."""
        self.statuses.append(self.walk(GOAL))
        return Status.RUNNING


def walked(ticks, bram_moves):
    """Return what came of Ada's steps while Bram moves in some ticks."""
    world = TileWorld.from_scenario(parse_scenario(CORRIDOR))
    host = CharacterHost(Walker, lambda who: Start(who, Settings(), random.Random(who)))
    for tick in range(ticks):
        (seen,) = world.observe([0])
        host.begin(world.tick_id, [seen])
        host.perceive(seen)
        intents = {0: host.act(seen)}
        if tick in bram_moves:
            intents[1] = Move(bram_moves[tick])
        world.step(intents)
        host.reflect(tick)
    statuses = host.character("ada").statuses
    host.close()
    return statuses, (int(seen.me.x), int(seen.me.y))


def test_one_who_steps_aside_is_waited_for():
    statuses, at = walked(14, {4: Direction.E, 5: Direction.S})
    assert Status.FAILURE not in statuses
    assert at == GOAL


def test_one_who_stays_is_waited_for_no_longer_than_a_moment():
    statuses, at = walked(14, {})
    assert at == (2, 1)
    first = statuses.index(Status.FAILURE)
    assert first <= 2 + PASSAGE_TICKS + 1


def test_where_there_is_no_way_at_all_nothing_is_waited_for():
    world = TileWorld.from_scenario(parse_scenario(CORRIDOR.replace(".......~", "..~....~")))
    host = CharacterHost(Walker, lambda who: Start(who, Settings(), random.Random(who)))
    for _ in range(3):
        (seen,) = world.observe([0])
        host.begin(world.tick_id, [seen])
        host.perceive(seen)
        world.step({0: host.act(seen)})
    assert Status.FAILURE in host.character("ada").statuses[:2]
    host.close()
