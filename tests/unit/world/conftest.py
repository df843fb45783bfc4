"""Small worlds to hold rules against: digits are actors, letters are objects."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import strategies as st

from tickmind.protocol import (
    Direction,
    Drop,
    Give,
    Intent,
    Interact,
    Move,
    Pickup,
    Say,
    Sleep,
    TickRecord,
    Use,
    Wait,
    Wake,
)
from tickmind.world import TileWorld, parse_scenario

SCENARIO = """
world: test
seed: 5
rules: {rules}
floors:
  grass: {{}}
  water: {{walkable: false, hazards: [deep]}}
  rock: {{walkable: false, opaque: true}}
items:
  axe: {{}}
  berries: {{use: {{hunger: -100, energy: 10}}}}
  coin: {{}}
  plank: {{}}
  wood: {{}}
kinds:
  bed: {{tags: [furniture]}}
  bush: {{stock: {{item: berries, most: 3, ticks: 4}}}}
  door:
    states:
      closed: {{walkable: false, opaque: true, actions: {{open: {{to: open}}}}}}
      open: {{actions: {{close: {{to: closed}}}}}}
  tree:
    states:
      standing:
        walkable: false
        opaque: true
        actions:
          chop: {{to: stump, work: 3, yields: {{wood: 2}}}}
          fell: {{to: stump, needs: {{axe: 1}}, yields: {{wood: 2}}}}
      stump: {{change: {{to: standing, ticks: 5}}}}
  chest:
    states:
      closed: {{walkable: false, actions: {{open: {{to: open, work: 2, yields: {{coin: 5}}}}}}}}
      open: {{walkable: false}}
  bench:
    states:
      ready:
        walkable: false
        actions: {{saw: {{work: 2, needs: {{axe: 1}}, consumes: {{wood: 2}}, yields: {{plank: 3}}}}}}
map: |
{map}
legend:
  ".": grass
  "~": water
  "#": rock
  "B": {{floor: grass, object: bed}}
  "b": {{floor: grass, object: bush}}
  "D": {{floor: grass, object: door}}
  "O": {{floor: grass, object: door, state: open}}
  "T": {{floor: grass, object: tree}}
  "C": {{floor: grass, object: chest}}
  "W": {{floor: grass, object: bench}}
  "g": {{floor: grass, ground: {{berries: 2, coin: 1}}}}
{actors}
"""


class Play:
    """A world with names: `play.step(a=Move(...))`-like steps by digit, and questions in words."""

    def __init__(self, world: TileWorld) -> None:
        self.world = world

    def step(self, intents: dict[int, Intent] | None = None, *, uncontrolled: tuple[int, ...] = ()) -> TickRecord:
        """Resolve one tick; digits are actors."""
        rows = {self.row(digit): intent for digit, intent in (intents or {}).items()}
        controlled = None
        if uncontrolled:
            controlled = np.ones(len(self.world.info.actors), dtype=np.bool_)
            controlled[[self.row(digit) for digit in uncontrolled]] = False
        return self.world.step(rows, controlled)

    def row(self, digit: int) -> int:
        """The row of a digit."""
        row = self.world.row_of(f"entity:{digit}")
        assert row is not None
        return row

    def do(self, digit: int, intent: Intent) -> SimpleNamespace:
        """One actor does something, and the others wait: what came of it."""
        record = self.step({digit: intent})
        result = record.result_at(0)
        effects = {effect.name: effect.value for effect in result.effects}
        return SimpleNamespace(ok=result.ok, reason=result.reason, effects=effects, record=record, result=result)

    def me(self, digit: int):
        """How an actor perceives itself."""
        return self.look(digit).me

    def look(self, digit: int):
        """What an actor perceives."""
        return self.world.observe([self.row(digit)])[0]

    def at(self, digit: int) -> tuple[int, int]:
        """Where an actor is."""
        me = self.me(digit)
        return me.x, me.y

    def has(self, digit: int) -> dict[str, int]:
        """What an actor carries."""
        return {stack.kind: stack.quantity for stack in self.me(digit).inventory}


@pytest.fixture(scope="session")
def scenario_text() -> Callable[..., str]:
    """Draws a scenario: digits on the map are actors."""

    def make(drawing: str, *, rules: str = "{}", carry: dict[int, str] | None = None, state: str = "") -> str:
        lines = [line.strip() for line in drawing.strip().splitlines()]
        digits = sorted({sign for line in lines for sign in line if sign.isdigit()})
        entries = [
            f'  "{digit}": {{floor: grass, actor: {{id: "entity:{digit}", type: villager, tags: [npc], '
            f"inventory: {(carry or {}).get(int(digit), '{}')}{state}}}}}"
            for digit in digits
        ]
        text = "\n".join(f"  {line}" for line in lines)
        return SCENARIO.format(rules=rules, map=text, actors="\n".join(entries))

    return make


@pytest.fixture(scope="session")
def play(scenario_text) -> Callable[..., Play]:
    """Makes a world from a drawing."""
    return lambda *args, **kwargs: Play(TileWorld.from_scenario(parse_scenario(scenario_text(*args, **kwargs))))


CROWD = """
    123..T..
    4b5.D.O.
    6Bg~#.gC
    78W.....
"""
NEEDS = "{inventory_limit: 6, needs: {hunger_per_tick: 60, energy_per_tick: 40, rest_per_tick: 90, wake_energy: 100}}"


@pytest.fixture(scope="session")
def crowd(scenario_text):
    """A scenario of eight actors with a bit of everything around them."""
    return parse_scenario(
        scenario_text(
            CROWD, rules=NEEDS, carry={1: "{coin: 3, axe: 1}", 7: "{axe: 1, wood: 5}", 8: "{axe: 1, wood: 4}"}
        )
    )


def _ticks():
    items = st.sampled_from(["berries", "coin", "wood", "plank", "axe", "gold"])
    amounts = st.integers(-1, 4)
    actors = st.integers(1, 9).map("entity:{}".format)
    objects = st.sampled_from(["tree:1", "door:1", "door:2", "chest:1", "bench:1", "bench:1", "bed:1", "nothing:1"])
    verbs = st.sampled_from(["", "open", "close", "chop", "fell", "saw", "eat"])
    intents = st.one_of(
        st.sampled_from(Direction).map(Move),
        st.sampled_from(Direction).map(Move),
        st.builds(Pickup, items, amounts),
        st.builds(Drop, items, amounts),
        st.builds(Give, actors, items, amounts),
        st.builds(Interact, objects, verbs),
        st.builds(Use, items, amounts),
        st.builds(Say, st.text(max_size=5)),
        st.sampled_from([Wait(), Sleep(), Wake()]),
    )
    controlled = st.lists(st.booleans(), min_size=8, max_size=8).map(lambda bits: np.array(bits, dtype=np.bool_))
    tick = st.tuples(st.dictionaries(st.integers(0, 7), intents, max_size=8), controlled)
    return st.lists(tick, min_size=1, max_size=12)


TICKS = _ticks()


@pytest.fixture(scope="session")
def any_ticks():
    """A function that draws the inputs of some ticks of the crowd, for tests with `st.data()`."""
    return lambda data: data.draw(TICKS)
