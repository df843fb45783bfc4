"""Trees to BehaviorTree.CPP version 4 files, with the model that Groot 2 needs to show our own nodes."""

from collections.abc import Iterator, Mapping
from xml.sax.saxutils import quoteattr

from tickmind.ai.errors import TreeError
from tickmind.ai.nodes import (
    Action,
    AlwaysFail,
    Argument,
    Condition,
    Cooldown,
    Inverter,
    Node,
    Parallel,
    Repeater,
    Selector,
    Sequence,
    SubTree,
    Succeeder,
    Timeout,
    UtilitySelector,
    children_of,
    walk,
)

_OWN_NODES = (
    '<Control ID="UtilitySelector"><input_port name="options">utility actions, with ; between</input_port></Control>',
    '<Decorator ID="Cooldown"><input_port name="ticks">ticks to wait after a success</input_port></Decorator>',
    '<Decorator ID="RepeatAnyway"><input_port name="num_cycles">rounds, failed ones too</input_port></Decorator>',
    '<Decorator ID="TimeoutTicks"><input_port name="ticks">ticks that the child has</input_port></Decorator>',
)


def write_trees(trees: Mapping[str, Node]) -> str:
    """A file with these trees; the first is the main one."""
    if not trees:
        raise TreeError("there is no tree to write")
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<root BTCPP_format="4" main_tree_to_execute={quoteattr(next(iter(trees)))}>')
    for name, root in trees.items():
        lines.append(f"  <BehaviorTree ID={quoteattr(name)}>")
        lines.extend(_lines(root, 2))
        lines.append("  </BehaviorTree>")
    lines.append("  <TreeNodesModel>")
    lines.extend(f"    {line}" for line in _model(trees))
    lines.append("  </TreeNodesModel>")
    lines.append("</root>")
    return "\n".join(lines) + "\n"


def _lines(node: Node, depth: int) -> Iterator[str]:
    tag, attributes = _tag(node)
    if node.label:
        attributes = {**attributes, "name": node.label}
    opening = "  " * depth + "<" + " ".join([tag, *(f"{name}={quoteattr(text)}" for name, text in attributes.items())])
    children = children_of(node)
    if not children:
        yield opening + "/>"
        return
    yield opening + ">"
    for child in children:
        yield from _lines(child, depth + 1)
    yield "  " * depth + f"</{tag}>"


def _tag(node: Node) -> tuple[str, dict[str, str]]:
    match node:
        case Action():
            return "Action", {"ID": node.name} | {name: _text(value) for name, value in node.arguments}
        case Condition():
            return "Condition", {"ID": node.name} | {name: _text(value) for name, value in node.arguments}
        case Sequence():
            return "Sequence" if node.memory else "ReactiveSequence", {}
        case Selector():
            return "Fallback" if node.memory else "ReactiveFallback", {}
        case Parallel():
            good = -1 if node.success_threshold is None else node.success_threshold
            return "Parallel", {"success_count": str(good), "failure_count": str(node.failure_threshold)}
        case UtilitySelector():
            return "UtilitySelector", {"options": ";".join(name for name, _ in node.options)}
        case Inverter():
            return "Inverter", {}
        case Repeater():
            tag = "Repeat" if node.fail_policy == "fail" else "RepeatAnyway"
            return tag, {"num_cycles": str(-1 if node.times is None else node.times)}
        case Succeeder():
            return "AlwaysSuccess" if node.child is None else "ForceSuccess", {}
        case AlwaysFail():
            return "AlwaysFailure" if node.child is None else "ForceFailure", {}
        case Timeout():
            return "TimeoutTicks", {"ticks": str(node.ticks)}
        case Cooldown():
            return "Cooldown", {"ticks": str(node.ticks)}
        case SubTree():
            return "SubTree", {"ID": node.name, "_autoremap": "true"}


def _text(value: Argument) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _model(trees: Mapping[str, Node]) -> list[str]:
    leaves: dict[tuple[str, str], set[str]] = {}  # kind and name -> argument names
    for root in trees.values():
        for node in walk(root):
            if isinstance(node, Action | Condition):
                leaves.setdefault((type(node).__name__, node.name), set()).update(name for name, _ in node.arguments)
    found = []
    for (kind, name), ports in sorted(leaves.items()):
        inner = "".join(f"<input_port name={quoteattr(port)}/>" for port in sorted(ports))
        found.append(f"<{kind} ID={quoteattr(name)}>{inner}</{kind}>" if inner else f"<{kind} ID={quoteattr(name)}/>")
    return [*found, *_OWN_NODES]
