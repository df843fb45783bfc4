"""A small world for tests of servers and agents."""

import math
import random

from tickmind.world import Scenario, parse_scenario

_MEADOW = """
world: meadow
seed: {seed}
rules:
  tick_duration_ms: {tick_ms}
  intent_deadline_ms: {deadline_ms}
  sight_radius: {radius}
  hearing_radius: {radius}
floors:
  grass: {{}}
  rock: {{walkable: false, opaque: true}}
items:
  berries: {{use: {{hunger: -100}}}}
kinds:
  bed: {{tags: [furniture]}}
  bush: {{stock: {{item: berries, most: 3, ticks: 20}}}}
  door:
    states:
      closed: {{walkable: false, opaque: true, actions: {{open: {{to: open}}}}}}
      open: {{actions: {{close: {{to: closed}}}}}}
map: |
{map}
legend:
  ".": grass
  "#": rock
  "b": {{floor: grass, object: bush}}
  "B": {{floor: grass, object: bed}}
  "D": {{floor: grass, object: door}}
actors:
  - {{count: {actors}, type: villager, tags: [npc]}}
"""


def meadow(
    actors: int,
    *,
    side: int | None = None,
    radius: int = 8,
    rocks: float = 0.05,
    tick_ms: int = 1000,
    deadline_ms: int | None = None,
    seed: int = 1,
) -> Scenario:
    """Return an open field with rocks, bushes, beds and doors; at most one actor on ten tiles.

    The same arguments give the same field.
    """
    side = side or max(12, math.ceil(math.sqrt(actors * 10)))
    dice = random.Random(seed)
    letters = "#bBD."
    weights = (rocks, 0.01, 0.005, 0.005, 1 - rocks - 0.02)
    lines = ["".join(dice.choices(letters, weights, k=side)) for _ in range(side)]
    text = _MEADOW.format(
        seed=seed,
        tick_ms=tick_ms,
        deadline_ms=deadline_ms or max(1, tick_ms // 2),
        radius=radius,
        map="\n".join(f"  {line}" for line in lines),
        actors=actors,
    )
    return parse_scenario(text)
