"""Trees to functions: each node becomes a closure, so that running a tree looks nothing up.

Nodes are numbered in the order of the drawing, subtrees included. A node's number is its key in the entity's memory;
the numbers below a node are one range, so that halting it means forgetting that range. Cooldowns use negative keys,
because they outlive a halt.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

from tickmind.ai.blackboard import Blackboard
from tickmind.ai.draw import describe
from tickmind.ai.errors import AIError, TreeError, UnknownNameError
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
    Status,
    SubTree,
    Succeeder,
    Timeout,
    UtilitySelector,
    children_of,
)
from tickmind.base import Limit

if TYPE_CHECKING:
    from tickmind.tick import TickContext, World

Memory: TypeAlias = dict[int, int]
Run: TypeAlias = Callable[["World", "TickContext", int, Memory], Status]
ActionFn: TypeAlias = Callable[..., Status]  # (world, ctx, entity_id, **arguments)
ConditionFn: TypeAlias = Callable[..., bool]  # (world, entity_id, **arguments)
HaltFn: TypeAlias = Callable[["World", "TickContext", int], None]
ScoreFn: TypeAlias = Callable[["World", int], float]

MAX_TREE_NODES = Limit("number of nodes in a tree, its subtrees included", 10_000)
MAX_TREE_DEPTH = Limit("depth of a tree, its subtrees included", 100)

SUCCESS, FAILURE, RUNNING = Status.SUCCESS, Status.FAILURE, Status.RUNNING


@dataclass(frozen=True, slots=True)
class Library:
    """The names that trees may use."""

    trees: dict[str, Node]
    actions: dict[str, ActionFn]
    halts: dict[str, HaltFn]  # action name -> what to do when it is halted
    conditions: dict[str, ConditionFn]
    score: Callable[[str], ScoreFn]  # utility action name -> its score


@dataclass(slots=True)
class Trace:
    """Where a traced run notes what each node returned."""

    statuses: dict[int, Status] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompiledTree:
    """A tree ready to run."""

    run: Run
    shape: str
    trace: Trace | None
    halting: dict[int, str]  # node number -> action, for those that want to know when they are halted


def compile_tree(name: str, library: Library, *, traced: bool = False) -> CompiledTree:
    """Make a tree runnable; every name in it must be known."""
    root = library.trees.get(name)
    if root is None:
        raise UnknownNameError("tree", name, library.trees)
    trace = Trace() if traced else None
    compiler = _Compiler(library, trace, name)
    run = compiler.build(root, (name,))
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
        self.halts: dict[int, HaltFn] = {}  # node number -> what to do when that action is halted
        self.halting: dict[int, str] = {}  # the same node number -> name of that action

    def build(self, node: Node, path: tuple[str, ...]) -> Run:
        number = self.count
        self.count += 1
        self.depth += 1
        MAX_TREE_NODES.check(self.count)
        MAX_TREE_DEPTH.check(self.depth)
        options = [name for name, _ in node.options] if isinstance(node, UtilitySelector) else []
        self.outline.append(f"{self.depth} {describe(node)} {options}")
        if isinstance(node, SubTree):
            run = self._subtree(node, path)
        else:
            starts, runs = [], []
            for child in children_of(node):
                starts.append(self.count)
                runs.append(self.build(child, path))
            run = self._make(node, number, tuple(runs), (*starts, self.count))
        self.depth -= 1
        return run if self.trace is None else _traced(run, number, self.trace)

    def _subtree(self, node: SubTree, path: tuple[str, ...]) -> Run:
        if node.name in path:
            raise TreeError(f"subtrees contain each other: {' > '.join((*path, node.name))}")
        root = self.library.trees.get(node.name)
        if root is None:
            raise UnknownNameError("tree", node.name, self.library.trees)
        return self.build(root, (*path, node.name))

    def _make(self, node: Node, number: int, runs: tuple[Run, ...], starts: tuple[int, ...]) -> Run:
        """The closure of one node. `starts` are the children's numbers, and the first number after them."""
        match node:
            case Action():
                return self._action(node, number)
            case Condition():
                return self._condition(node)
            case Sequence(memory=True):
                return _with_memory(number, runs, SUCCESS)
            case Selector(memory=True):
                return _with_memory(number, runs, FAILURE)
            case Sequence():
                return _without_memory(runs, starts, SUCCESS, self._halt)
            case Selector():
                return _without_memory(runs, starts, FAILURE, self._halt)
            case Parallel():
                return _parallel(node, number, runs, starts, self._halt)
            case UtilitySelector():
                scores = tuple(self.library.score(option) for option, _ in node.options)
                return _utility(number, scores, runs, starts, self._halt)
            case Inverter():
                return _ended(runs[0], {SUCCESS: FAILURE, FAILURE: SUCCESS, RUNNING: RUNNING})
            case Succeeder():
                return _ended(runs[0], {**_SAME, FAILURE: SUCCESS}) if runs else _always(SUCCESS)
            case AlwaysFail():
                return _ended(runs[0], {**_SAME, SUCCESS: FAILURE}) if runs else _always(FAILURE)
            case Repeater():
                return _repeater(node, number, runs[0])
            case Timeout():
                return _timeout(node.ticks, number, runs[0], starts, self._halt)
            case Cooldown():
                return _cooldown(node.ticks, number, runs[0])
            case SubTree():
                raise AssertionError("subtrees are built in place")

    def _action(self, node: Action, number: int) -> Run:
        fn = self.library.actions.get(node.name)
        if fn is None:
            raise UnknownNameError(f"action (in tree {self.tree!r})", node.name, self.library.actions)
        call: Callable[[World, TickContext, int], Status] = fn
        if node.arguments:
            resolve = _resolver(node.arguments)

            def call(world: "World", ctx: "TickContext", entity_id: int) -> Status:
                return fn(world, ctx, entity_id, **resolve(world, entity_id))

        halt = self.library.halts.get(node.name)
        if halt is not None:
            self.halts[number] = halt
            self.halting[number] = node.name
            return _halting_action(node.name, call, number)
        return _action(node.name, call)

    def _condition(self, node: Condition) -> Run:
        fn = self.library.conditions.get(node.name)
        if fn is None:
            raise UnknownNameError(f"condition (in tree {self.tree!r})", node.name, self.library.conditions)
        if node.arguments:
            resolve = _resolver(node.arguments)

            def asked(world: "World", _ctx: "TickContext", entity_id: int, _memory: Memory) -> Status:
                return SUCCESS if fn(world, entity_id, **resolve(world, entity_id)) else FAILURE

            return asked

        def run(world: "World", _ctx: "TickContext", entity_id: int, _memory: Memory) -> Status:
            return SUCCESS if fn(world, entity_id) else FAILURE

        return run

    def _halt(self, world: "World", ctx: "TickContext", entity_id: int, memory: Memory, low: int, high: int) -> None:
        """Forget what runs among the nodes of a range, and tell the actions that want to know."""
        for number in [key for key in memory if low <= key < high]:
            del memory[number]
            if number in self.halts:
                self.halts[number](world, ctx, entity_id)


Halt: TypeAlias = Callable[["World", "TickContext", int, Memory, int, int], None]
_SAME = {SUCCESS: SUCCESS, FAILURE: FAILURE, RUNNING: RUNNING}


def _traced(run: Run, number: int, trace: Trace) -> Run:
    def traced(world: "World", ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        status = run(world, ctx, entity_id, memory)
        trace.statuses[number] = status
        return status

    return traced


def _resolver(arguments: tuple[tuple[str, Argument], ...]) -> Callable[["World", int], dict[str, Any]]:
    """Arguments as keywords, with `{key}` read from the entity's Blackboard."""
    fixed = dict(arguments)
    keys = {n: v[1:-1] for n, v in arguments if isinstance(v, str) and v.startswith("{") and v.endswith("}")}

    def resolve(world: "World", entity_id: int) -> dict[str, Any]:
        if not keys:
            return fixed
        data = world.get(entity_id, Blackboard).data
        return {**fixed, **{name: data.get(key) for name, key in keys.items()}}

    return resolve


def _wrong_status(name: str, status: object) -> AIError:
    return AIError(f"action {name!r} returned {status!r}; an action returns Status.SUCCESS, FAILURE or RUNNING")


def _action(name: str, fn: Callable[["World", "TickContext", int], Status]) -> Run:
    def run(world: "World", ctx: "TickContext", entity_id: int, _memory: Memory) -> Status:
        status = fn(world, ctx, entity_id)
        if status is SUCCESS or status is FAILURE or status is RUNNING:
            return status
        raise _wrong_status(name, status)

    return run


def _halting_action(name: str, fn: Callable[["World", "TickContext", int], Status], number: int) -> Run:
    """An action that wants to know when it is halted, and so must be remembered while it runs."""

    def run(world: "World", ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        status = fn(world, ctx, entity_id)
        if status is RUNNING:
            memory[number] = 1
        elif status is SUCCESS or status is FAILURE:
            memory.pop(number, None)
        else:
            raise _wrong_status(name, status)
        return status

    return run


def _always(status: Status) -> Run:
    return lambda _world, _ctx, _entity_id, _memory: status


def _ended(child: Run, ends: dict[Status, Status]) -> Run:
    return lambda world, ctx, entity_id, memory: ends[child(world, ctx, entity_id, memory)]


def _with_memory(number: int, runs: tuple[Run, ...], go_on: Status) -> Run:
    """A sequence (going on after success) or selector (after failure) that resumes at the child that was running."""

    def run(world: "World", ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        pending = runs[memory.pop(number) :] if memory and number in memory else runs
        for child in pending:
            status = child(world, ctx, entity_id, memory)
            if status is not go_on:
                if status is RUNNING:
                    memory[number] = runs.index(child)
                return status
        return go_on

    return run


def _without_memory(runs: tuple[Run, ...], starts: tuple[int, ...], go_on: Status, halt: Halt) -> Run:
    """A sequence or selector that asks from the start; what was running behind the child that decides is halted."""
    end = starts[-1]

    def run(world: "World", ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        for child in runs:
            status = child(world, ctx, entity_id, memory)
            if status is not go_on:
                if memory:
                    halt(world, ctx, entity_id, memory, starts[runs.index(child) + 1], end)
                return status
        return go_on

    return run


def _parallel(node: Parallel, number: int, runs: tuple[Run, ...], starts: tuple[int, ...], halt: Halt) -> Run:
    count = len(runs)
    enough_good = count if node.success_threshold is None else node.success_threshold
    enough_bad = node.failure_threshold
    every = (1 << count) - 1

    def run(world: "World", ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        ended = memory.pop(number, 0)  # one bit per child that succeeded, above them one per child that failed
        good, bad = ended & every, ended >> count
        for place, child in enumerate(runs):
            if not (good | bad) >> place & 1:
                status = child(world, ctx, entity_id, memory)
                if status is SUCCESS:
                    good |= 1 << place
                elif status is FAILURE:
                    bad |= 1 << place
        if good.bit_count() >= enough_good:
            status = SUCCESS
        elif bad.bit_count() >= enough_bad or count - bad.bit_count() < enough_good:
            status = FAILURE
        else:
            memory[number] = good | bad << count
            return RUNNING
        if memory:
            halt(world, ctx, entity_id, memory, starts[0], starts[-1])
        return status

    return run


def _utility(
    number: int, scores: tuple[ScoreFn, ...], runs: tuple[Run, ...], starts: tuple[int, ...], halt: Halt
) -> Run:
    def run(world: "World", ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        best, choice = 0.0, -1
        for place, score in enumerate(scores):
            value = score(world, entity_id)
            if value > best:
                best, choice = value, place
        before = memory.pop(number, choice)
        if before != choice:
            halt(world, ctx, entity_id, memory, starts[before], starts[before + 1])
        if choice < 0:
            return FAILURE
        status = runs[choice](world, ctx, entity_id, memory)
        if status is RUNNING:
            memory[number] = choice
        return status

    return run


def _repeater(node: Repeater, number: int, child: Run) -> Run:
    ends_on_failure = node.fail_policy == "fail"
    times = node.times

    def run(world: "World", ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        done = memory.pop(number, 0)
        status = child(world, ctx, entity_id, memory)
        if status is FAILURE and ends_on_failure:
            return FAILURE
        if status is not RUNNING:
            done += 1
            if times is not None and done >= times:
                return SUCCESS
        memory[number] = done if times is not None else 0
        return RUNNING

    return run


def _timeout(ticks: int, number: int, child: Run, starts: tuple[int, ...], halt: Halt) -> Run:
    def run(world: "World", ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        now = ctx.tick_number
        began = memory.pop(number, now)
        if now - began >= ticks:
            halt(world, ctx, entity_id, memory, starts[0], starts[-1])
            return FAILURE
        status = child(world, ctx, entity_id, memory)
        if status is RUNNING:
            memory[number] = began
        return status

    return run


def _cooldown(ticks: int, number: int, child: Run) -> Run:
    key = -1 - number

    def run(world: "World", ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        if memory and ctx.tick_number <= memory.get(key, 0):
            return FAILURE
        status = child(world, ctx, entity_id, memory)
        if status is SUCCESS:
            memory[key] = ctx.tick_number + ticks
        return status

    return run
