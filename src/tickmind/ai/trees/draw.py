"""Draw a tree as text, with the last status of each node."""

from collections.abc import Iterator, Mapping

from tickmind.ai.trees.nodes import (
    Action,
    AlwaysFail,
    Argument,
    Condition,
    Cooldown,
    Inverter,
    Node,
    Parallel,
    Repeater,
    Retry,
    Selector,
    Sequence,
    Status,
    SubTree,
    Succeeder,
    Timeout,
    UtilitySelector,
    Wait,
    children_of,
)

_INDENT = "   "
MARKS = {Status.SUCCESS: "✓", Status.FAILURE: "✗", Status.RUNNING: "…"}


def draw_tree(root: Node, trees: Mapping[str, Node], statuses: Mapping[int, Status] | None = None) -> str:
    """Draw one line per node, below and to the right of its parent; `statuses` is the trace of a `BehaviorTree`.

    Subtrees are drawn in place. A node that was not visited has no mark.
    """
    lines = []
    for number, (branch, text) in enumerate(_lines(root, trees, "", "", "", ())):
        mark = "" if statuses is None else MARKS.get(statuses[number], " ") + " " if number in statuses else "  "
        lines.append(f"{branch}{mark}{text}")
    return "\n".join(lines)


def outline_tree(root: Node, trees: Mapping[str, Node]) -> list[tuple[int, str]]:
    """Return depth and description of each node; the n-th is number n in the trace of a `BehaviorTree`."""
    return [(len(branch) // len(_INDENT), text) for branch, text in _lines(root, trees, "", "", "", ())]


def _lines(
    node: Node, trees: Mapping[str, Node], branch: str, indent: str, option: str, path: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    yield branch, option + describe(node)
    children: tuple[Node, ...] = children_of(node)
    options = [f"[{name}] " for name, _ in node.options] if isinstance(node, UtilitySelector) else [""] * len(children)
    if isinstance(node, SubTree) and node.name in trees and node.name not in path:
        children, options, path = (trees[node.name],), [""], (*path, node.name)
    for place, (child, name) in enumerate(zip(children, options, strict=True)):
        last = place == len(children) - 1
        yield from _lines(
            child, trees, indent + ("└─ " if last else "├─ "), indent + (_INDENT if last else "│  "), name, path
        )


def describe(node: Node) -> str:
    """Describe a node in a few words, its own label first if it has one."""
    return f"{node.label}: {_words(node)}" if node.label else _words(node)


def _words(node: Node) -> str:
    match node:
        case Action():
            return node.name + _listed(node.arguments)
        case Condition():
            return f"{node.name}{_listed(node.arguments)}?"
        case Sequence():
            return "Sequence" if node.memory else "Sequence (no memory)"
        case Selector():
            return "Selector" if node.memory else "Selector (no memory)"
        case Parallel():
            good = "all" if node.success_threshold is None else node.success_threshold
            return f"Parallel (succeeds with {good}, fails with {node.failure_threshold})"
        case UtilitySelector():
            return "UtilitySelector"
        case Inverter():
            return "Inverter"
        case Repeater():
            rounds = "for ever" if node.times is None else f"{node.times} times"
            return f"Repeater ({rounds}{', also after failures' if node.fail_policy == 'restart' else ''})"
        case Succeeder():
            return "Succeeder"
        case AlwaysFail():
            return "AlwaysFail"
        case Timeout():
            return f"Timeout ({node.ticks} ticks)"
        case Cooldown():
            return f"Cooldown ({node.ticks} ticks)"
        case Retry():
            return "Retry (for ever)" if node.attempts is None else f"Retry ({node.attempts} attempts)"
        case Wait():
            return f"Wait ({node.ticks} ticks)"
        case SubTree():
            return f"SubTree {node.name}{_listed(node.ports)}{'' if node.autoremap else ' (shares nothing)'}"


def _listed(arguments: tuple[tuple[str, Argument], ...]) -> str:
    return f"({', '.join(f'{name}={value}' for name, value in arguments)})" if arguments else ""
