"""Patches: a scenario's text with other values at some paths.

    patched_text(text, [Patch(("rules", "hearing_radius"), 4)], "clearing.yaml")

Only the sections that change are written anew, so that all others keep their lines, and with them the map.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tickmind.base import ConfigError
from tickmind.base.problems import dotted, nearest
from tickmind.lab.experiments.experiment import Patch, PatchPath
from tickmind.world.scenario.yaml_nodes import Leaf, Many, Node, flow_text, quoted, read_tree, with_value

_STEP: Final = re.compile(r"(?:^|\.)([^.\[\]]+)|\[(\d{1,6})\]")
_MOST_STEPS: Final = 12
_SHOWN: Final = 60  # characters of a path in a message
_Tree: TypeAlias = "dict[str, _Tree] | list[_Tree] | str"  # a leaf is the text that reads as its value


def parse_path(text: str) -> PatchPath:
    """Read a path as people write it, such as `actors[0].inventory.coin`; raises `ConfigError`."""
    steps: list[str | int] = []
    end = 0
    for match in _STEP.finditer(text):
        if match.start() != end:
            break
        steps.append(match[1] if match[1] is not None else int(match[2]))
        end = match.end()
    if end != len(text) or not steps or len(steps) > _MOST_STEPS or isinstance(steps[0], int):
        raise ConfigError(f"{text[:_SHOWN]!r} is no path; write for example kinds.granary.hours or actors[0].at")
    return tuple(steps)


def patched_text(text: str, patches: Iterable[Patch], source: str) -> str:
    """Return the text of a YAML mapping with other values; raises `ConfigError` for a path that leads nowhere.

    All steps of a path but the last must exist; the last may be new, so that a setting that has a default can be given.
    """
    sections: dict[str, list[Patch]] = {}
    for patch in patches:
        sections.setdefault(str(patch.path[0]), []).append(patch)
    if not sections:
        return text
    root = read_tree(text, source, begins="it is a mapping")
    for name, changes in sections.items():
        present = root.get(name)
        tree: dict[str, _Tree] = {} if present is None else {name: _tree_of(present)}
        for patch in changes:
            _change(tree, patch, list(root.entries))
        text = _with_section(text, name, tree, is_new=present is None)
    return text


def _with_section(text: str, name: str, tree: Mapping[str, _Tree], *, is_new: bool) -> str:
    if name not in tree:
        return with_value(text, (name,), " null")
    value = _dumped(tree[name])
    if is_new:
        return f"{text.rstrip()}\n{quoted(name)}: {value}\n"
    return with_value(text, (name,), f" {value}")


def _tree_of(node: Node) -> _Tree:
    if isinstance(node, Leaf):
        return flow_text(node)
    if isinstance(node, Many):
        return [_tree_of(item) for item in node.items]
    return {key: _tree_of(value) for key, value in node.entries.items()}


def _dumped(tree: _Tree) -> str:
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{quoted(key)}: {_dumped(value)}" for key, value in tree.items()) + "}"
    if isinstance(tree, list):
        return f"[{', '.join(map(_dumped, tree))}]"
    return tree


def _change(tree: dict[str, _Tree], patch: Patch, sections: Sequence[str]) -> None:
    """Set or remove a value in the tree of a section."""
    here: _Tree = tree
    for place, step in enumerate(patch.path[:-1]):
        here = _next(here, step, patch.path[:place], sections if place == 0 else None)
    last = patch.path[-1]
    if isinstance(here, list) and isinstance(last, int) and last < len(here):
        if patch.value is None:
            del here[last]
        else:
            here[last] = _written(patch.value)
    elif isinstance(here, dict) and isinstance(last, str):
        if patch.value is None:
            if last not in here:
                raise ConfigError(f"there is no {dotted(patch.path)} to take out{nearest(last, here)}")
            del here[last]
        else:
            here[last] = _written(patch.value)
    else:
        raise ConfigError(f"{dotted(patch.path)} leads nowhere: {dotted(patch.path[:-1])} is {_what(here)}")


def _next(here: _Tree, step: str | int, before: PatchPath, sections: Sequence[str] | None) -> _Tree:
    if isinstance(here, dict) and isinstance(step, str) and step in here:
        return here[step]
    if isinstance(here, list) and isinstance(step, int) and step < len(here):
        return here[step]
    known = sections if sections is not None else list(here) if isinstance(here, dict) else []
    where = f"in {dotted(before)}" if before else "in the scenario"
    raise ConfigError(f"there is no {step!r} {where}{nearest(str(step), known)}")


def _what(tree: _Tree) -> str:
    if isinstance(tree, list):
        return f"a list of {len(tree):,}"
    return "a mapping" if isinstance(tree, dict) else "a single value"


def _written(value: Any) -> _Tree:
    """Return a value of the experiment's file as the scenario would say it."""
    if isinstance(value, Mapping):
        return {str(key): _written(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_written(item) for item in value]
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else quoted(value)
