import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.world.kernels import KernelError, MoveResult, MoveScratch, resolve_moves

STEPS = [(0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)]  # N, NE, E, SE, S, SW, W, NW
N, NE, E, SE, S, SW, W, NW = range(8)
STAY = -1


def reference(places, ways, walkable):
    """The rules as they are written, one after the other, without a thought for speed: results and new places."""
    height, width = walkable.shape
    actors = [row for row, place in enumerate(places) if place is not None]
    at = {places[row]: row for row in actors}
    assert len(at) == len(actors)
    result = dict.fromkeys(range(len(places)), MoveResult.STAYED)
    claim = {}
    for row in actors:
        if ways[row] < 0:
            continue
        (x, y), (dx, dy) = places[row], STEPS[ways[row]]
        to = (x + dx, y + dy)
        if not (0 <= to[0] < width and 0 <= to[1] < height):
            result[row] = MoveResult.OUT_OF_BOUNDS
        elif not walkable[to[1], to[0]]:
            result[row] = MoveResult.NOT_WALKABLE
        elif dx and dy and not (walkable[y, x + dx] and walkable[y + dy, x]):
            result[row] = MoveResult.ILLEGAL_DIAGONAL
        else:
            claim[row] = to

    smallest = {to: min(rows) for to, rows in rows_by_claim(claim).items()}
    failed = {}
    for row, to in claim.items():
        if to in at and ways[at[to]] < 0:
            failed[row] = MoveResult.OCCUPIED
            continue
        ring = [row]
        while (ahead := at.get(claim[ring[-1]])) in claim and ahead not in ring:
            ring.append(ahead)
        if ahead == row:
            failed[row] = MoveResult.SWAP if len(ring) == 2 else MoveResult.CYCLE
        elif row != smallest[to]:
            failed[row] = MoveResult.TILE_CONTESTED
    while True:
        blocked = [
            row
            for row, to in claim.items()
            if row not in failed and to in at and (at[to] in failed or at[to] not in claim)
        ]
        if not blocked:
            break
        failed.update(dict.fromkeys(blocked, MoveResult.BLOCKED_BY_FAILED_MOVE))

    after = list(places)
    for row, to in claim.items():
        result[row] = failed.get(row, MoveResult.MOVED)
        if row not in failed:
            after[row] = to
    return [result[row] for row in range(len(places))], after


def rows_by_claim(claim):
    found: dict[tuple[int, int], list[int]] = {}
    for row, to in claim.items():
        found.setdefault(to, []).append(row)
    return found


def columns(places, walkable):
    x = np.array([-1 if place is None else place[0] for place in places], dtype=np.int32)
    y = np.array([-1 if place is None else place[1] for place in places], dtype=np.int32)
    return x, y, occupancy_of(x, y, walkable.shape)


def occupancy_of(x, y, shape):
    occupancy = np.full(shape, -1, dtype=np.int32)
    for row in range(len(x)):
        if x[row] >= 0:
            assert occupancy[y[row], x[row]] == -1, "two on one tile"
            occupancy[y[row], x[row]] = row
    return occupancy


def move(places, ways, walkable, scratch=None):
    x, y, occupancy = columns(places, walkable)
    result = resolve_moves(x, y, np.array(ways, dtype=np.int8), walkable, occupancy, scratch)
    assert np.array_equal(occupancy, occupancy_of(x, y, walkable.shape))
    after = [None if at_x < 0 else (at_x, at_y) for at_x, at_y in zip(x.tolist(), y.tolist(), strict=True)]
    return [MoveResult(code) for code in result], after


@st.composite
def crowds(draw):
    width, height = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    wall_share = draw(st.sampled_from([0.0, 0.1, 0.3]))
    chance = draw(st.randoms(use_true_random=False))
    walkable = np.array([[chance.random() >= wall_share for _ in range(width)] for _ in range(height)])
    tiles = [(x, y) for y in range(height) for x in range(width)]
    chance.shuffle(tiles)
    count = draw(st.integers(0, len(tiles)))
    places = [None if chance.random() < 0.05 else tile for tile in tiles[:count]]
    likely = draw(st.sampled_from([[*range(8), STAY], [E, W], [N, E, S, W], [E, SE, S, STAY], list(range(8))]))
    ways = [chance.choice(likely) for _ in places]
    return walkable, places, ways


@settings(max_examples=short_or_long(150, 300), deadline=None)
@given(crowds())
@pytest.mark.slow
def test_crowds_move_as_the_plain_rules_say(crowd):
    walkable, places, ways = crowd
    assert move(places, ways, walkable) == reference(places, ways, walkable)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.3, 0.8, 1.0]))
def test_doors_and_many_ticks_keep_everybody_on_a_tile_of_their_own(seed, density):
    rng = np.random.default_rng(seed)
    walkable = rng.random((17, 67)) >= 0.12
    tiles = np.argwhere(walkable)
    rng.shuffle(tiles)
    places = [(x, y) for y, x in tiles[: int(density * len(tiles))].tolist()]
    scratch = MoveScratch(*walkable.shape)
    for _ in range(6):
        walkable ^= rng.random(walkable.shape) < 0.02  # doors open and close, also around those who stand in them
        ways = rng.integers(-1, 8, len(places)).tolist()
        expected = reference(places, ways, walkable)
        got = move(places, ways, walkable, scratch)
        assert got == expected
        places = got[1]


DIRECTIONS = {"^": N, ">": E, "v": S, "<": W, "o": STAY, "7": NW, "9": NE, "1": SW, "3": SE}


def play(picture, priority=None):
    """Resolve a map of arrows, rows in reading order or in the given one; results are in reading order."""
    lines = picture.split()
    walkable = np.array([[letter != "#" for letter in line] for line in lines])
    found = [(x, y, letter) for y, line in enumerate(lines) for x, letter in enumerate(line) if letter in DIRECTIONS]
    order = priority or range(len(found))
    places = [found[index][:2] for index in order]
    ways = [DIRECTIONS[found[index][2]] for index in order]
    results, after = move(places, ways, walkable)
    assert (results, after) == reference(places, ways, walkable)
    return [results[list(order).index(index)].name.lower() for index in range(len(found))]


GOLDEN = {
    "one moves": (">.", None, ["moved"]),
    "one stays": ("o.", None, ["stayed"]),
    "off the map": ("^", None, ["out_of_bounds"]),
    "diagonally off the map": ("9.", None, ["out_of_bounds"]),
    "into a wall": (">#", None, ["not_walkable"]),
    "contest, smallest row wins": (">.<", None, ["moved", "tile_contested"]),
    "contest, priority is the row, not the place": (">.<", [1, 0], ["tile_contested", "moved"]),
    "contest of three": ("...\n>.<\n.^.", [2, 0, 1], ["tile_contested", "tile_contested", "moved"]),
    "contest for a tile that is being left": (">>. .^.", None, ["moved", "moved", "tile_contested"]),
    "swap": ("><", None, ["swap", "swap"]),
    "diagonal swap": ("3.\n.7", None, ["swap", "swap"]),
    "behind a swap": (">><", None, ["blocked_by_failed_move", "swap", "swap"]),
    "beside a swap, ahead in priority": ("v.\n><", [0, 1, 2], ["blocked_by_failed_move", "swap", "swap"]),
    "beside a swap, behind in priority": ("v.\n><", [1, 2, 0], ["tile_contested", "swap", "swap"]),
    "cycle of three": (">v\n.7", None, ["cycle"] * 3),
    "cycle of four": (">v\n^<", None, ["cycle"] * 4),
    "cycle of eight": (">>v\n^.v\n^<<", None, ["cycle"] * 8),
    "behind a cycle": (".>v\n>^<", [2, 0, 1, 3, 4], ["cycle", "cycle", "blocked_by_failed_move", "cycle", "cycle"]),
    "chain": (">>>.", None, ["moved"] * 3),
    "chain, whatever the priority": (">>>.", [2, 0, 1], ["moved"] * 3),
    "chain whose head hits a wall": (">>>#", None, ["blocked_by_failed_move"] * 2 + ["not_walkable"]),
    "chain whose head leaves the map": (">>>", None, ["blocked_by_failed_move"] * 2 + ["out_of_bounds"]),
    "chain whose head stands": (">>o", None, ["blocked_by_failed_move", "occupied", "stayed"]),
    "chain whose head loses a contest": (
        ">>.<",
        [2, 1, 0],
        ["blocked_by_failed_move", "tile_contested", "moved"],
    ),
    "occupied": (">o", None, ["occupied", "stayed"]),
    "occupied for both, contest or not": (">o<", None, ["occupied", "stayed", "occupied"]),
    "diagonal in the open": ("3.\n..", None, ["moved"]),
    "diagonal with a wall on one side": ("3#\n..", None, ["illegal_diagonal"]),
    "diagonal with a wall on the other": ("3.\n#.", None, ["illegal_diagonal"]),
    "diagonal between two walls": ("3#\n#.", None, ["illegal_diagonal"]),
    "diagonal into a wall": ("3.\n.#", None, ["not_walkable"]),
    "diagonal between two people": ("3o\no.", None, ["moved", "stayed", "stayed"]),
    "diagonals may cross": ("31\n..", None, ["moved", "moved"]),
}


@pytest.mark.parametrize(("picture", "priority", "expected"), GOLDEN.values(), ids=GOLDEN.keys())
def test_conflict(picture, priority, expected):
    assert play(picture, priority) == expected


@pytest.mark.parametrize("way", range(8))
def test_each_direction_leads_where_it_says(way):
    results, after = move([(1, 1)], [way], np.ones((3, 3), dtype=bool))
    dx, dy = STEPS[way]
    assert results == [MoveResult.MOVED]
    assert after == [(1 + dx, 1 + dy)]


def test_a_chain_across_the_whole_map_needs_no_stack():
    width = 200_000
    walkable = np.ones((1, width + 1), dtype=bool)
    order = np.random.default_rng(3).permutation(width).astype(np.int32)  # place -> row
    x = np.argsort(order).astype(np.int32)
    y = np.zeros(width, dtype=np.int32)
    occupancy = np.full((1, width + 1), -1, dtype=np.int32)
    occupancy[0, x] = np.arange(width)
    before = x.copy()
    result = resolve_moves(x, y, np.full(width, E, dtype=np.int8), walkable, occupancy)
    assert not result.any()
    assert np.array_equal(x, before + 1)


def test_a_follower_never_ends_on_the_tile_of_one_who_failed():
    walkable = np.array([[True, True, False]])
    results, after = move([(0, 0), (1, 0)], [E, E], walkable)
    assert results == [MoveResult.BLOCKED_BY_FAILED_MOVE, MoveResult.NOT_WALKABLE]
    assert after == [(0, 0), (1, 0)]


def test_frozen_inputs_are_read():
    walkable = np.ones((1, 2), dtype=bool)
    walkable.flags.writeable = False
    ways = np.array([E], dtype=np.int8)
    ways.flags.writeable = False
    x, y, occupancy = columns([(0, 0)], walkable)
    assert resolve_moves(x, y, ways, walkable, occupancy).tolist() == [MoveResult.MOVED]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda x, y, ways, occupancy: occupancy.fill(-1),
        lambda x, y, ways, occupancy: x.fill(2),
        lambda x, y, ways, occupancy: x.__setitem__(0, 99),
        lambda x, y, ways, occupancy: y.__setitem__(0, -5),
        lambda x, y, ways, occupancy: ways.fill(8),
        lambda x, y, ways, occupancy: occupancy.__setitem__((0, 0), 7),
        lambda x, y, ways, occupancy: occupancy.__setitem__((0, slice(0, 2)), [1, 0]),
    ],
    ids=[
        "empty occupancy",
        "two on a tile",
        "off the map",
        "above the map",
        "direction",
        "unknown row",
        "swapped rows",
    ],
)
def test_a_contradiction_is_refused_and_changes_nothing(spoil):
    walkable = np.ones((2, 3), dtype=bool)
    scratch = MoveScratch(2, 3)
    x, y, occupancy = columns([(0, 0), (1, 0), (2, 0)], walkable)
    ways = np.full(3, S, dtype=np.int8)
    spoil(x, y, ways, occupancy)
    before = x.copy(), y.copy(), occupancy.copy()
    with pytest.raises(KernelError):
        resolve_moves(x, y, ways, walkable, occupancy, scratch)
    assert all(np.array_equal(*pair) for pair in zip(before, (x, y, occupancy), strict=True))
    assert move([(0, 0), (1, 0)], [S, S], walkable, scratch)[0] == [MoveResult.MOVED] * 2


def test_maps_of_different_shapes_are_refused():
    x, y, occupancy = columns([(0, 0)], np.ones((2, 2), dtype=bool))
    with pytest.raises(KernelError, match="one shape"):
        resolve_moves(x, y, np.array([E], dtype=np.int8), np.ones((3, 2), dtype=bool), occupancy)
