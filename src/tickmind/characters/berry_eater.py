"""Looks for berries, eats when hungry, and says hello: one function and no memory."""

from tickmind.agent import agent
from tickmind.agent.knowledge import direction_to, distance, find_path
from tickmind.protocol import ActorStatus, Direction, Entered, Intent, Move, Observation, Pickup, Say, Use, Wait, Wake

HUNGRY = 200
ENOUGH = 5  # berries to carry
TURNS = (0, 1, 7, 2, 6, 3, 5, 4)  # straight on, else as little to the side as can be


@agent
def berry_eater(observation: Observation) -> Intent:
    """Decide by what is in sight now."""
    me, tiles = observation.me, observation.visible_tiles
    at = (me.x, me.y)
    berries = sum(stack.quantity for stack in me.inventory if stack.kind == "berries")
    others = {(other.x, other.y) for other in observation.visible_entities}

    if me.status & ActorStatus.ASLEEP:  # exhausted actors fall asleep; the world refuses to wake them too early
        return Wake()
    if any(isinstance(event, Entered) for event in observation.events):
        return Say("Hello there!")
    if me.hunger >= HUNGRY and berries:
        return Use("berries")

    bushes = [
        (thing.x, thing.y)
        for thing in observation.visible_objects
        if any(stack.kind == "berries" for stack in thing.items)
    ]
    if at in bushes and berries < ENOUGH:
        return Pickup("berries")
    for bush in sorted(bushes, key=lambda bush: distance(at, bush)) if berries < ENOUGH else ():
        way = find_path(tiles, at, bush, avoid=others)
        if way:
            return Move(direction_to(at, way[0]))

    # Nothing to fetch in sight: go straight on, and turn where it does not go on.
    for turn in TURNS:
        heading = Direction((me.facing + turn) % 8)
        step = (me.x + heading.dx, me.y + heading.dy)
        if not heading.diagonal and tiles.can_walk(*step) and step not in others:
            return Move(heading)
    return Wait()


if __name__ == "__main__":
    berry_eater.run()
