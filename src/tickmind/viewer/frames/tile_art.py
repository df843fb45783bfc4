"""The picture of a map that was drawn with Tiled, as a run keeps it for viewers."""

from pathlib import Path
from typing import Any, TypeAlias

import orjson

from tickmind.base import Limit, get_logger
from tickmind.base.files import read_at_most

MAX_TILE_ART_BYTES = Limit("size of the picture of a map", 16_000_000, "bytes")
TileArt: TypeAlias = dict[str, Any]
_log = get_logger(__name__)


def read_tile_art(path: Path) -> TileArt | None:
    """Return the picture in a file, for the page to check and to draw; None without one that can be read."""
    try:
        data = read_at_most(path, int(MAX_TILE_ART_BYTES.maximum) + 1)
        MAX_TILE_ART_BYTES.check(len(data))
        art = orjson.loads(data)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        _log.warning("the picture of the map can't be read; floors are drawn instead", path=str(path), error=str(error))
        return None
    return art if isinstance(art, dict) else None


def shown_art(art: TileArt | None) -> dict[str, Any]:
    """Return what the first frame says of a picture: nothing without one."""
    return {} if art is None else {"tiles": art}
