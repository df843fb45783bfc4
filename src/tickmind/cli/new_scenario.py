"""The scenario that `tickmind new scenario` writes: small, commented, and alive as it is."""

SCENARIO = """\
# {title}: a baker, her helper, and bread that is made of grain. Start it with `tickmind up {name}.yaml`,
# check it with `tickmind check {name}.yaml`. Everything below is data: change it, and start it again.
world: {name}
seed: 1  # of all chance; --seed goes before it

rules:
  tick_duration_ms: 500
  sight_radius: 10
  inventory_limit: 20
  needs: {{hunger_per_tick: 2, energy_per_tick: 1, starvation: false}}

# When it is: ticks make days. Characters and viewers read the same clock.
calendar: {{day_ticks: 480, begins: "06:00"}}

floors:
  grass: {{}}
  path: {{}}
  planks: {{}}
  water: {{walkable: false}}

# What can be carried. What can be eaten changes a need.
items:
  grain: {{}}
  flour: {{}}
  bread: {{use: {{hunger: -400}}}}
  coin: {{}}

# What stands on the map. `stock` grows back, `actions` are what characters can do there:
# `needs` must be carried and is kept, `consumes` is used up by the last step of the `work`, `yields` comes of it.
kinds:
  bed: {{tags: [furniture]}}
  wall: {{walkable: false, opaque: true}}
  field: {{stock: {{item: grain, most: 3, ticks: 30, spread: 20}}}}
  mill: {{walkable: false, actions: {{grind: {{work: 2, consumes: {{grain: 2}}, yields: {{flour: 1}}}}}}}}
  oven: {{walkable: false, actions: {{bake: {{work: 4, consumes: {{flour: 2}}, yields: {{bread: 3}}}}}}}}
  door:
    states:
      closed: {{walkable: false, opaque: true, actions: {{open: {{to: open}}}}}}
      open: {{actions: {{close: {{to: closed}}}}}}

# Places with names, for minds and viewers: [x, y, x, y] are the north-west and the south-east corner.
zones:
  bakery: {{within: [13, 1, 19, 5], owner: ada, purpose: where bread is made}}
  mill: {{within: [2, 6, 5, 8], purpose: where grain is ground}}
  fields: {{within: [1, 1, 8, 3], purpose: grain for all}}

# Who lives there. A persona belongs to the actor with the same id, or to those that name it with `persona:`.
personas:
  ada:
    name: Ada
    age: 41
    traits: [warm, brisk]
    voice: short sentences, and a joke at the end
    goals: [bread on every table]
    home: bakery
    work: bakery
    relations: {{bo: your helper}}
  bo: {{name: Bo, age: 19, traits: [curious], goals: [a bakery of his own], home: bakery, work: mill}}

legend:
  ".": grass
  ":": path
  "_": planks
  "~": water
  "f": {{floor: grass, object: field}}
  "w": {{floor: planks, object: wall}}
  "+": {{floor: planks, object: door}}
  "B": {{floor: planks, object: bed}}
  "O": {{floor: planks, object: oven}}
  "M": {{floor: path, object: mill}}

map: |
  ......................
  .ffffffff....wwwwwww..
  .........:...wB___Bw..
  .ffffffff:...w__O__w..
  .........:...w_____w..
  ..:::::::::::www+www..
  ..:..:..........:.....
  ..:M.:::::::::::::::..
  ..::::............~~~.
  ..................~~~.

actors:
  - {{id: ada, type: baker, at: [15, 4]}}
  - {{id: bo, type: baker, at: [4, 5]}}

# Which program controls whom. `villager` in place of `crafter` talks, and thinks with a model if there is one.
agents:
  crafter:
    cmd: [python, -m, tickmind.characters.crafter]
    settings: {{makes: [bread], enough: 4, food: [bread]}}

assignments:
  - match: {{type: baker}}
    use: crafter
"""
