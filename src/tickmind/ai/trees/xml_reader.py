"""Read trees from BehaviorTree.CPP version 4 files, as Groot 2 writes them.

Known tags, besides actions and conditions: Sequence, ReactiveSequence, Fallback, ReactiveFallback, Parallel, Inverter,
ForceSuccess, ForceFailure, AlwaysSuccess, AlwaysFailure, Repeat, RetryUntilSuccessful, KeepRunningUntilFailure,
SubTree, Timeout, Delay and Sleep (in milliseconds), and ours: TimeoutTicks, WaitTicks, Cooldown, RepeatAnyway,
UtilitySelector.
Anything else is an error with its line: a tree that behaves differently than in its editor is worse than none.
"""

import math
import re
import xml.parsers.expat
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from tickmind.ai.errors import TreeError, TreeFileError, UnknownNameError
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
)
from tickmind.base import Limit

MAX_XML_BYTES = Limit("size of a tree file", 4_000_000, "bytes")
MAX_XML_DEPTH = Limit("nesting of a tree file", 102, "levels")  # a tree as deep as can run, and the two tags around it
SAME_NAME = "{=}"  # an argument: the Blackboard's key with the name of the port
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_COUNT = re.compile(r"[+-]?[0-9]{1,15}")
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_MODEL_KINDS = ("Action", "Condition", "Control", "Decorator", "SubTree")


@dataclass(slots=True)
class _Element:
    tag: str
    attributes: dict[str, str]
    line: int
    children: list["_Element"] = field(default_factory=list)


def read_trees(
    text: str,
    *,
    source: str = "XML",
    actions: Collection[str] = (),
    conditions: Collection[str] = (),
    tps: float | None = None,
) -> dict[str, Node]:
    """Return all trees of a file by name, the main one first."""
    return _Reader(source, actions, conditions, tps).read(_parse(text, source))


def _parse(text: str, source: str) -> _Element:
    try:
        MAX_XML_BYTES.check(len(text.encode()))
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise TreeFileError(source, line, f"{text[error.start]!r} is not a character") from error
    parser = xml.parsers.expat.ParserCreate()
    top = _Element("", {}, 0)
    stack = [top]

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = _Element(tag, attributes, parser.CurrentLineNumber)
        if not MAX_XML_DEPTH.allows(len(stack)):
            raise TreeFileError(source, element.line, f"nested more than {MAX_XML_DEPTH.maximum} levels deep")
        stack[-1].children.append(element)
        stack.append(element)

    def end(_tag: str) -> None:
        stack.pop()

    def text_found(data: str) -> None:
        if data.strip() and not any(element.tag == "TreeNodesModel" for element in stack):
            raise TreeFileError(source, parser.CurrentLineNumber, f"text {data.strip()[:40]!r} has no meaning here")

    def doctype(*_: object) -> None:
        raise TreeFileError(source, parser.CurrentLineNumber, "a DOCTYPE is not allowed; remove it")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text_found
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(text, True)
    except xml.parsers.expat.ExpatError as error:
        raise TreeFileError(source, error.lineno, f"this is not XML: {error}") from error
    return top.children[0]


class _Reader:
    def __init__(self, source: str, actions: Collection[str], conditions: Collection[str], tps: float | None) -> None:
        self.source = source
        self.tps = tps
        self.kinds = dict.fromkeys(conditions, "Condition") | dict.fromkeys(actions, "Action")
        self.names: set[str] = set()
        self.makers: dict[str, Callable[[_Element], Node]] = {
            "Sequence": lambda e: Sequence(*self.nodes(e), label=self.label(e)),
            "ReactiveSequence": lambda e: Sequence(*self.nodes(e), memory=False, label=self.label(e)),
            "Fallback": lambda e: Selector(*self.nodes(e), label=self.label(e)),
            "ReactiveFallback": lambda e: Selector(*self.nodes(e), memory=False, label=self.label(e)),
            "Parallel": self.parallel,
            "UtilitySelector": self.utility,
            "Inverter": lambda e: Inverter(self.only(e), label=self.label(e)),
            "ForceSuccess": lambda e: Succeeder(self.only(e), label=self.label(e)),
            "ForceFailure": lambda e: AlwaysFail(self.only(e), label=self.label(e)),
            "AlwaysSuccess": lambda e: Succeeder(label=self.label(e)),
            "AlwaysFailure": lambda e: AlwaysFail(label=self.label(e)),
            "Repeat": lambda e: Repeater(self.only(e), self.rounds(e, "num_cycles"), label=self.label(e)),
            "RepeatAnyway": lambda e: Repeater(
                self.only(e), self.rounds(e, "num_cycles"), "restart", label=self.label(e)
            ),
            "RetryUntilSuccessful": lambda e: Retry(self.only(e), self.rounds(e, "num_attempts"), label=self.label(e)),
            "KeepRunningUntilFailure": lambda e: Repeater(self.only(e), None, label=self.label(e)),
            "Timeout": lambda e: Timeout(self.only(e), self.ticks(e, "msec"), label=self.label(e)),
            "Sleep": lambda e: Wait(self.ticks(e, "msec"), label=self.label(e)),
            "Delay": lambda e: Sequence(Wait(self.ticks(e, "delay_msec")), self.only(e), label=self.label(e)),
            "WaitTicks": lambda e: Wait(self.integer(e, "ticks"), label=self.label(e)),
            "TimeoutTicks": lambda e: Timeout(self.only(e), self.integer(e, "ticks"), label=self.label(e)),
            "Cooldown": lambda e: Cooldown(self.only(e), self.integer(e, "ticks"), label=self.label(e)),
            "SubTree": self.subtree,
            "Action": lambda e: Action(self.required(e, "ID"), self.arguments(e), label=self.label(e)),
            "Condition": lambda e: Condition(self.required(e, "ID"), self.arguments(e), label=self.label(e)),
        }
        self.attributes: dict[str, frozenset[str]] = {  # tag -> its attributes besides a name; leaves have any
            "Parallel": frozenset({"success_count", "failure_count"}),
            "UtilitySelector": frozenset({"options"}),
            "Repeat": frozenset({"num_cycles"}),
            "RepeatAnyway": frozenset({"num_cycles"}),
            "RetryUntilSuccessful": frozenset({"num_attempts"}),
            "Timeout": frozenset({"msec"}),
            "Sleep": frozenset({"msec"}),
            "Delay": frozenset({"delay_msec"}),
            "WaitTicks": frozenset({"ticks"}),
            "TimeoutTicks": frozenset({"ticks"}),
            "Cooldown": frozenset({"ticks"}),
        }

    def fail(self, element: _Element, problem: str) -> TreeFileError:
        return TreeFileError(self.source, element.line, problem)

    # The file

    def read(self, root: _Element) -> dict[str, Node]:
        if root.tag != "root" or root.attributes.get("BTCPP_format") != "4":
            raise self.fail(root, 'expected <root BTCPP_format="4">; older files can be converted with Groot 2')
        trees_found = [element for element in root.children if element.tag == "BehaviorTree"]
        for element in root.children:
            if element.tag == "TreeNodesModel":
                self.model(element)
            elif element.tag != "BehaviorTree":
                raise self.fail(element, f"<{element.tag}> is not supported here")
        for element in trees_found:
            name = self.required(element, "ID")
            if name in self.names:
                raise self.fail(element, f"two trees are called {name!r}; rename one")
            self.names.add(name)
        if not trees_found:
            raise self.fail(root, "the file has no <BehaviorTree>; add one")
        main = root.attributes.get("main_tree_to_execute", trees_found[0].attributes["ID"])
        if main not in self.names:
            raise self.fail(root, f"the main tree {main!r} is not in the file; known: {', '.join(sorted(self.names))}")
        trees = {element.attributes["ID"]: self.only(element) for element in trees_found}
        return {main: trees[main], **trees}

    def model(self, element: _Element) -> None:
        for entry in element.children:
            if entry.tag not in _MODEL_KINDS:
                raise self.fail(entry, f"<{entry.tag}> is not a kind of node; known: {', '.join(_MODEL_KINDS)}")
            self.kinds[self.required(entry, "ID")] = entry.tag

    # Nodes

    def node(self, element: _Element) -> Node:
        tag = element.tag
        maker = self.makers.get(tag)
        if maker is None:
            kind = self.kinds.get(tag)
            if kind in ("Action", "Condition"):
                self.no_children(element)
                leaf = Action if kind == "Action" else Condition
                return self.made(element, lambda e: leaf(tag, self.arguments(e), label=self.label(e)))
            if kind == "SubTree" or tag in self.names:
                return self.made(element, lambda e: self.subtree_of(e, tag))
            if kind is not None:
                raise self.fail(element, f"<{tag}> is a {kind} of its own, which only its own program can run")
            runnable = {name for name, kind in self.kinds.items() if kind not in ("Control", "Decorator")}
            raise self.fail(element, str(UnknownNameError("node", tag, {*self.makers, *runnable, *self.names})))
        if tag in ("Action", "Condition", "SubTree", "AlwaysSuccess", "AlwaysFailure", "Sleep", "WaitTicks"):
            self.no_children(element)
        if tag not in ("Action", "Condition", "SubTree"):
            for name in element.attributes.keys() - {"name", "_description", "_uid", "_fullpath"}:
                if name not in self.attributes.get(tag, ()):
                    raise self.fail(element, f"<{tag}> has no attribute {name!r} here")
        return self.made(element, maker)

    def made(self, element: _Element, maker: Callable[[_Element], Node]) -> Node:
        try:
            return maker(element)
        except TreeFileError:
            raise
        except TreeError as error:
            raise self.fail(element, str(error)) from error

    def nodes(self, element: _Element) -> list[Node]:
        return [self.node(child) for child in element.children]

    def only(self, element: _Element) -> Node:
        if len(element.children) != 1:
            raise self.fail(element, f"<{element.tag}> needs exactly one child, not {len(element.children)}")
        return self.node(element.children[0])

    def no_children(self, element: _Element) -> None:
        if element.children:
            raise self.fail(element.children[0], f"<{element.tag}> takes no children")

    def parallel(self, element: _Element) -> Node:
        count = len(element.children)
        good = self.integer(element, "success_count", -1)
        bad = self.integer(element, "failure_count", 1)
        return Parallel(
            *self.nodes(element),
            success_threshold=None if good == -1 else good if good >= 0 else good + count + 1,
            failure_threshold=bad if bad >= 0 else bad + count + 1,
            label=self.label(element),
        )

    def utility(self, element: _Element) -> Node:
        names = [name for name in self.required(element, "options").split(";") if name]
        children = self.nodes(element)
        if len(names) != len(children):
            raise self.fail(element, f"options names {len(names)} utility actions for {len(children)} children")
        return UtilitySelector(*zip(names, children, strict=True), label=self.label(element))

    def subtree(self, element: _Element) -> Node:
        return self.subtree_of(element, self.required(element, "ID"))

    def subtree_of(self, element: _Element, name: str) -> Node:
        remaps = element.attributes.get("_autoremap", "false")
        if remaps.lower() not in _TRUTHS:
            raise self.fail(element, f"_autoremap must be true or false, not {remaps[:40]!r}")
        return SubTree(name, self.arguments(element), autoremap=_TRUTHS[remaps.lower()], label=self.label(element))

    # Attributes

    def label(self, element: _Element) -> str:
        return element.attributes.get("name", "")

    def arguments(self, element: _Element) -> Mapping[str, Argument]:
        arguments: dict[str, Argument] = {}
        for name, value in element.attributes.items():
            if name in ("ID", "name", "_autoremap", "_description", "_uid", "_fullpath"):
                continue
            if name.startswith("_"):
                raise self.fail(element, f"the scripted attribute {name!r} is not supported; use a condition")
            try:
                arguments[name] = f"{{{name}}}" if value == SAME_NAME else _argument(value)
            except ValueError:
                raise self.fail(element, f"{name} is too large a number: {value[:40]}") from None
        return arguments

    def required(self, element: _Element, name: str) -> str:
        value = element.attributes.get(name, "")
        if not value:
            raise self.fail(element, f"<{element.tag}> needs the attribute {name!r}")
        return value

    def integer(self, element: _Element, name: str, default: int | None = None) -> int:
        text = element.attributes.get(name)
        if text is None and default is not None:
            return default
        text = self.required(element, name)
        if not _COUNT.fullmatch(text):
            raise self.fail(element, f"{name} must be a whole number, not {text[:40]!r}")
        return int(text)

    def rounds(self, element: _Element, name: str) -> int | None:
        count = self.integer(element, name)
        return None if count == -1 else count

    def ticks(self, element: _Element, name: str) -> int:
        if self.tps is None:
            raise self.fail(element, f"{element.tag} is in milliseconds; pass the ticks per second as tps=")
        msec = self.integer(element, name)
        if msec < 1:
            raise self.fail(element, f"{element.tag} needs at least 1 millisecond, not {msec}")
        return max(1, math.ceil(msec * self.tps / 1000))


def _argument(value: str) -> Argument:
    if value in ("true", "false"):
        return value == "true"
    if _NUMBER.fullmatch(value):
        number = int(value) if value.lstrip("+-").isdigit() else float(value)
        if math.isinf(number):
            raise ValueError(value)
        return number
    return value
