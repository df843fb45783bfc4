"""A gift is for one that stands still: who walks on is followed, and nothing is held out to where it was."""

import random

from tickmind.agent import CharacterHost, Settings, Start, action
from tickmind.ai import Action, Selector, Status
from tickmind.characters.villager import Villager
from tickmind.protocol import ActionType, Direction, Give, Move
from tickmind.world import TileWorld, parse_scenario

LANE = """
world: lane
seed: 1
rules: {world_version: "1.1.0", tick_duration_ms: 100, intent_deadline_ms: 50, sight_radius: 12}
floors: {grass: {}}
items: {bread: {use: {hunger: -100}}}
legend: {".": {floor: grass}}
actors:
  - {id: ada, type: villager, at: [0, 1], inventory: {bread: 2}}
  - {id: bram, type: villager, at: [1, 1]}
map: |
  ............
  ............
  ............
"""


class Giver(Villager):
    """Goes up to Bram, and gives him bread."""

    tree = Selector(Action("present"), Action("wait"), memory=False)

    @action
    def present(self) -> Status:
        """Give bread when Bram is reached."""
        bram = self.surroundings.people.get("bram")
        if bram is None or not self.carries("bread"):
            return Status.FAILURE
        status = self.go_up_to(bram)
        return self.do(Give("bram", "bread")) if status is Status.SUCCESS else status


def test_one_that_walks_is_followed_and_gets_its_gift_when_it_stands_still():
    world = TileWorld.from_scenario(parse_scenario(LANE))
    host = CharacterHost(Giver, lambda who: Start(who, Settings({"food": ["bread"]}), random.Random(who)))
    gave = []
    for tick in range(14):
        (seen,) = world.observe([0])
        host.begin(world.tick_id, [seen])
        host.perceive(seen)
        intents = {0: host.act(seen)}
        if tick < 6:
            intents[1] = Move(Direction.E)
        record = world.step(intents)
        host.reflect(record.tick_id)
        gave += [
            (tick, result.ok, result.reason)
            for result in record.action_results()
            if result.action_type is ActionType.GIVE
        ]
    host.close()
    assert len(gave) == 2  # both breads, one after the other
    assert all(ok for _, ok, _ in gave), gave
    assert gave[0][0] >= 6
