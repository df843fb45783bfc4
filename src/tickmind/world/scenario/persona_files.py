"""The section `persona_files`: people that several scenarios share, in files beside the scenario or below."""

from pathlib import Path, PurePosixPath

from tickmind.base.files import UnsafeFileError, read_at_most
from tickmind.world.errors import ScenarioError
from tickmind.world.scenario.limits import MAX_PERSONA_FILE_BYTES, MAX_PERSONA_FILES
from tickmind.world.scenario.yaml_nodes import (
    Leaf,
    Many,
    Node,
    YamlMapping,
    flow_text,
    leaf,
    quoted,
    read_tree,
    table,
    with_value,
)

SECTION = "persona_files"


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
    content = ", ".join(f"{quoted(path)}: {flow_text(people)}" for path, people in files)
    return with_value(text, (SECTION,), f"  {{{content}}}")  # a list may begin in the first column, a mapping may not


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
        data = read_at_most(found, int(MAX_PERSONA_FILE_BYTES.maximum) + 1)
        if not MAX_PERSONA_FILE_BYTES.allows(len(data)):
            given.place.fail(f"{path} is larger than {MAX_PERSONA_FILE_BYTES.maximum:,} bytes")
        text = data.decode("utf-8-sig")
    except UnsafeFileError:
        given.place.fail(f"{path} is no file")
    except (OSError, RuntimeError) as error:  # a circle of links is a RuntimeError in some versions of Python
        given.place.fail(f"{path} can't be read: {getattr(error, 'strerror', None) or error}")
    except UnicodeDecodeError:
        given.place.fail(f"{path} is not UTF-8 text; save it as UTF-8")
    begins = "it holds personas by their names, as the section `personas` does"
    return read_tree(text, str(file), given.place.source, begins=begins)
