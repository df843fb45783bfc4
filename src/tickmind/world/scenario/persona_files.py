"""The section `persona_files`: people that several scenarios share, in files beside the scenario or below."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from tickmind.world.errors import ScenarioError
from tickmind.world.scenario.limits import MAX_PERSONA_FILE_BYTES, MAX_PERSONA_FILES
from tickmind.world.scenario.yaml_nodes import Leaf, Many, Node, YamlMapping, leaf, read_tree, table

SECTION = "persona_files"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN = re.compile(r"[-+]?\.?[0-9][0-9.eE+-]*|true|false|")  # what is no text: numbers, truth values and nothing


def read_persona_files(node: Node | None, folder: Path | None) -> list[tuple[str, YamlMapping]]:
    """Return the paths of the files, each with the personas in it.

    The section is a list of paths, or a mapping of paths to what the files hold, as a run keeps it.
    """
    if node is None:
        return []
    given = table(node).named() if not isinstance(node, Many) else ()
    files = [(path, table(content)) for path, _, content in given]
    if isinstance(node, Many):
        _few(node, len(node.items))
        for item in node.items:
            with item.place.source.noting():
                path = _path(leaf(item), [path for path, _ in files])
                files.append((path, _read_file(leaf(item), path, folder)))
    _few(node, len(files))
    return files


def named_files(text: str, source: str) -> list[str]:
    """Return the paths of persona files and of a map that a scenario names, valid or not; none if it is no YAML."""
    try:
        given = read_tree(text, source)
    except ScenarioError:
        return []
    node, land = given.get(SECTION), given.get("map")
    paths: list[str] = []
    for item in node.items if isinstance(node, Many) else ():
        with item.place.source.noting():
            paths.append(_path(leaf(item), paths))
    tiled = land.get("tiled") if isinstance(land, YamlMapping) else None
    if isinstance(tiled, Leaf):
        with tiled.place.source.noting():
            paths.insert(0, _path(tiled, []))
    return paths[: int(MAX_PERSONA_FILES.maximum)]


def with_persona_files(text: str, source: str, folder: Path | None) -> str:
    """Return the text of a valid scenario with what its persona files hold in place of their paths.

    A run keeps this text, so that it can be resumed without the files. A text without such files is returned as it is.
    """
    node = read_tree(text, source).get(SECTION)
    if not isinstance(node, Many):
        return text
    files = read_persona_files(node, folder)
    if node.place.source.problems:
        raise ScenarioError(source, node.place.source.problems)
    content = ", ".join(f"{_quoted(path)}: {_flow(people)}" for path, people in files)
    text = text.removeprefix("\ufeff")  # which the parser does not count
    start, end, is_flow = _span(text)
    return f"{text[:start]}  {{{content}}}{'' if is_flow else chr(10)}{text[end:]}"


def _few(node: Node, files: int) -> None:
    if not MAX_PERSONA_FILES.allows(files):
        node.place.fail(f"more than {MAX_PERSONA_FILES.maximum} persona files")


def _path(given: Leaf, before: list[str]) -> str:
    """Return a path that leads nowhere but down from the scenario."""
    name = given.name()
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
        given.place.fail(f"expected a path below the scenario's folder, such as people.yaml; found {name!r}")
    if str(path) in before:
        given.place.fail(f"the file {name!r} stands here twice; leave one out")
    return str(path)


def _read_file(given: Leaf, path: str, folder: Path | None) -> YamlMapping:
    if folder is None:
        given.place.fail(f"{path} is beside the scenario's file, but only a text was given; load the file")
    file = folder / path
    try:
        found = file.resolve()
        if not found.is_relative_to(folder.resolve()):
            given.place.fail(f"{path} leads out of the scenario's folder; copy the file into it")
        if found.exists() and not found.is_file():
            given.place.fail(f"{path} is no file")
        with found.open("rb") as opened:
            data = opened.read(int(MAX_PERSONA_FILE_BYTES.maximum) + 1)
        if not MAX_PERSONA_FILE_BYTES.allows(len(data)):
            given.place.fail(f"{path} is larger than {MAX_PERSONA_FILE_BYTES.maximum:,} bytes")
        text = data.decode("utf-8-sig")
    except (OSError, RuntimeError) as error:  # a circle of links is a RuntimeError in some versions of Python
        given.place.fail(f"{path} can't be read: {getattr(error, 'strerror', None) or error}")
    except UnicodeDecodeError:
        given.place.fail(f"{path} is not UTF-8 text; save it as UTF-8")
    begins = "it holds personas by their names, as the section `personas` does"
    return read_tree(text, str(file), given.place.source, begins=begins)


def _span(text: str) -> tuple[int, int, bool]:
    """Return where the list of files begins and ends in the text of a scenario, and whether it is in brackets."""
    depth, is_key = 0, False
    start: Any = None
    events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)  # the stubs do not know that events have marks
    for event in events:
        if start is None and is_key and isinstance(event, yaml.SequenceStartEvent):
            start = event
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if start is not None and depth == 1:
            return start.start_mark.index, event.end_mark.index, bool(start.flow_style)
        is_key = depth == 1 and isinstance(event, yaml.ScalarEvent) and event.value == SECTION
    raise ValueError(f"the text has no list of {SECTION}")


def _flow(node: Node) -> str:
    """Write a node in a single line."""
    if isinstance(node, Leaf):
        return node.text if node.plain and _PLAIN.fullmatch(node.text) else _quoted(node.text)
    if isinstance(node, Many):
        return f"[{', '.join(map(_flow, node.items))}]"
    return "{" + ", ".join(f"{_quoted(key)}: {_flow(value)}" for key, value in node.entries.items()) + "}"


def _quoted(text: str) -> str:
    return '"' + "".join(_escaped(sign) for sign in text) + '"'


def _escaped(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    return sign if sign.isprintable() else f"\\U{ord(sign):08x}"
