from collections import deque
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.agent.knowledge import Speech, Surroundings, TileMemory, direction_to, distance, find_path
from tickmind.agent.knowledge.paths import MAX_TILES_TRIED
from tickmind.agent.knowledge.surroundings import STILL_THERE_TICKS
from tickmind.agent.testing import Drawing, Object, SmallWorld, observe
from tickmind.base import Limit
from tickmind.protocol import Direction, Heard, Left, Move, Say, VisibleObject, VisibleTiles


def seen(text):
    tiles = TileMemory()
    tiles.see(observe(text).visible_tiles)
    return tiles


# Tiles


@given(
    radius=st.integers(0, 12),
    centre=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    data=st.data(),
)
def test_tiles_are_remembered_as_they_were_seen_last(radius, centre, data):
    side = 2 * radius + 1
    size = (side * side + 7) // 8
    full = (1 << side * side) - 1
    tiles = TileMemory()
    expected: dict[tuple[int, int], bool] = {}
    for _ in range(2):
        x, y = centre
        on_map = sum(
            1 << place
            for place in range(side * side)
            if x - radius + place % side >= 0 and y - radius + place // side >= 0
        )
        visible = data.draw(st.integers(0, full)) & on_map
        walkable = data.draw(st.integers(0, full)) & visible
        window = VisibleTiles(radius, x, y, visible.to_bytes(size, "little"), walkable.to_bytes(size, "little"))
        tiles.see(window)
        tiles.see(window)
        expected |= {at: window.can_walk(*at) for at in window.tiles()}
        centre = (x + 1, y + 1)
    assert len(tiles) == len(expected)
    for x in range(-1, 60):
        for y in range(-1, 60):
            assert tiles.knows(x, y) is ((x, y) in expected)
            assert tiles.can_walk(x, y) is expected.get((x, y), False)
    for y in range(-1, 60):
        assert tiles.walkable_row(y) == sum(1 << x for x in range(60) if tiles.can_walk(x, y))
        assert window.walkable_row(y) == sum(1 << x for x in range(60) if window.can_walk(x, y))


@given(
    st.lists(st.text(alphabet=".#", min_size=11, max_size=11), min_size=3, max_size=5),
    st.integers(-2, 12),
    st.integers(-2, 12),
)
def test_the_walkable_columns_of_a_row_are_those_that_can_be_walked(rows, west, east):
    tiles = seen("\n".join([*rows, "@.........."]))
    for y in range(-1, len(rows) + 2):
        columns = [x for x in range(west, east + 1) if tiles.can_walk(x, y)]
        assert list(tiles.walkable_columns(y, west, east)) == columns


def test_the_nearest_frontier_is_reachable_and_beside_the_unknown():
    tiles = seen(
        """
        #########
        #@..#...
        #...#...
        #........
        #########
        """
    )
    assert tiles.nearest_frontier((1, 1)) in {(7, 1), (7, 2), (7, 3), (8, 3)}
    closed = seen("#####\n#@..#\n#####")
    assert closed.nearest_frontier((1, 1)) is None


def test_a_closed_door_leads_to_the_unknown():
    room = seen("#####\n#@..+\n#####")
    assert room.nearest_frontier((1, 1)) is None
    assert room.nearest_frontier((1, 1), doors=[(4, 1)]) == (4, 1)


def test_new_ground_and_new_ways_are_gains_and_nothing_else_is():
    tiles = seen("#####\n#@..+\n#####")
    gains = [tiles.gains]
    for view in ("#####\n#.@.+\n#####", "#####\n#@..-\n#####", "#####\n#@..+\n#####", "#####\n#@..+.\n#####"):
        tiles.see(observe(view, legend={"-": Object("door", state="open")}).visible_tiles)
        gains.append(tiles.gains)
    assert gains == [1, 1, 2, 2, 3]


def test_the_unknown_is_found_however_far_it_is():
    corridor = "#" * 62 + "\n#@" + "." * 60 + "\n" + "#" * 62
    assert seen(corridor).nearest_frontier((1, 1)) == (61, 1)


# Ways


def walk(drawing, way):
    """Whether a way can be walked, by the rules of the small world."""
    world = SmallWorld("@")
    world.drawing = drawing
    return all(not world.step(Move(direction_to(world.at, step))) for step in way)


DRAWINGS = st.lists(st.text(".....#", min_size=8, max_size=8), min_size=3, max_size=8).map(
    lambda lines: "\n".join(["@" + lines[0][1:], *lines[1:]])
)


def steps_to(drawing):
    """The number of steps to every tile, the slow and plain way."""
    free = drawing.walkable
    found = {drawing.me: 0}
    todo = deque([drawing.me])
    while todo:
        x, y = todo.popleft()
        for way in Direction:
            new = (x + way.dx, y + way.dy)
            if new not in free or new in found:
                continue
            if way.diagonal and not {(new[0], y), (x, new[1])} <= free:
                continue
            found[new] = found[x, y] + 1
            todo.append(new)
    return found


def waves_to(free, start):
    """The number of straight steps to every tile, the slow and plain way."""
    found = {start: 0}
    todo = deque([start])
    while todo:
        x, y = todo.popleft()
        for new in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if new in free and new not in found:
                found[new] = found[x, y] + 1
                todo.append(new)
    return found


@given(DRAWINGS)
def test_no_unknown_ground_is_nearer_than_the_frontier(text):
    drawing = Drawing.read(text)
    tiles = TileMemory()
    tiles.see(drawing.tiles())
    steps = waves_to(drawing.walkable, drawing.me)
    around = [(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
    edge = [
        (x, y)
        for x, y in steps
        if (x, y) != drawing.me
        and any(x + dx >= 0 and y + dy >= 0 and not tiles.knows(x + dx, y + dy) for dx, dy in around)
    ]
    frontier = tiles.nearest_frontier(drawing.me)
    assert (frontier is None) is (not edge)
    if frontier is not None:
        assert steps[frontier] == min(steps[at] for at in edge)


@given(DRAWINGS, st.tuples(st.integers(0, 20), st.integers(0, 20)))
def test_the_frontier_towards_a_goal_is_reachable_and_none_is_nearer_to_it(text, goal):
    drawing = Drawing.read(text)
    tiles = TileMemory()
    tiles.see(drawing.tiles())
    around = [(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
    edge = [
        (x, y)
        for x, y in waves_to(drawing.walkable, drawing.me)
        if (x, y) != drawing.me
        and any(x + dx >= 0 and y + dy >= 0 and not tiles.knows(x + dx, y + dy) for dx, dy in around)
    ]
    frontier = tiles.frontier_towards(drawing.me, goal)
    assert (frontier is None) is (not edge)
    if frontier is not None:
        assert frontier in edge
        away = min(abs(x - goal[0]) + abs(y - goal[1]) for x, y in edge)
        assert abs(frontier[0] - goal[0]) + abs(frontier[1] - goal[1]) == away


def test_what_is_not_seen_from_beside_it_is_off_the_map():
    tiles = TileMemory()
    for text in ("...\n@..\n...", "..@\n...\n...", "...\n...\n.@."):
        assert tiles.nearest_frontier((1, 1)) in {None, (0, 1), (2, 1), (1, 2)}
        tiles.see(Drawing.read(text).tiles())
    assert tiles.nearest_frontier((1, 1)) is None
    assert not tiles.knows(3, 1)
    assert not tiles.can_walk(3, 1)


def test_the_west_and_the_north_of_the_map_are_no_secret():
    assert seen("#####\n....#\n..@.#\n#####").nearest_frontier((2, 2)) is None
    assert seen("#..#\n#.@#\n####").nearest_frontier((2, 1)) is None


@given(DRAWINGS, st.tuples(st.integers(0, 7), st.integers(0, 7)))
def test_ways_are_shortest_and_can_be_walked(text, goal):
    drawing = Drawing.read(text)
    tiles = TileMemory()
    tiles.see(drawing.tiles())
    reached = steps_to(drawing)
    way = find_path(tiles, drawing.me, goal)
    if goal in reached:
        assert way is not None
        assert len(way) == reached[goal]
        assert walk(drawing, way)
    else:
        assert way is None


@given(DRAWINGS, st.tuples(st.integers(0, 7), st.integers(0, 7)))
def test_ways_end_beside_what_can_not_be_entered(text, goal):
    drawing = Drawing.read(text)
    tiles = TileMemory()
    tiles.see(drawing.tiles())
    near = [steps for at, steps in steps_to(drawing).items() if distance(at, goal) <= 1]
    way = find_path(tiles, drawing.me, goal, beside=True)
    assert (way is None) is (not near)
    if way is not None:
        assert len(way) == min(near)
        assert walk(drawing, way)


def test_ways_lead_around_others_and_through_doors():
    tiles = seen("######\n#@.+.#\n#..#.#\n######")
    assert find_path(tiles, (1, 1), (4, 1)) is None
    way = find_path(tiles, (1, 1), (4, 1), doors=[(3, 1)])
    assert way == [(2, 1), (3, 1), (4, 1)]
    open_field = seen("@..\n...")
    assert find_path(open_field, (0, 0), (2, 0), avoid={(1, 0)}) == [(1, 1), (2, 0)]
    assert find_path(open_field, (0, 0), (0, 0)) == []


@pytest.mark.parametrize("goal", [(-1, -1), (-1, 0), (0, -1), (-(10**9), 3)])
def test_there_is_no_way_to_a_tile_beyond_the_map(goal):
    tiles = seen("#####\n#@..#\n#####")
    assert find_path(tiles, (1, 1), goal) is None
    assert find_path(tiles, (1, 1), goal, beside=True) is None


def test_a_way_that_takes_too_long_to_find_is_given_up():
    tiles = seen("@" + "." * 40)
    assert find_path(tiles, (0, 0), (40, 0), max_tiles=MAX_TILES_TRIED.at(10)) is None


@pytest.mark.parametrize("beside", [False, True])
def test_a_goal_that_is_shut_in_is_given_up_before_everything_was_tried(beside):
    everything = {(x, y) for x in range(80) for y in range(80)}
    free = {at for at in everything if distance(at, (40, 40)) not in (1, 2)}
    asked = set()

    class Field:
        def walkable_row(self, y):
            asked.add(y)
            return sum(1 << x for x, line in free if line == y)

    assert find_path(Field(), (20, 40), (40, 40), beside=beside, max_tiles=MAX_TILES_TRIED.at(5000)) is None
    assert len(asked) < 40


# People and things


def test_people_and_things_are_remembered_with_where_and_when():
    around = Surroundings()
    around.take_in(observe("@.b\n..3", tick=5))
    around.take_in(observe("@", tick=9, events=[Heard("entity:4", "local", "hello", 7, 7), Left("entity:3", 2, 1)]))
    assert around.people["entity:3"].at == (2, 1)
    assert around.people["entity:3"].seen_tick == 5
    assert around.people["entity:4"].at == (7, 7)
    assert around.people["entity:4"].heard_tick == 9
    assert around.people["entity:4"].seen_tick == 0
    assert around.in_sight == ()
    (bush,) = around.things_with("berries")
    assert bush.at == (2, 0)
    assert bush.tick == 5
    assert bush.amount("berries") == 3
    assert around.near((0, 0), 5) == ()


def test_a_place_stays_taken_until_it_is_seen_free_or_time_has_passed():
    around = Surroundings()
    assert around.taken() == set()
    around.take_in(observe("@..3", tick=5))
    assert around.taken() == {(3, 0)}
    around.take_in(observe("@", tick=6))
    assert around.taken() == {(3, 0)}
    around.take_in(observe("@", tick=4 + STILL_THERE_TICKS))
    assert around.taken() == {(3, 0)}
    around.take_in(observe("@", tick=5 + STILL_THERE_TICKS))
    assert around.taken() == set()
    around.take_in(observe("@..3", tick=70))
    around.take_in(observe("@...", tick=71))
    assert around.taken() == set()


def test_what_lay_on_the_ground_and_is_gone_is_forgotten():
    legend = {"g": Object("ground", items={"coin": 2})}
    around = Surroundings()
    around.take_in(observe("@g.b", legend=legend, tick=1))
    assert {thing.seen.kind for thing in around.things.values()} == {"ground", "berry_bush"}
    around.take_in(observe("@ .b", tick=2))
    assert len(around.things) == 2
    around.take_in(observe("@..b", tick=3))
    assert {thing.seen.kind for thing in around.things.values()} == {"berry_bush"}


def test_things_of_kinds_that_come_and_go_are_forgotten_where_they_are_gone():
    def sees(drawing, tick, *walls):
        seen = tuple(VisibleObject(name, "wall", x, 0, "plain", verbs=("open",)) for name, x in walls)
        return replace(observe(drawing, tick=tick), visible_objects=seen)

    around = Surroundings(passing=("wall",))
    around.take_in(sees("@.#.#", 1, ("wall:1", 2), ("wall:2", 4)))
    assert set(around.doors) == {(2, 0), (4, 0)}
    around.take_in(sees("@.. #", 2, ("wall:2", 4)))
    assert list(around.things) == ["wall:2"]
    assert set(around.doors) == {(4, 0)}
    assert around.tiles.can_walk(2, 0)
    around.take_in(sees("@#. .", 3, ("wall:2", 1)))  # torn down there, and built here
    assert around.things["wall:2"].at == (1, 0)
    assert set(around.doors) == {(1, 0)}
    assert around.obstacle_at(4, 0) is None


def test_memory_of_people_and_things_is_bounded():
    around = Surroundings(max_people=Limit("people", 3), max_things=Limit("things", 5))
    for tick in range(1, 10):
        around.take_in(observe(f"@{tick}", tick=tick))
    assert sorted(around.people) == ["entity:7", "entity:8", "entity:9"]
    around.take_in(observe("@bbbbbbbb", tick=20))
    around.take_in(observe("@" + "b" * 20, tick=21))
    assert len(around.things) <= 20


# Speech


def heard(speech, tick, speaker, text, drawing="@.1"):
    at = Drawing.read(drawing)
    x, y = at.others[speaker][1] if speaker in at.others else at.me
    speech.listen(observe(drawing, tick=tick, events=[Heard(speaker, "local", text, x, y)]))
    return speech.owed()


@pytest.mark.parametrize(
    ("text", "drawing", "meant"),
    [
        ("Good day!", "@.1", True),  # nobody else is near
        ("Good day!", "@...12", False),  # the other one is nearer
        ("Good day, me.", "@...12", True),  # named
        ("Good day, Anna.", "@...12", True),  # named by its other name
        ("Good day, entity:2.", "@.1..2", False),  # somebody else is named
        ("Good day!", "@.........1", False),  # too far away
        ("I mean it.", "@...12", False),  # a name inside a word is no name
    ],
)
def test_what_is_meant_for_oneself_is_known(text, drawing, meant):
    speech = Speech("me", ("Anna",))
    assert (heard(speech, 1, "entity:1", text, drawing) is not None) is meant


def test_an_answer_settles_what_is_owed():
    speech = Speech("me")
    assert heard(speech, 1, "entity:1", "Hello?").text == "Hello?"
    assert speech.say(2, "Hello!", to="entity:1") == Say("Hello!")
    assert speech.owed() is None
    assert speech.met() == ("entity:1",)


def test_what_waits_too_long_needs_no_answer():
    speech = Speech("me")
    heard(speech, 1, "entity:1", "Hello?")
    speech.listen(observe("@", tick=20))
    assert speech.owed() is None


def test_the_same_is_not_said_again_soon():
    speech = Speech("me")
    assert speech.may_say(1, "Hello there!")
    speech.say(1, "Hello there!")
    assert not speech.may_say(2, "hello   THERE")
    assert not speech.may_say(2, " ")
    assert not speech.may_say(10, "Hello there!", within_ticks=10)
    assert speech.may_say(11, "Hello there!", within_ticks=10)
    assert speech.may_say(100, "Hello there!")
    assert speech.silent_ticks(10) == 9


def test_what_is_said_has_a_bound():
    assert len(Speech("me").say(1, "word " * 1000).text) <= 300
