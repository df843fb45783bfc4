"""The picture of a Tiled map for viewers: the images of its tilesets, and which tile is drawn where."""

import base64
import json
import zlib
from typing import Any

import numpy as np

from tickmind.world.scenario.limits import MAX_IMAGE_SIDE, MAX_TILE_ART_BYTES
from tickmind.world.scenario.tiled.drawing import TileDrawing
from tickmind.world.scenario.tiled.folder import TiledFolder
from tickmind.world.scenario.tiled.tile_data import TILE_BITS, read_tiles
from tickmind.world.scenario.tiled.tiled_map import DrawnLayer, PlacedTileset, TiledMap

_PNG = b"\x89PNG\r\n\x1a\n"
_DRAWN_APART = ("object", "ground", "actor")  # a viewer shows these itself, as they change


def tile_art(tiled: TiledMap, drawing: TileDrawing, folder: TiledFolder) -> bytes | None:
    """Return the picture as JSON, or None without an image in PNG, or if it would be too large.

    `sets` are the tilesets with their images in base64. `layers` are the visible tile layers from the lowest to the
    uppermost: the number of the tile with its flips for each cell, four bytes each, in zlib and base64.
    """
    sets = [found for tileset in reversed(tiled.tilesets) if (found := _set(tileset, folder)) is not None]
    layers = [_layer(layer, tiled, drawing) for layer in tiled.tile_layers if layer.layer.visible] if sets else []
    if not layers:
        return None
    art = {"width": tiled.width, "height": tiled.height, "sets": sets, "layers": layers}
    text = json.dumps(art, separators=(",", ":")).encode()
    return text if MAX_TILE_ART_BYTES.allows(len(text)) else None


def _set(tileset: PlacedTileset, folder: TiledFolder) -> dict[str, Any] | None:
    image = folder.read_image(tileset.image, tileset.place, tileset.file) if tileset.image else None
    if image is None or not image.startswith(_PNG) or len(image) < 24:
        return None
    size = [int.from_bytes(image[start : start + 4], "big") for start in (16, 20)]
    tiles = tileset.tiles
    shape: tuple[object, ...] = (tiles.columns, tiles.tile_width, tiles.tile_height, tiles.margin, tiles.spacing)
    if not all(isinstance(number, int) and 0 <= number <= MAX_IMAGE_SIDE.maximum for number in (*size, *shape)):
        return None
    if not (tiles.columns and tiles.tile_width and tiles.tile_height):
        return None
    return {
        "first": tileset.first,
        "count": tiles.tile_count,
        "columns": tiles.columns,
        "width": tiles.tile_width,
        "height": tiles.tile_height,
        "margin": tiles.margin,
        "spacing": tiles.spacing,
        "image": base64.b64encode(image).decode(),
    }


def _layer(layer: DrawnLayer, tiled: TiledMap, drawing: TileDrawing) -> str:
    gids = read_tiles(layer.data, layer.encoding, layer.compression, tiled.width * tiled.height, layer.place)
    numbers = gids & np.uint32(TILE_BITS)
    of_layer = drawing.layer_meaning(layer)
    apart = [
        number
        for number in np.unique(numbers).tolist()
        if number and any(key in (drawing.tile_meaning(number, layer.place) or of_layer) for key in _DRAWN_APART)
    ]
    drawn = np.where(np.isin(numbers, apart), 0, gids).astype("<u4")
    return base64.b64encode(zlib.compress(drawn.tobytes())).decode()
