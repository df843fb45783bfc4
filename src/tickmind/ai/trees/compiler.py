"""Compile trees: each node becomes one of `node_functions`, so that running a tree needs no lookups.

Nodes are numbered in the order of the drawing, subtrees included. A node's number is its key in the entity's memory;
the numbers below a node are one range, so that halting it means forgetting that range. Cooldowns use negative keys,
because they outlive a halt.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias

from tickmind.ai.errors import TreeError, UnknownNameError
from tickmind.ai.trees import node_functions
from tickmind.ai.trees.arguments import Scope, resolver
from tickmind.ai.trees.draw import describe
from tickmind.ai.trees.node_functions import (
    FAILURE,
    REMOVED,
    RUNNING,
    SAME,
    SUCCESS,
    Memory,
    Run,
    ScoreFn,
    TreeRemovedError,
)
from tickmind.ai.trees.nodes import (
    Action,
    AlwaysFail,
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
from tickmind.base import Limit

if TYPE_CHECKING:
    from tickmind.tick import TickContext, World

ActionFn: TypeAlias = Callable[..., Status]  # (world, ctx, entity_id, **arguments)
ConditionFn: TypeAlias = Callable[..., bool]  # (world, entity_id, **arguments)
HaltFn: TypeAlias = Callable[["World", "TickContext", int], None]

MAX_TREE_NODES = Limit("number of nodes in a tree, its subtrees included", 10_000)
MAX_TREE_DEPTH = Limit("depth of a tree, its subtrees included", 100)


@dataclass(frozen=True, slots=True)
class Library:
    """The names that trees may use."""

    trees: dict[str, Node]
    actions: dict[str, ActionFn]
    halts: dict[str, HaltFn]  # action name -> its on_halt
    conditions: dict[str, ConditionFn]
    score: Callable[[str], ScoreFn]  # utility action name -> its score
    call_halt: Callable[[str, "World", "TickContext", int], None]  # runs the halt of an action; never raises


@dataclass(slots=True)
class Trace:
    """The record of what each node returned in a traced run."""

    statuses: dict[int, Status] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompiledTree:
    """A tree ready to run."""

    run: Run
    shape: str
    trace: Trace | None
    halting: dict[int, str]  # node number -> action with an on_halt


def compile_tree(name: str, library: Library, *, traced: bool = False) -> CompiledTree:
    """Compile a tree; raises `UnknownNameError` for an unregistered name."""
    root = library.trees.get(name)
    if root is None:
        raise UnknownNameError("tree", name, library.trees)
    trace = Trace() if traced else None
    compiler = _Compiler(library, trace, name)
    run = compiler.build(root, (name,), None)
    shape = sha256("\n".join(compiler.outline).encode()).hexdigest()[:16]
    return CompiledTree(run, shape, trace, compiler.halting)


class _Compiler:
    def __init__(self, library: Library, trace: Trace | None, tree: str) -> None:
        self.library = library
        self.trace = trace
        self.tree = tree
        self.outline: list[str] = []  # one line per node; two trees with the same lines can share memories
        self.count = 0
        self.depth = 0
        self.halting: dict[int, str] = {}  # node number -> name of an action that has an on_halt

    def build(self, node: Node, path: tuple[str, ...], scope: Scope | None) -> Run:
        number = self.count
        self.count += 1
        self.depth += 1
        MAX_TREE_NODES.check(self.count)
        MAX_TREE_DEPTH.check(self.depth)
        options = [name for name, _ in node.options] if isinstance(node, UtilitySelector) else []
        self.outline.append(f"{self.depth} {describe(node)} {options}")
        if isinstance(node, SubTree):
            run = self._subtree(node, path, scope)
        else:
            starts, runs = [], []
            for child in children_of(node):
                starts.append(self.count)
                runs.append(self.build(child, path, scope))
            run = self._make(node, number, tuple(runs), (*starts, self.count), scope)
        self.depth -= 1
        return run if self.trace is None else _traced(run, number, self.trace)

    def _subtree(self, node: SubTree, path: tuple[str, ...], scope: Scope | None) -> Run:
        if node.name in path:
            raise TreeError(f"subtrees contain each other: {' > '.join((*path, node.name))}")
        root = self.library.trees.get(node.name)
        if root is None:
            raise UnknownNameError("tree", node.name, self.library.trees)
        if node.ports or not node.autoremap:
            scope = Scope(node.name, dict(node.ports), node.autoremap, scope)
        return self.build(root, (*path, node.name), scope)

    def _make(
        self, node: Node, number: int, runs: tuple[Run, ...], starts: tuple[int, ...], scope: Scope | None
    ) -> Run:
        """Return the function of one node. `starts` are the children's numbers, and the first number after them."""
        match node:
            case Action():
                return self._action(node, number, scope)
            case Condition():
                return self._condition(node, scope)
            case Sequence(memory=True):
                return node_functions.with_memory(number, runs, SUCCESS)
            case Selector(memory=True):
                return node_functions.with_memory(number, runs, FAILURE)
            case Sequence():
                return node_functions.without_memory(runs, starts, SUCCESS, self._halt)
            case Selector():
                return node_functions.without_memory(runs, starts, FAILURE, self._halt)
            case Parallel():
                return node_functions.parallel(node, number, runs, starts, self._halt)
            case UtilitySelector():
                scores = tuple(self.library.score(option) for option, _ in node.options)
                return node_functions.utility(number, scores, runs, starts, self._halt)
            case Inverter():
                return node_functions.ended(runs[0], {SUCCESS: FAILURE, FAILURE: SUCCESS, RUNNING: RUNNING})
            case Succeeder():
                return _forced(runs, FAILURE, SUCCESS)
            case AlwaysFail():
                return _forced(runs, SUCCESS, FAILURE)
            case Repeater():
                return node_functions.repeater(node, number, runs[0])
            case Timeout():
                return node_functions.timeout(node.ticks, number, runs[0], starts, self._halt)
            case Cooldown():
                return node_functions.cooldown(node.ticks, number, runs[0])
            case Retry():
                return node_functions.retry(node.attempts, number, runs[0])
            case Wait():
                return node_functions.wait(node.ticks, number)
            case SubTree():
                raise AssertionError("subtrees are built in place")

    def _action(self, node: Action, number: int, scope: Scope | None) -> Run:
        fn = self.library.actions.get(node.name)
        if fn is None:
            raise UnknownNameError(f"action (in tree {self.tree!r})", node.name, self.library.actions)
        call: Callable[[World, TickContext, int], Status] = fn
        if node.arguments:
            resolve = resolver(node.arguments, scope)

            def call(world: "World", ctx: "TickContext", entity_id: int) -> Status:
                return fn(world, ctx, entity_id, **resolve(world, entity_id))

        if node.name in self.library.halts:
            self.halting[number] = node.name
            return node_functions.halting_action(node.name, call, number)
        return node_functions.action(node.name, call)

    def _condition(self, node: Condition, scope: Scope | None) -> Run:
        fn = self.library.conditions.get(node.name)
        if fn is None:
            raise UnknownNameError(f"condition (in tree {self.tree!r})", node.name, self.library.conditions)
        call: Callable[[World, int], bool] = fn
        if node.arguments:
            resolve = resolver(node.arguments, scope)

            def call(world: "World", entity_id: int) -> bool:
                return fn(world, entity_id, **resolve(world, entity_id))

        return node_functions.condition(node.name, call)

    def _halt(self, world: "World", ctx: "TickContext", entity_id: int, memory: Memory, low: int, high: int) -> None:
        """Forget what runs among the nodes of a range, and run the on_halt of the actions that have one."""
        for number in [key for key in memory if low <= key < high]:
            if memory.pop(number, None) is not None and number in self.halting:  # an on_halt may halt the rest itself
                self.library.call_halt(self.halting[number], world, ctx, entity_id)
        if REMOVED in memory:
            raise TreeRemovedError


def _forced(runs: tuple[Run, ...], changed: Status, to: Status) -> Run:
    return node_functions.ended(runs[0], {**SAME, changed: to}) if runs else node_functions.always(to)


def _traced(run: Run, number: int, trace: Trace) -> Run:
    def traced(world: "World", ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        status = run(world, ctx, entity_id, memory)
        trace.statuses[number] = status
        return status

    return traced
