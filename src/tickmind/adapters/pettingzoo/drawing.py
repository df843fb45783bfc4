"""Pictures of a world: small coloured tiles, or text."""

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tickmind.base import ConfigError
from tickmind.protocol.record import AWAY
from tickmind.world import CopiedWorld
from tickmind.world.scenario.signs import ACTOR_SIGN, HEAP_SIGN, floor_sign, signs_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Colours: TypeAlias = NDArray[np.uint8]

RENDER_MODES = ("rgb_array", "ansi")
RENDER_FPS = 10
TILE_PIXELS = 8
_FLOORS = {".": (120, 170, 90), "~": (80, 130, 200), ",": (160, 200, 140), "#": (90, 90, 95)}
_HEAP = (200, 120, 200)
_ACTORS = ((250, 220, 60), (240, 90, 70), (90, 220, 240), (250, 150, 40), (190, 120, 250), (245, 245, 245))


def checked_mode(mode: str | None) -> str | None:
    """Return a render mode; raises `ConfigError` if there is none of that name."""
    if mode is not None and mode not in RENDER_MODES:
        raise ConfigError(f"render_mode must be one of {', '.join(RENDER_MODES)} or None, not {mode!r}")
    return mode


def draw(world: CopiedWorld, mode: str | None) -> "Colours | str | None":
    """Draw the first copy of a world."""
    if mode is None:
        return None
    return _image(world) if mode == "rgb_array" else _text(world)


def _text(world: CopiedWorld) -> str:
    scenario, state = world.scenario, world.columns_of(0)
    signs, width = signs_of(scenario), scenario.width
    tiles = [floor_sign(scenario.floors[code]) for code in scenario.floor_codes]
    for x, y in _heaps(world):
        tiles[y * width + x] = HEAP_SIGN
    for row, name, x, y in _objects(world):
        wide, high = scenario.kinds[row].size
        for line in range(y, y + high):
            tiles[line * width + x : line * width + x + wide] = signs[name] * wide
    for x, y in zip(state.x.tolist(), state.y.tolist(), strict=True):
        if x != AWAY:
            tiles[y * width + x] = ACTOR_SIGN
    lines = ("".join(tiles[start : start + width]) for start in range(0, len(tiles), width))
    return "\n".join(lines) + "\n"


def _image(world: CopiedWorld) -> "Colours":
    scenario, state = world.scenario, world.columns_of(0)
    colours = np.array([_FLOORS[floor_sign(floor)] for floor in scenario.floors], dtype=np.uint8)
    codes = np.frombuffer(scenario.floor_codes, dtype=np.uint8).reshape(scenario.height, scenario.width)
    image = colours[codes].repeat(TILE_PIXELS, axis=0).repeat(TILE_PIXELS, axis=1)
    size, inset = TILE_PIXELS, TILE_PIXELS // 4
    for x, y in _heaps(world):
        image[y * size + inset : (y + 1) * size - inset, x * size + inset : (x + 1) * size - inset] = _HEAP
    for kind, _, x, y in _objects(world):
        wide, high = scenario.kinds[kind].size
        image[y * size + 1 : (y + high) * size - 1, x * size + 1 : (x + wide) * size - 1] = _kind_colour(kind)
    types = sorted({actor.type for actor in scenario.actors})
    for actor, x, y in zip(scenario.actors, state.x.tolist(), state.y.tolist(), strict=True):
        if x != AWAY:
            colour = _ACTORS[types.index(actor.type) % len(_ACTORS)]
            image[y * size + 1 : (y + 1) * size - 1, x * size + 2 : (x + 1) * size - 2] = colour
    return image


def _kind_colour(kind: int) -> tuple[int, int, int]:
    """Return a colour that differs between kinds, none too bright for actors before it."""
    return 50 + kind * 67 % 130, 40 + kind * 101 % 120, 50 + kind * 41 % 140


def _heaps(world: CopiedWorld) -> list[tuple[int, int]]:
    view = world.view()
    return list(zip(view.ground_x.tolist(), view.ground_y.tolist(), strict=True))


def _objects(world: CopiedWorld) -> list[tuple[int, str, int, int]]:
    """Return kind, its name, x and y of all objects that are there."""
    view, scenario = world.view(), world.scenario
    codes = {kind.name: code for code, kind in enumerate(scenario.kinds)}
    there = zip(scenario.objects, view.object_x.tolist(), view.object_y.tolist(), strict=False)
    return [(codes[thing.kind], thing.kind, x, y) for thing, x, y in there if x != AWAY]
