"""Ways over floors that cost more than a tick: slow, harmful and hazardous ones."""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.agent.character.body import Body
from tickmind.agent.control.columns import ColumnReader
from tickmind.agent.knowledge import TileMemory, distance, find_path
from tickmind.agent.knowledge.floor_costs import FloorCosts, step_cost
from tickmind.agent.knowledge.paths import MAX_TILES_TRIED
from tickmind.agent.minds import Start
from tickmind.ai import Status
from tickmind.protocol import FloorInfo, RunInfo, VisibleTiles
from tickmind.world import TileWorld, parse_scenario

FLOORS = (
    FloorInfo("grass", True, False),
    FloorInfo("wall", False, True),
    FloorInfo("sand", True, False, step_ticks=3),
    FloorInfo("heat", True, False, energy=-4, hunger=2),
    FloorInfo("lava", True, False, ("fire",)),
)
SIGNS = ".#shl"
LOSS = (1, 1, 3, 7, 10**9 + 1)


class Land:
    """A drawing that is seen at once, from a corner of a window that is as large as it must be."""

    def __init__(self, *rows):
        self.rows = rows
        radius = max(len(rows), *map(len, rows))
        side = 2 * radius + 1
        visible = walkable = 0
        floors = bytearray(side * side)
        for y, row in enumerate(rows):
            for x, sign in enumerate(row):
                place = (y + radius) * side + x + radius
                code = SIGNS.index(sign)
                visible |= 1 << place
                walkable |= FLOORS[code].walkable << place
                floors[place] = code
        size = (side * side + 7) // 8
        masks = visible.to_bytes(size, "little"), walkable.to_bytes(size, "little")
        self.tiles, self.costs = TileMemory(), FloorCosts(FLOORS)
        self.tiles.see(VisibleTiles(radius, 0, 0, *masks))
        self.costs.see(VisibleTiles(radius, 0, 0, *masks, bytes(floors)))

    def way(self, start, goal, **given):
        return find_path(self.tiles, start, goal, costs=self.costs, **given)

    def cost(self, way):
        return sum(LOSS[SIGNS.index(self.rows[y][x])] for x, y in way)


def test_the_cost_of_a_step_is_its_time_and_its_harm():
    assert [step_cost(floor) for floor in FLOORS] == list(LOSS)
    assert step_cost(FloorInfo("spring", True, False, energy=9, hunger=-9, own_needs=(("joy", 5),))) == 1
    assert step_cost(FloorInfo("marsh", True, False, step_ticks=2, own_needs=(("warmth", -5), ("joy", 3)))) == 12
    assert [floor.hinders for floor in FLOORS] == [False, False, True, True, True]
    assert not FloorInfo("sea", False, False, ("deep",)).hinders


def test_a_detour_is_taken_when_it_is_shorter_in_time():
    wide = Land(".sss.", ".....")
    assert wide.way((0, 0), (4, 0)) == [(1, 1), (2, 1), (3, 1), (4, 0)]
    one_way_round = Land(".s.", ".#.", ".#.", "...")
    assert one_way_round.way((0, 0), (2, 0)) == [(1, 0), (2, 0)]  # four ticks instead of eight


def test_hazards_are_crossed_only_where_there_is_no_other_way():
    around = Land(".l.", ".#.", ".#.", ".#.", ".s.", ".h.", "...")
    way = around.way((0, 0), (2, 0))
    assert (1, 0) not in way
    assert (1, 4) in way
    only = Land(".l.", ".#.", "##.")
    assert only.way((0, 0), (2, 0)) == [(1, 0), (2, 0)]
    assert Land(".ll.", ".#l.").way((0, 0), (3, 0)) == [(1, 0), (2, 0), (3, 0)]


def test_where_the_cheapest_way_takes_too_long_to_find_a_shortest_one_is_taken():
    field = Land(".l" + "." * 30, *["." * 32] * 20)
    most = MAX_TILES_TRIED.at(31)
    assert field.cost(field.way((0, 0), (31, 0))) == 31
    lake = Land("." + "l" * 30 + ".", *["." + "l" * 30 + "."] * 3, "." * 32)
    assert lake.cost(lake.way((0, 0), (31, 0))) < 10**9
    assert len(lake.way((0, 0), (31, 0), max_tiles=most)) == 31


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(alphabet="...#shl", min_size=6, max_size=6), min_size=2, max_size=6),
    st.tuples(st.integers(0, 5), st.integers(0, 5)),
    st.booleans(),
)
def test_no_way_is_cheaper_than_the_one_that_is_found(rows, goal, beside):
    rows = ["." + rows[0][1:], *rows[1:]]
    land = Land(*rows)
    cheapest = dijkstra(rows, (0, 0))
    ends = [cost for tile, cost in cheapest.items() if (distance(tile, goal) <= 1 if beside else tile == goal)]
    way = land.way((0, 0), goal, beside=beside)
    assert (way is None) is (not ends)
    if way is not None:
        assert land.cost(way) == min(ends)
        for before, after in zip([(0, 0), *way], way, strict=False):
            assert distance(before, after) == 1
    unseen = FloorCosts(FLOORS)
    assert not unseen
    plain = find_path(land.tiles, (0, 0), goal, beside=beside)
    assert find_path(land.tiles, (0, 0), goal, beside=beside, costs=unseen) == plain


def dijkstra(rows, start):
    """The lowest cost of each tile that can be reached."""
    free = {(x, y): LOSS[SIGNS.index(sign)] for y, row in enumerate(rows) for x, sign in enumerate(row) if sign != "#"}
    best, waiting = {}, [(0, start)]
    while waiting:
        cost, (x, y) = heapq.heappop(waiting)
        if (x, y) in best:
            continue
        best[x, y] = cost
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                new = (x + dx, y + dy)
                if new in free and not (dx and dy and not ((x + dx, y) in free and (x, y + dy) in free)):
                    heapq.heappush(waiting, (cost + free[new], new))
    return best


MARSH = """\
world: marsh
rules: {needs: true, sight_radius: 3}
floors: {grass: {}, swamp: {hazards: [mud], each_tick: {energy: -5}}, sand: {step_ticks: 3}}
map: |
  1ww..
  .ss.w
  .....
legend: {".": grass, w: swamp, s: sand, "1": {floor: grass, actor: {id: ada}}}
"""


def test_hosts_of_many_see_the_floors_that_others_see():
    world = TileWorld.from_scenario(parse_scenario(MARSH))
    (seen,) = world.observe([0])
    assert set(seen.visible_tiles.floors) == {0, 1, 2}
    (packed,) = ColumnReader(world.info).read(world.observe_columns(np.array([0], dtype=np.int32)))
    assert packed.visible_tiles == seen.visible_tiles


@pytest.mark.parametrize(("floors", "told"), [("sand: {step_ticks: 2}", True), ("sea: {walkable: false}", False)])
def test_minds_are_told_of_floors_only_where_ways_depend_on_them(floors, told):
    text = f"world: w\nfloors: {{grass: {{}}, {floors}}}\nmap: {{width: 3, height: 3, floor: grass}}\n"
    info = TileWorld.from_scenario(parse_scenario(text)).info
    assert info.describe(RunInfo(), ()).floors == (info.floors if told else ())


def test_a_character_goes_around_what_it_sees_to_be_slow_or_harmful():
    world = TileWorld.from_scenario(parse_scenario(MARSH))
    ada = Body(Start("ada").in_run(world.info.describe(RunInfo(), ())))
    trod = []
    while (world.view().actors.x[0], world.view().actors.y[0]) != (3, 0):
        ada.take_in(world.observe([0])[0])
        assert ada.walk((3, 0)) is Status.RUNNING
        world.step({0: ada.intent})
        trod.append((int(world.view().actors.x[0]), int(world.view().actors.y[0])))
    assert len(trod) == 5
    codes = {world.info.floor_codes[y * world.info.width + x] for x, y in trod}
    assert codes == {0}
