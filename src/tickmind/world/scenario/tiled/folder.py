"""`TiledFolder`: the files of one map, read within the scenario's folder and within limits."""

import os
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import orjson

from tickmind.base.files import UnsafeFileError, open_file
from tickmind.world.errors import ScenarioError
from tickmind.world.scenario.limits import MAX_TILED_BYTES, MAX_TILED_NODES
from tickmind.world.scenario.tiled.position import TiledPosition
from tickmind.world.scenario.tiled.xml_reader import read_xml

_LARGE = "save its tile layers compressed (Map > Map Properties > Tile Layer Format in Tiled), or draw a smaller map"


class TiledFolder:
    """Reads the files of one map. None may lie outside of the folder, and all of them share one limit."""

    def __init__(self, root: Path) -> None:
        self._root = Path(os.path.realpath(root))
        self._bytes_left = int(MAX_TILED_BYTES.maximum)
        self._nodes_left = int(MAX_TILED_NODES.maximum)

    def read(
        self, name: str, place: TiledPosition, beside: Path | None = None
    ) -> "tuple[Path, Element | dict[str, Any]]":
        """Return where a file is, and what is in it: an element of XML, or an object of JSON.

        `name` is as it was written, relative to the folder of the file `beside`, or to the folder itself. `place` names
        it in errors.
        """
        path = self.find(name, place, beside)
        data = self._bytes(path, place)
        self._bytes_left -= len(data)
        start = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if start == b"<":
            root, nodes = read_xml(data, place, self._nodes_left)
            self._nodes_left -= nodes
            return path, root
        if start != b"{":
            place.fail("is no map or tileset of Tiled; save it as .tmx, .tmj, .tsx or .tsj")
        return path, self._json(data, place)

    def read_image(self, name: str, place: TiledPosition, beside: Path) -> bytes | None:
        """Return the content of an image, or None if there is no such file within the folder."""
        try:
            path = self.find(name, place, beside)
            data = self._bytes(path, place) if path.exists() else None
        except ScenarioError:  # a world needs no picture; one without it is drawn like any other
            return None
        self._bytes_left -= len(data or b"")
        return data

    def find(self, name: str, place: TiledPosition, beside: Path | None) -> Path:
        """Return the path of a file. Links and `..` are resolved first, so that they can't lead out of the folder."""
        if not name.strip() or not name.isprintable() or "\\" in name:
            place.fail("expected the name of a file, with / between folders")
        start = self._root if beside is None else beside.parent
        path = Path(os.path.realpath(start / name))
        if Path(name).is_absolute() or not path.is_relative_to(self._root):
            place.fail("is outside of the scenario's folder; put it there, and name it by a relative path")
        return path

    def _bytes(self, path: Path, place: TiledPosition) -> bytes:
        try:
            with os.fdopen(open_file(path, os.O_RDONLY), "rb") as opened:
                data = opened.read(min(os.fstat(opened.fileno()).st_size, self._bytes_left) + 1)
        except UnsafeFileError:
            place.fail("is not a plain file")
        except OSError as error:
            place.fail(f"can't be read: {error.strerror or error}")
        if len(data) > self._bytes_left:
            place.fail(f"the map and its tilesets are larger than {MAX_TILED_BYTES.maximum:,} bytes; {_LARGE}")
        return data

    def _json(self, data: bytes, place: TiledPosition) -> dict[str, Any]:
        nodes = data.count(b"[") + data.count(b"{")  # at least as many as there are
        if nodes > self._nodes_left:
            place.fail(f"has more than {MAX_TILED_NODES.maximum:,} parts")
        self._nodes_left -= nodes
        try:
            value = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
        except orjson.JSONDecodeError as error:
            place.fail(f"this is no JSON: {error}")
        assert isinstance(value, dict), "it begins with a brace"
        return value
