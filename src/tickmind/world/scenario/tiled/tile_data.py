"""The numbers of a tile layer in every encoding of Tiled, decompressed no further than the map is large."""

import base64
import binascii
import io
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import orjson

from tickmind.world.scenario.tiled.position import TiledPosition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Gids: TypeAlias = NDArray[np.uint32]

TILE_BITS = 0x0FFF_FFFF  # without the four bits that flip and rotate the picture
_ZLIB, _GZIP = 15, 31  # as zlib numbers them
_CHOOSE = "choose another Tile Layer Format in Map > Map Properties of Tiled"


def read_tiles(data: Any, encoding: Any, compression: Any, count: int, place: TiledPosition) -> "Gids":
    """Return the tile of each cell with its flips, by rows; 0 is none. `data` is a text, or a list in JSON."""
    if encoding in (None, "", "csv"):
        gids = _numbers(data, place)
    elif encoding == "base64":
        gids = _decoded(data, compression or "", 4 * count, place)
    else:
        place.fail(f"has the unknown encoding {str(encoding)[:40]!r}; {_CHOOSE}")
    if len(gids) != count:
        place.fail(f"expected {count} tiles, found {len(gids)}")
    return gids


def tile_number(gid: int) -> int:
    """Return a tile's number without its flips."""
    return gid & TILE_BITS


def _numbers(data: Any, place: TiledPosition) -> "Gids":
    if isinstance(data, str):
        try:
            data = orjson.loads(f"[{data.strip().removesuffix(',')}]")
        except orjson.JSONDecodeError:
            place.fail("expected numbers with commas between them")
    if not isinstance(data, list) or not set(map(type, data)) <= {int}:
        place.fail("expected a list of whole numbers")
    try:
        return np.array(data, dtype=np.uint32)
    except OverflowError:
        place.fail(f"expected numbers of tiles from 0 to {2**32 - 1}")


def _decoded(data: Any, compression: Any, size: int, place: TiledPosition) -> "Gids":
    decompress = _DECOMPRESS.get(compression) if isinstance(compression, str) else None
    if decompress is None:
        place.fail(f"has the unknown compression {str(compression)[:40]!r}; {_CHOOSE}")
    if not isinstance(data, str):
        place.fail("expected text in base64")
    try:
        packed = base64.b64decode("".join(data.split()), validate=True)
        raw = decompress(packed, size)
    except (binascii.Error, ValueError):
        place.fail("this is no base64")
    except (EOFError, zlib.error):
        place.fail(f"can't be decompressed as {compression}: the data are damaged, or more than {size:,} bytes")
    except ModuleNotFoundError as error:
        place.fail(f"zstd needs {error.name}: `pip install 'tickmind[tiled]'`, or {_CHOOSE}")
    if len(raw) != size:
        place.fail(f"expected {size:,} bytes of tiles, found {len(raw):,}")
    return np.frombuffer(raw, dtype="<u4")


def _plain(packed: bytes, _size: int) -> bytes:
    return packed


def _inflate(window: int) -> Callable[[bytes, int], bytes]:
    def decompress(packed: bytes, size: int) -> bytes:
        stream = zlib.decompressobj(window)
        raw = stream.decompress(packed, size + 1)
        if not stream.eof:
            raise EOFError
        return raw

    return decompress


def _zstd(packed: bytes, size: int) -> bytes:
    import zstandard

    try:
        return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed)).read(size + 1)
    except zstandard.ZstdError as error:
        raise EOFError from error


_DECOMPRESS = {"": _plain, "zlib": _inflate(_ZLIB), "gzip": _inflate(_GZIP), "zstd": _zstd}
