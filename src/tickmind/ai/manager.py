"""`AIManager`: the registry of the tactical layer, with definitions by name, shared by all entities that use them."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, overload

from tickmind.ai.components import BehaviorTree
from tickmind.ai.errors import AIError, TreeFileError, UnknownNameError
from tickmind.ai.halting import Halting, HaltingActions
from tickmind.ai.machine import Machine, State
from tickmind.ai.reports import ErrorReports, OnAIError
from tickmind.ai.trees.compiler import ActionFn, CompiledTree, ConditionFn, HaltFn, Library, compile_tree
from tickmind.ai.trees.draw import draw_tree, outline_tree
from tickmind.ai.trees.node_functions import ScoreFn, TreeRemovedError
from tickmind.ai.trees.nodes import Node, Status
from tickmind.ai.trees.xml_reader import MAX_XML_BYTES, read_trees
from tickmind.ai.trees.xml_writer import write_trees
from tickmind.ai.utility import Consideration, ConsiderationFn, UtilityAction, score
from tickmind.base import Limit, LimitExceededError
from tickmind.tick.hooks import checked

if TYPE_CHECKING:
    from tickmind.tick import TickContext, World

MAX_PAST_TREES = Limit("number of trees whose running actions can be halted, replaced ones included", 1_024)

A = TypeVar("A", bound=ActionFn)
C = TypeVar("C", bound=ConditionFn)
S = TypeVar("S", bound=ConsiderationFn)
E = TypeVar("E", bound=OnAIError)
Found = TypeVar("Found")


class AIManager:
    """Hold trees, actions, conditions, considerations, utility selectors and state machines, each under its name.

        >>> from tickmind.ai import Action, BehaviorTree, Status, make_bt_system
        >>> from tickmind.tick import Engine
        >>> manager, engine = AIManager(), Engine()
        >>> def graze(world, ctx, entity_id):
        ...     print(f"sheep {entity_id} grazes")
        ...     return Status.SUCCESS
        >>> _ = manager.register_action("graze", graze)
        >>> manager.define_tree("sheep", Action("graze"))
        >>> engine.add_system(make_bt_system(manager))  # doctest: +ELLIPSIS
        <...>
        >>> sheep = engine.world.spawn(BehaviorTree("sheep"))
        >>> engine.step()
        sheep 1 grazes

    Definitions may be added and replaced at any time and in any order; names are looked up when a tree first runs. What
    ran in a replaced tree is halted; `max_past_trees` bounds how many of them are remembered for this.

    Registered functions that fail end no tick: the systems report them to `on_error` and go on with the next entity.
    """

    def __init__(self, *, max_past_trees: Limit = MAX_PAST_TREES) -> None:
        self._trees: dict[str, Node] = {}
        self._actions: dict[str, ActionFn] = {}
        self._halts: dict[str, HaltFn] = {}
        self._conditions: dict[str, ConditionFn] = {}
        self._considerations: dict[str, ConsiderationFn] = {}
        self._utility_actions: dict[str, UtilityAction] = {}
        self._utility_selectors: dict[str, tuple[str, ...]] = {}
        self._machines: dict[str, Machine] = {}
        self._compiled: dict[str, CompiledTree] = {}  # tree name -> ready to run
        self._traced: dict[str, CompiledTree] = {}  # tree name -> ready to run and to be traced
        self._scores: dict[str, ScoreFn] = {}  # utility action -> its compiled score
        self._reports = ErrorReports()
        self._halting = Halting(self._halts, self._reports, self._halting_in, max_past_trees)
        self._library = Library(
            self._trees, self._actions, self._halts, self._conditions, self.scorer, self._halting.call
        )

    def _changed(self) -> None:
        self._compiled.clear()
        self._traced.clear()
        self._scores.clear()
        self._reports.forget()

    # Errors

    def on_error(self, callback: E) -> E:
        """Call `callback(entity_id, error_type, error_msg, tick)` when a registered function fails; a decorator too.

        The types are those of `AIErrorType`. Without a callback an error is logged, the first time that it happens.
        """
        return self._reports.add(checked(callback, "the on_error callback"))

    def off_error(self, callback: OnAIError) -> None:
        """Undo `on_error`; ignores an unknown callback."""
        self._reports.remove(callback)

    def report(self, entity_id: int, error: BaseException, tick: int) -> None:
        """Report an error to `on_error`, as the systems do."""
        self._reports.report(entity_id, error, tick)

    # Trees

    def define_tree(self, name: str, root: Node) -> None:
        """Add or replace a tree."""
        self._trees[name] = root
        self._changed()

    def tree(self, name: str) -> Node | None:
        """Return the tree of this name; None if it is not defined."""
        return self._trees.get(name)

    def trees(self) -> dict[str, Node]:
        """Return all trees by name."""
        return dict(self._trees)

    def check(self) -> None:
        """Raise `UnknownNameError` if any tree, utility action, selector or machine uses an unregistered name."""
        for name in self._trees:
            self.compiled(name)
        for name in self._utility_actions:
            self.scorer(name)
        for selector, actions in self._utility_selectors.items():
            for name in actions:
                if name not in self._utility_actions:
                    raise UnknownNameError(f"utility action (in selector {selector!r})", name, self._utility_actions)
        for machine in self._machines.values():
            for state in machine.states.values():
                for name in filter(None, (state.do, state.enter, state.leave)):
                    self.known_action(name)
                for name, _ in state.exits:
                    self.known_condition(name)

    def compiled(self, name: str, *, traced: bool = False) -> CompiledTree:
        """Return the compiled tree; made when first needed."""
        known = self._traced if traced else self._compiled
        ready = known.get(name)
        if ready is None:
            ready = known[name] = compile_tree(name, self._library, traced=traced)
            self._halting.remember(ready.shape, ready.halting)
        return ready

    def evaluate(self, world: "World", ctx: "TickContext", entity_id: int, tree: BehaviorTree) -> Status:
        """Run an entity's tree for one tick and keep the outcome in the component.

        Raises `AIError` if a function in it fails; what runs is halted then, and the status is failure. A tree that is
        removed from its entity while it runs ends there, with failure.
        """
        self.watch(world, ctx)
        try:
            return self.run_tree(world, ctx, entity_id, tree) or Status.FAILURE
        except BaseException:
            self.abandon(world, ctx, entity_id, tree)
            raise

    def watch(self, world: "World", ctx: "TickContext") -> None:
        """Halt what runs in trees of this world that are detached, replaced or despawned; call it once a tick."""
        self._halting.watch(world, ctx)

    def run_tree(self, world: "World", ctx: "TickContext", entity_id: int, tree: BehaviorTree) -> Status | None:
        """Run a tree of a watched world; None if it was removed from its entity meanwhile. Raises functions' errors."""
        ready = (self._traced if tree.traced else self._compiled).get(tree.tree_name)
        if ready is None:
            ready = self.compiled(tree.tree_name, traced=tree.traced)
        if tree.shape != ready.shape:
            self._halting.halt(world, ctx, entity_id, tree.shape, tree.memory)
            if world.find(entity_id, BehaviorTree) is not tree:
                return None
            tree.memory.clear()
            tree.shape = ready.shape
        if ready.trace is not None:
            ready.trace.statuses = tree.trace = {}
        try:
            status = tree.status = ready.run(world, ctx, entity_id, tree.memory)
        except TreeRemovedError:
            return None
        return status

    def abandon(self, world: "World", ctx: "TickContext", entity_id: int, tree: BehaviorTree) -> None:
        """Halt what runs in a tree whose run failed, so that it starts over next tick; its status is failure."""
        tree.status = Status.FAILURE
        try:
            self._halting.halt(world, ctx, entity_id, tree.shape, tree.memory)
        except (TypeError, AttributeError):  # a component with an impossible memory or shape
            tree.memory = {}
        tree.memory = tree.memory or {}

    def _halting_in(self, shape: str) -> HaltingActions:
        """Return the actions to halt in a tree that came with a snapshot, or in one of ours that has yet to run."""
        for name in self._trees:
            with suppress(AIError, LimitExceededError):  # reported for the entities that run that tree
                self.compiled(name)
        return next((ready.halting for ready in self._compiled.values() if ready.shape == shape), {})

    def draw(self, tree: str | BehaviorTree) -> str:
        """Draw a tree as text; of a traced component with the last status of each node."""
        if isinstance(tree, BehaviorTree):
            statuses = tree.trace if tree.traced else None
            return draw_tree(_known("tree", tree.tree_name, self._trees), self._trees, statuses)
        return draw_tree(_known("tree", tree, self._trees), self._trees)

    def outline(self, name: str) -> list[tuple[int, str]]:
        """Return depth and description of each node of a tree, by the numbers of a trace."""
        return outline_tree(_known("tree", name, self._trees), self._trees)

    def load_xml(self, source: str | Path, *, tps: float | None = None) -> list[str]:
        """Define the trees of a BehaviorTree.CPP 4 file (a path) or text; returns their names, the main one first.

        Tags that the file's own model does not explain count as registered actions or conditions. `tps` turns
        milliseconds into ticks where the file uses them. Raises `TreeFileError` if the file or text can't be read as
        trees.
        """
        if isinstance(source, str) and not source.lstrip().startswith("<"):
            raise TreeFileError("XML", 1, f"{source[:80]!r} is not XML; pass a file as Path(...)")
        text, where = (_text_of(source), str(source)) if isinstance(source, Path) else (source, "XML")
        trees = read_trees(text, source=where, actions=self._actions, conditions=self._conditions, tps=tps)
        self._trees.update(trees)
        self._changed()
        return list(trees)

    def save_xml(self, *names: str) -> str:
        """Write some trees (default: all) as a BehaviorTree.CPP 4 file for Groot 2; the first is the main one."""
        return write_trees({name: _known("tree", name, self._trees) for name in names or self._trees})

    # Actions and conditions

    @overload
    def register_action(self, name: str, fn: A, *, on_halt: HaltFn | None = None) -> A: ...
    @overload
    def register_action(self, name: str, *, on_halt: HaltFn | None = None) -> Callable[[A], A]: ...

    def register_action(self, name: str, fn: A | None = None, *, on_halt: HaltFn | None = None) -> A | Callable[[A], A]:
        """Add `fn(world, ctx, entity_id) -> Status`; without `fn`, as a decorator.

        `on_halt(world, ctx, entity_id)` is called when the action was running and something else takes over, and
        before its `BehaviorTree` is detached, replaced or despawned.
        """
        if on_halt is not None:
            checked(on_halt, f"the on_halt of action {name!r}")

        def register(fn: A) -> A:
            self._actions[name] = checked(fn, f"the action {name!r}")
            self._halts.pop(name, None)
            if on_halt is not None:
                self._halts[name] = on_halt
            self._changed()
            return fn

        return register if fn is None else register(fn)

    def action(self, name: str) -> ActionFn | None:
        """Return the action of this name; None if it is not registered."""
        return self._actions.get(name)

    def known_action(self, name: str) -> ActionFn:
        """Return the action of this name; raises `UnknownNameError`, which lists the nearest ones."""
        return _known("action", name, self._actions)

    @overload
    def register_condition(self, name: str, fn: C) -> C: ...
    @overload
    def register_condition(self, name: str) -> Callable[[C], C]: ...

    def register_condition(self, name: str, fn: C | None = None) -> C | Callable[[C], C]:
        """Add `fn(world, entity_id) -> bool`; without `fn`, as a decorator."""

        def register(fn: C) -> C:
            self._conditions[name] = checked(fn, f"the condition {name!r}")
            self._changed()
            return fn

        return register if fn is None else register(fn)

    def condition(self, name: str) -> ConditionFn | None:
        """Return the condition of this name; None if it is not registered."""
        return self._conditions.get(name)

    def known_condition(self, name: str) -> ConditionFn:
        """Return the condition of this name; raises `UnknownNameError`, which lists the nearest ones."""
        return _known("condition", name, self._conditions)

    # Utility

    @overload
    def register_consideration(self, name: str, fn: S) -> S: ...
    @overload
    def register_consideration(self, name: str) -> Callable[[S], S]: ...

    def register_consideration(self, name: str, fn: S | None = None) -> S | Callable[[S], S]:
        """Add `fn(world, entity_id) -> float` from 0 to 1; without `fn`, as a decorator."""

        def register(fn: S) -> S:
            self._considerations[name] = checked(fn, f"the consideration {name!r}")
            self._changed()
            return fn

        return register if fn is None else register(fn)

    def consideration(self, name: str) -> ConsiderationFn | None:
        """Return the consideration of this name; None if it is not registered."""
        return self._considerations.get(name)

    def define_utility_action(
        self, name: str, considerations: Iterable[str | Consideration], *, weight: float = 1.0
    ) -> None:
        """Define the score of an action: considerations by name, or with a response curve as `Consideration`."""
        scored = tuple(Consideration(item) if isinstance(item, str) else item for item in considerations)
        self._utility_actions[name] = UtilityAction(name, scored, weight)
        self._changed()

    def define_utility_selector(self, name: str, actions: Iterable[str]) -> None:
        """Define the utility actions that a selector chooses among; ties go to the first."""
        self._utility_selectors[name] = tuple(actions)

    def utility_selector(self, name: str) -> tuple[str, ...] | None:
        """Return the actions of a selector; None if it is not defined."""
        return self._utility_selectors.get(name)

    def scorer(self, name: str) -> ScoreFn:
        """Return the compiled score of a utility action."""
        ready = self._scores.get(name)
        if ready is None:
            action = _known("utility action", name, self._utility_actions)
            fns = tuple(_known("consideration", item.name, self._considerations) for item in action.considerations)
            ready = self._scores[name] = lambda world, entity_id: score(action, fns, world, entity_id)
        return ready

    def score_action(self, name: str, world: "World", entity_id: int) -> float:
        """Return the score of an action now."""
        return self.scorer(name)(world, entity_id)

    def select_action(self, selector: str, world: "World", entity_id: int) -> tuple[str, float]:
        """Return the best action of a selector and its score; `("", 0.0)` if all score 0."""
        best, choice = 0.0, ""
        for name in _known("utility selector", selector, self._utility_selectors):
            value = self.scorer(name)(world, entity_id)
            if value > best:
                best, choice = value, name
        return choice, best

    # State machines

    def define_machine(self, name: str, *, initial: str, states: Mapping[str, State]) -> None:
        """Add or replace a state machine."""
        self._machines[name] = Machine(initial, dict(states))

    def machine(self, name: str) -> Machine:
        """Return the state machine of this name."""
        return _known("state machine", name, self._machines)


def _text_of(file: Path) -> str:
    with file.open("rb") as opened:
        raw = opened.read(int(MAX_XML_BYTES.maximum) + 1)
    MAX_XML_BYTES.check(len(raw))
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise TreeFileError(str(file), line, "the file is not UTF-8; save it as UTF-8") from error


def _known(kind: str, name: str, known: Mapping[str, Found]) -> Found:
    if name not in known:
        raise UnknownNameError(kind, name, known)
    return known[name]
