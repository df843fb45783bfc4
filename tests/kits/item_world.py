"""A small world with items, whose ticks are recorded with their real intents."""

from pathlib import Path

from tickmind.protocol import Drop, Give, Intent, Interact, Move, Pickup, Say, TickRecord, Use
from tickmind.protocol.direction import Direction
from tickmind.record import LogOptions, RunStore, SyncPolicy
from tickmind.world import TileWorld, parse_scenario

QUICK = LogOptions(sync=SyncPolicy.NEVER)
ITEM_WORLD = """
world: items
seed: 5
floors:
  grass: {}
items:
  berries: {use: {hunger: -100, energy: 10}}
  coin: {}
  wood: {}
kinds:
  bush: {stock: {item: berries, most: 3, ticks: 4}}
  chest:
    states:
      closed: {walkable: false, actions: {open: {to: open, yields: {coin: 5}}}}
      open: {walkable: false}
map: |
  ......
  .12B..
  ..C..3
legend:
  "1": {floor: grass, actor: {id: "entity:1", type: villager, inventory: {berries: 2, coin: 3}}}
  "2": {floor: grass, actor: {id: "entity:2", type: villager}}
  "3": {floor: grass, actor: {id: "entity:3", type: villager, inventory: {wood: 1}}}
  "B": {floor: grass, object: bush}
  "C": {floor: grass, object: chest}
  ".": grass
"""
SCRIPT: tuple[dict[str, Intent], ...] = (
    {"entity:1": Give("entity:2", "coin", 2), "entity:3": Drop("wood")},
    {"entity:1": Give("entity:3", "coin", 1), "entity:2": Interact("chest:1", "open"), "entity:3": Say("hello")},
    {"entity:1": Use("berries"), "entity:2": Move(Direction.E), "entity:3": Pickup("wood", 4)},
    {"entity:2": Pickup("berries", 2), "entity:3": Interact("chest:1")},
    {"entity:1": Give("entity:99", "nothing", 1), "entity:3": Interact("nowhere", "sing")},
)


def play(script: tuple[dict[str, Intent], ...] = SCRIPT) -> tuple[TileWorld, list[TickRecord]]:
    """Step a new world through a script; returns it with its ticks."""
    world = TileWorld.from_scenario(parse_scenario(ITEM_WORLD, "items.yaml"))
    rows = {actor.entity_id: row for row, actor in enumerate(world.info.actors)}
    return world, [world.step({rows[name]: intent for name, intent in asked.items()}) for asked in script]


def record_script(root: Path, *, seal: bool = True, run_id: str = "items") -> tuple[RunStore, list[TickRecord]]:
    """Record the script as a run; returns its store and ticks."""
    world, records = play()
    store = RunStore(root)
    log = store.create(world.info, run_id, options=QUICK)
    for record in records:
        log.publish(record)
    log.close(seal=seal)
    return store, records
