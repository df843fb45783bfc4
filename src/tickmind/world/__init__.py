"""The tile world's rules: pure, columnar, without I/O. The same inputs give the same world, byte for byte.

    scenario = load_scenario("clearing.yaml")          # or parse_scenario(text), parse_scenario(generate_village(7))
    world = TileWorld.from_scenario(scenario)          # and its own rules, if it names some: {name: function}

    warm_up()                      compile the inner loops, or load them; once, before the first tick

    world.tick_id                  the tick that the next step() resolves; the first is 1
    world.world_version            the rule set, as a semantic version
    world.info                     WorldInfo: the map and the names behind the numbers
    world.row_of(entity_id)        the actor's row, or None
    world.compile(intents)         {actor row: Intent} -> IntentColumns
    world.step(intents, controlled=None, placements=()) -> TickRecord
        Resolve movement, then actions, then what grows and tires. `intents` is a mapping of rows to Intents, or
        IntentColumns; an actor without one waits. `controlled` is a bool for each row; None means all of them.
        `placements` are orders of operators: actors come into the world and leave it at the end of the tick.
    world.repeat(record) -> bool   resolve a recorded tick again; whether it leads to the recorded state
    world.observe(rows, deadline_ms=None) -> list[Observation]
        What these actors perceive at the start of `world.tick_id`, with the events of the tick before.
    world.observe_columns(rows=None, deadline_ms=None) -> ObservationColumns
        Observations of many or all actors, packed.
    world.look(rows)               compute the sight of many at once, before they are observed in parts
    world.view() -> WorldView      what a viewer shows: actors, objects, and items on the ground
    world.state_hash() -> bytes
    world.snapshot() -> bytes
    world.restore(data)            raises SnapshotMismatchError for another scenario, rule set or format

`CopiedWorld` is many copies of one scenario in one world, each with its own seed, for learners and experiments.

State is columns, one entry for each actor row: x, y, status, facing, energy, hunger, the inventory as a matrix of
actors x item kinds, and own needs as one of actors x needs; and for each object row: kind, x, y, state, work_remaining,
stock.
"""

from tickmind.world.copies.copied_world import CopiedWorld
from tickmind.world.errors import BadIntentsError, OwnRuleError, ScenarioError, SnapshotMismatchError, WorldError
from tickmind.world.generators import generate_caves, generate_island, generate_village
from tickmind.world.kernels import warm_up
from tickmind.world.perception.view import WorldView
from tickmind.world.rules.own_rules import OwnRule, RuleTick
from tickmind.world.scenario.limits import (
    MAX_ACTORS,
    MAX_INVENTORY,
    MAX_MAP_SIDE,
    MAX_OBJECTS,
    MAX_SCENARIO_BYTES,
    MAX_TEXT_CHARS,
)
from tickmind.world.scenario.scenario import Scenario
from tickmind.world.scenario.scenario_reader import load_scenario, parse_scenario
from tickmind.world.scenario.settings import SIGHT_RULES, Needs, OwnNeed, Rules
from tickmind.world.tileworld import TileWorld

__all__ = [
    "MAX_ACTORS",
    "MAX_INVENTORY",
    "MAX_MAP_SIDE",
    "MAX_OBJECTS",
    "MAX_SCENARIO_BYTES",
    "MAX_TEXT_CHARS",
    "SIGHT_RULES",
    "BadIntentsError",
    "CopiedWorld",
    "Needs",
    "OwnNeed",
    "OwnRule",
    "OwnRuleError",
    "RuleTick",
    "Rules",
    "Scenario",
    "ScenarioError",
    "SnapshotMismatchError",
    "TileWorld",
    "WorldError",
    "WorldView",
    "generate_caves",
    "generate_island",
    "generate_village",
    "load_scenario",
    "parse_scenario",
    "warm_up",
]
