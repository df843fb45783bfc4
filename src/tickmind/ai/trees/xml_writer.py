"""Write trees as BehaviorTree.CPP version 4 files, with the model that Groot 2 needs to show our own nodes."""

import math
import re
import xml.parsers.expat
from collections.abc import Iterator, Mapping
from xml.sax.saxutils import quoteattr

from tickmind.ai.errors import TreeError
from tickmind.ai.trees.compiler import MAX_TREE_DEPTH
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
    SubTree,
    Succeeder,
    Timeout,
    UtilitySelector,
    Wait,
    children_of,
    walk,
)
from tickmind.ai.trees.xml_reader import SAME_NAME

_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OWN_NODES = (
    '<Control ID="UtilitySelector"><input_port name="options">utility actions, with ; between</input_port></Control>',
    '<Decorator ID="Cooldown"><input_port name="ticks">ticks to wait after a success</input_port></Decorator>',
    '<Decorator ID="RepeatAnyway"><input_port name="num_cycles">rounds, failed ones too</input_port></Decorator>',
    '<Decorator ID="TimeoutTicks"><input_port name="ticks">ticks that the child has</input_port></Decorator>',
    '<Action ID="WaitTicks"><input_port name="ticks">ticks to wait</input_port></Action>',
)


def write_trees(trees: Mapping[str, Node]) -> str:
    """Return a file with these trees; the first is the main one.

    XML has text only: an argument that is a string but looks like a number, true or false is read back as such. Raises
    `TreeError` if there is no tree, or one has no name.
    """
    if not trees:
        raise TreeError("no tree to write; define one first")
    if "" in trees:
        raise TreeError("a tree needs a name to be written")
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<root BTCPP_format="4" main_tree_to_execute={_quoted(next(iter(trees)))}>')
    for name, root in trees.items():
        lines.append(f"  <BehaviorTree ID={_quoted(name)}>")
        lines.extend(_lines(root, 1))
        lines.append("  </BehaviorTree>")
    lines.append("  <TreeNodesModel>")
    lines.extend(f"    {line}" for line in _model(trees))
    lines.append("  </TreeNodesModel>")
    lines.append("</root>")
    return "\n".join(lines) + "\n"


def _lines(node: Node, depth: int) -> Iterator[str]:
    MAX_TREE_DEPTH.check(depth)
    tag, attributes = _tag(node)
    if node.label:
        attributes = {**attributes, "name": node.label}
    indent = "  " * (depth + 1)
    opening = indent + "<" + " ".join([tag, *(f"{name}={_quoted(text)}" for name, text in attributes.items())])
    children = children_of(node)
    if not children:
        yield opening + "/>"
        return
    yield opening + ">"
    for child in children:
        yield from _lines(child, depth + 1)
    yield f"{indent}</{tag}>"


def _tag(node: Node) -> tuple[str, dict[str, str]]:
    match node:
        case Action():
            return "Action", {"ID": node.name} | _arguments(node.name, node.arguments)
        case Condition():
            return "Condition", {"ID": node.name} | _arguments(node.name, node.arguments)
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
        case Retry():
            return "RetryUntilSuccessful", {"num_attempts": str(-1 if node.attempts is None else node.attempts)}
        case Wait():
            return "WaitTicks", {"ticks": str(node.ticks)}
        case SubTree():
            shared = {"_autoremap": "true"} if node.autoremap else {}
            return "SubTree", {"ID": node.name} | _arguments(node.name, node.ports) | shared


def _arguments(node: str, arguments: tuple[tuple[str, Argument], ...]) -> dict[str, str]:
    for name, value in arguments:
        if value == SAME_NAME:
            raise TreeError(f"{node}: in XML {SAME_NAME} means the key {name!r}, not '='; rename the Blackboard's key")
        try:
            xml.parsers.expat.ParserCreate().Parse(f"<{name}/>", True)
        except xml.parsers.expat.ExpatError:
            raise TreeError(f"{node}: XML can't have an attribute called {name!r}") from None
    return {name: _text(value) for name, value in arguments}


def _quoted(text: str) -> str:
    if odd := _NOT_IN_XML.search(text):
        raise TreeError(f"XML can't hold the character {odd.group()!r} of {text[:40]!r}")
    return quoteattr(text)


def _text(value: Argument) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        raise TreeError(f"the number {value} can't be written to a tree file")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _model(trees: Mapping[str, Node]) -> list[str]:
    leaves: dict[tuple[str, str], set[str]] = {}  # kind and name -> argument names
    for root in trees.values():
        for node in walk(root):
            if isinstance(node, Action | Condition):
                leaves.setdefault((type(node).__name__, node.name), set()).update(name for name, _ in node.arguments)
            elif isinstance(node, SubTree) and node.ports:
                leaves.setdefault(("SubTree", node.name), set()).update(name for name, _ in node.ports)
    model = []
    for (kind, name), ports in sorted(leaves.items()):
        inner = "".join(f"<input_port name={_quoted(port)}/>" for port in sorted(ports))
        model.append(f"<{kind} ID={_quoted(name)}>{inner}</{kind}>" if inner else f"<{kind} ID={_quoted(name)}/>")
    return [*model, *_OWN_NODES]
