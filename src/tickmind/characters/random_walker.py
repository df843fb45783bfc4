"""Goes about at random: the least that an agent can be."""

from tickmind.agent import Start, agent
from tickmind.protocol import ActorStatus, Direction, Intent, Move, Observation, Wait, Wake


class RandomWalker:
    """Take a step to any free tile beside it, and get up when it has fallen asleep."""

    def __init__(self, start: Start) -> None:
        self._random = start.random

    def act(self, observation: Observation) -> Intent:
        """Choose a random step."""
        me, tiles = observation.me, observation.visible_tiles
        if me.status & ActorStatus.ASLEEP:
            return Wake()
        taken = {(other.x, other.y) for other in observation.visible_entities}
        ways = [
            way
            for way in Direction
            if not way.diagonal
            and tiles.can_walk(me.x + way.dx, me.y + way.dy)
            and (me.x + way.dx, me.y + way.dy) not in taken
        ]
        return Move(self._random.choice(ways)) if ways else Wait()


if __name__ == "__main__":
    agent(RandomWalker).run()
