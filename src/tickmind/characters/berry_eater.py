"""Looks for berries, eats when hungry, and says hello: one function and no memory."""

from tickmind.agent import agent
from tickmind.agent.knowledge import direction_to, distance, find_path
from tickmind.protocol import Direction, Entered, Intent, Move, Observation, Pickup, Say, Use, Wait

HUNGRY = 200


@agent
def berry_eater(observation: Observation) -> Intent:
    """Decide by what is in sight now."""
    me, tiles = observation.me, observation.visible_tiles
    at = (me.x, me.y)
    berries = sum(stack.quantity for stack in me.inventory if stack.kind == "berries")

    if any(isinstance(event, Entered) for event in observation.events):
        return Say("Hello there!")
    if me.hunger >= HUNGRY and berries:
        return Use("berries")

    bushes = [
        (thing.x, thing.y)
        for thing in observation.visible_objects
        if any(stack.kind == "berries" for stack in thing.items)
    ]
    if at in bushes:
        return Pickup("berries")
    others = {(other.x, other.y) for other in observation.visible_entities}
    for bush in sorted(bushes, key=lambda bush: distance(at, bush)):
        way = find_path(tiles, at, bush, avoid=others)
        if way:
            return Move(direction_to(at, way[0]))

    # Nothing to eat in sight: go straight on, and turn where it does not go on.
    for turn in range(8):
        heading = Direction((me.facing + turn) % 8)
        if not heading.diagonal and tiles.can_walk(me.x + heading.dx, me.y + heading.dy):
            return Move(heading)
    return Wait()


if __name__ == "__main__":
    berry_eater.run()
