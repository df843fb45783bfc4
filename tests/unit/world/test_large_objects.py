"""Objects of several tiles: they block, are seen, reached and shine at all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.agent.control.columns import ColumnReader
from tickmind.agent.knowledge import Surroundings
from tickmind.protocol import Direction, Interact, Move, Pickup, Reason, Take
from tickmind.record import RunStore
from tickmind.world import ScenarioError, TileWorld, parse_scenario

HALL = """\
world: hall
seed: 3
rules: {sight_radius: 3}
floors: {boards: {}, stone: {walkable: false, opaque: true}}
items: {apple: {}, coin: {}}
kinds:
  table: {size: [3, 2], walkable: false, actions: {wipe: {}}}
  screen:
    size: [1, 3]
    states:
      open: {actions: {close: {to: closed}}}
      closed: {walkable: false, opaque: true, actions: {open: {to: open}}}
  orchard: {size: [2, 2], stock: {item: apple, most: 4}}
  trunk: {size: [2, 1], walkable: false, holds: 9}
  rock: {walkable: false}
objects:
  - {kind: table, at: [3, 1]}
  - {kind: screen, at: [8, 0]}
  - {kind: orchard, at: [0, 3]}
  - {kind: trunk, at: [5, 4], contents: {coin: 2}}
  - {kind: rock, at: [9, 4]}
map: {width: 10, height: 5, floor: boards}
actors:
  - {id: ada, at: [0, 0]}
"""


def world_of(text=HALL, at=None):
    return TileWorld.from_scenario(parse_scenario(text if at is None else text.replace("at: [0, 0]", f"at: {at}")))


def result(record):
    return next(iter(record.action_results()))


def tiles_of(world):
    """Object id -> its tiles."""
    sizes = {kind.name: kind.size for kind in world.info.kinds}
    return {
        thing.object_id: [
            (thing.x + dx, thing.y + dy) for dy in range(sizes[thing.kind][1]) for dx in range(sizes[thing.kind][0])
        ]
        for thing in world.info.objects
    }


def test_it_is_in_the_way_at_all_its_tiles():
    world = world_of()
    for x, y in [(x, y) for x in (3, 4, 5) for y in (1, 2)] + [(5, 4), (6, 4)]:
        assert not world._maps.walkable[y, x]
    assert world._maps.walkable.sum() == 50 - 6 - 2 - 1
    for at, way in (("[2, 2]", Direction.E), ("[6, 1]", Direction.W), ("[4, 0]", Direction.S), ("[5, 3]", Direction.N)):
        assert result(world_of(at=at).step({0: Move(way)})).reason is Reason.NOT_WALKABLE


@pytest.mark.parametrize("at", [[x, y] for y in range(5) for x in range(10) if (x, y) not in [(5, 4), (6, 4), (9, 4)]])
def test_it_is_reached_from_beside_any_of_its_tiles(at):
    x, y = at
    if 3 <= x <= 5 and 1 <= y <= 2:
        return
    world = world_of(at=str(at))
    near = min(max(abs(x - tile_x), abs(y - tile_y)) for tile_x, tile_y in tiles_of(world)["table:1"]) <= 1
    assert result(world.step({0: Interact("table:1", "wipe")})).reason is (Reason.NONE if near else Reason.TOO_FAR)
    assert (result(world.step({0: Take("trunk:1", "coin")})).reason is Reason.TOO_FAR) == (
        max(5 - x, x - 6, 4 - y, y - 4) > 1
    )


def test_it_is_seen_by_all_who_see_one_of_its_tiles_and_once():
    world = world_of()
    for x in range(10):
        for y in range(5):
            if not world._maps.walkable[y, x]:
                continue
            one = world_of(at=f"[{x}, {y}]")
            (seen,) = one.observe([0])
            names = [thing.object_id for thing in seen.visible_objects if thing.kind != "ground"]
            expected = {
                name for name, tiles in tiles_of(one).items() if any(seen.visible_tiles.sees(*tile) for tile in tiles)
            }
            assert sorted(names) == sorted(expected)
            assert {thing.size for thing in seen.visible_objects if thing.kind == "table"} <= {(3, 2)}
            assert [one.tiles for one in seen.visible_objects if one.object_id == "trunk:1"] in ([], [((5, 4), (6, 4))])


def test_it_closes_only_where_no_actor_stands_on_any_of_its_tiles():
    for y in range(3):
        world = world_of(at=f"[8, {y}]")
        assert result(world.step({0: Interact("screen:1", "close")})).reason is Reason.TARGET_OCCUPIED
    world = world_of(at="[7, 2]")
    record = world.step({0: Interact("screen:1", "close")})
    assert result(record).ok
    assert world._maps.opaque[:3, 8].all()
    assert not world._maps.walkable[:3, 8].any()
    assert world._maps.opaque.sum() == 3
    world.step({0: Interact("screen:1", "open")})
    assert world._maps.walkable[:3, 8].all()
    assert not world._maps.opaque.any()


def test_its_stock_is_picked_up_on_any_of_its_tiles():
    for at in ("[0, 3]", "[1, 3]", "[0, 4]", "[1, 4]"):
        assert result(world_of(at=at).step({0: Pickup("apple", 2)})).ok
    assert result(world_of(at="[2, 3]").step({0: Pickup("apple", 2)})).reason is Reason.NOTHING_HERE


@pytest.mark.parametrize(("first", "second", "left"), [(1, 1, 2), (2, 2, 0), (3, 4, 0), (9, 9, 0)])
def test_two_that_pick_from_its_stock_at_once_get_no_more_than_there_is(first, second, left):
    world = world_of(f"{HALL}  - {{id: bo, at: [1, 4]}}\n", at="[0, 3]")
    stock = 4
    record = world.step({0: Pickup("apple", first), 1: Pickup("apple", second)})
    got = [sum(effect.value for effect in one.effects) for one in record.action_results()]
    assert got == [min(first, stock), min(second, stock - min(first, stock))]
    assert [delta.new_value for delta in record.object_deltas if delta.field == "stock"] == [left]


def test_it_shines_from_all_its_tiles():
    text = HALL.replace("sight_radius: 3", "sight_radius: 3, night_sight_radius: 0")
    text = text.replace("  rock: {walkable: false}", "  rock: {walkable: false, light: 1, size: [1, 2]}").replace(
        "{kind: rock, at: [9, 4]}", "{kind: rock, at: [9, 3]}"
    )
    text += 'calendar: {day_ticks: 20, begins: "22:00", night: ["21:00", "06:00"]}\n'
    lit = world_of(text)._now.lit
    assert {(x, y) for y, x in np.argwhere(lit).tolist()} == {(x, y) for x in (8, 9) for y in (2, 3, 4)}


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from([*map(Move, Direction), Interact("screen:1")]), min_size=1, max_size=15))
def test_a_host_of_many_sees_what_each_of_them_sees(intents):
    world = world_of(at="[7, 1]")
    reader = ColumnReader(world.info)
    rows = np.zeros(1, dtype=np.int32)
    for intent in intents:
        world.step({0: intent})
        (one,) = reader.read(world.observe_columns(rows))
        (other,) = world.observe([0], floors=False)
        assert (one.visible_objects, one.visible_tiles) == (other.visible_objects, other.visible_tiles)


def test_characters_know_the_whole_of_an_obstacle():
    world = world_of(at="[7, 2]")
    world.step({0: Interact("screen:1", "close")})
    around = Surroundings()
    around.take_in(world.observe([0])[0])
    assert set(around.doors) == {(8, 0), (8, 1), (8, 2)}
    screen = around.things["screen:1"]
    assert (screen.at, screen.steps_from((7, 4)), screen.tiles_from((7, 4))[0]) == ((8, 0), 2, (8, 2))
    world.step({0: Interact("screen:1", "open")})
    around.take_in(world.observe([0])[0])
    assert around.doors == ()


# Scenarios

DRAWN = """\
world: drawn
floors: {boards: {}}
kinds: {table: {size: [2, 2], walkable: false}, rock: {}}
map: |
  TTTT.
  TTTTt
  .....
legend:
  ".": boards
  "T": {floor: boards, object: table}
  "t": {floor: boards, object: rock}
"""


def test_a_sign_may_be_drawn_on_all_its_tiles():
    scenario = parse_scenario(DRAWN)
    tables = [(thing.x, thing.y) for thing in scenario.objects if thing.kind == "table"]
    assert tables == [(0, 0), (2, 0)]
    once = DRAWN.replace("TTTT.\n  TTTTt", "T.T..\n  ....t")
    assert parse_scenario(once).objects == scenario.objects
    two_floors = DRAWN.replace("TTTTt", "TUTUt").replace("floors: {", "floors: {sand: {}, ")
    two_floors += '  "U": {floor: sand, object: table}\n'
    assert parse_scenario(two_floors).objects == scenario.objects


def test_each_tile_of_its_picture_in_tiled_may_have_its_class(tmp_path):
    (tmp_path / "hall.tmx").write_text(
        """<map version="1.8" orientation="orthogonal" width="3" height="3" tilewidth="16" tileheight="16" infinite="0">
 <tileset firstgid="1" name="hall" tilewidth="16" tileheight="16" tilecount="3" columns="3">
  <tile id="0" type="boards"/><tile id="1" type="table"/><tile id="2" type="table"/>
 </tileset>
 <layer name="land" width="3" height="3"><data encoding="csv">1,1,1, 1,1,1, 1,1,1</data></layer>
 <layer name="things" width="3" height="3"><data encoding="csv">0,0,0, 0,2,3, 0,3,2</data></layer>
</map>"""
    )
    text = "world: hall\nfloors: {boards: {}}\nkinds: {table: {size: [2, 2]}}\nmap: {tiled: hall.tmx}\n"
    assert [(one.x, one.y) for one in parse_scenario(text, folder=tmp_path).objects] == [(1, 1)]


def test_the_size_is_part_of_a_scenarios_identity_and_of_a_run(tmp_path):
    assert len({parse_scenario(DRAWN.replace("[2, 2]", size)).digest for size in ("[2, 2]", "[2, 1]", "[1, 1]")}) == 3
    assert parse_scenario(DRAWN.replace("size: [2, 2], ", "")).digest == (
        parse_scenario(DRAWN.replace("size: [2, 2]", "size: [1, 1]")).digest
    )
    info = world_of().info
    store = RunStore(tmp_path)
    store.create(info, "hall").close()
    with store.open("hall") as run:
        assert run.info == info


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("size: [3, 2]", "size: 3", "expected a list"),
        ("size: [3, 2]", "size: [3]", "expected a size as [2, 1]"),
        ("size: [3, 2]", "size: [0, 2]", "from 1 to 16"),
        ("size: [3, 2]", "size: [3, 17]", "from 1 to 16"),
        ("{kind: table, at: [3, 1]}", "{kind: table, at: [8, 3]}", "'table' has 3 x 2 tiles, too many for [8, 3]"),
        ("{kind: table, at: [3, 1]}", "{kind: table, at: [4, 3]}", "is already at [5, 4]"),
        ("at: [0, 0]", "at: [5, 2]", "no actor can stand at [5, 2]"),
    ],
)
def test_a_mistake_is_named(old, new, says):
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(HALL.replace(old, new, 1))
    assert says in str(caught.value)
