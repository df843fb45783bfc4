"""`Halting`: runs the `on_halt` of running actions when their tree is replaced, abandoned or removed."""

import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tickmind.ai.components import BehaviorTree
from tickmind.ai.errors import HaltError
from tickmind.ai.trees.compiler import HaltFn
from tickmind.ai.trees.node_functions import REMOVED, Memory
from tickmind.base import Limit

if TYPE_CHECKING:
    from tickmind.ai.reports import ErrorReports
    from tickmind.tick import TickContext, World

HaltingActions = dict[int, str]  # node number -> action that has an on_halt


class Halting:
    """Know which actions of which tree have an `on_halt`, also in replaced trees, and run them.

    An `on_halt` that raises is reported, and the others follow.
    """

    def __init__(
        self,
        halts: Mapping[str, HaltFn],
        reports: "ErrorReports",
        find: Callable[[str], HaltingActions],
        max_past_trees: Limit,
    ) -> None:
        self._halts = halts
        self._reports = reports
        self._find = find  # shape -> its actions, for a tree that came with a snapshot
        self._max_past_trees = max_past_trees
        self._known: dict[str, HaltingActions] = {}  # shape, also of a past tree -> its actions; the newest is last
        self._watches: weakref.WeakKeyDictionary[World, weakref.ref[_Watch]] = weakref.WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._known)

    def remember(self, shape: str, actions: HaltingActions) -> None:
        """Add a tree, and forget the oldest ones above the limit."""
        self._known.pop(shape, None)
        self._known[shape] = actions
        while not self._max_past_trees.allows(len(self._known)):
            del self._known[next(iter(self._known))]

    def watch(self, world: "World", ctx: "TickContext") -> None:
        """From now on halt what runs in the trees of a world when they are detached, replaced or despawned."""
        known = self._watches.get(world)
        watch = None if known is None else known()
        if watch is None:
            watch = _Watch(self)
            world.on_removing(BehaviorTree, watch.removed)  # the world keeps it alive, and nothing keeps the world
            self._watches[world] = weakref.ref(watch)
        watch.ctx = ctx

    def call(self, name: str, world: "World", ctx: "TickContext", entity_id: int) -> None:
        """Run the `on_halt` of an action, if it has one; report what it raises."""
        halt = self._halts.get(name)
        if halt is None:
            return
        try:
            halt(world, ctx, entity_id)
        except BaseException as error:  # noqa: BLE001  from_raised() lets Ctrl-C through
            failed = HaltError.from_raised(name, entity_id, error)
            failed.__cause__ = error
            self._reports.report(entity_id, failed, ctx.tick_number)

    def halt(self, world: "World", ctx: "TickContext", entity_id: int, shape: str, memory: Memory) -> None:
        """Halt all that runs in a tree, and leave only its cooldowns in the memory."""
        if not memory:
            return
        actions = self._known.get(shape)
        if actions is None:
            actions = self._find(shape)
            self.remember(shape, actions)
        for number in sorted(key for key in memory if key >= 0):
            if memory.pop(number, None) is not None and number in actions:  # an on_halt may halt the rest itself
                self.call(actions[number], world, ctx, entity_id)


class _Watch:
    """Watch the removal of one world's trees."""

    __slots__ = ("__weakref__", "_halting", "ctx")

    ctx: "TickContext"  # of the last tick in which trees ran

    def __init__(self, halting: Halting) -> None:
        self._halting = halting

    def removed(self, world: "World", entity_id: int, tree: BehaviorTree) -> None:
        """Halt what runs; a run of this tree that is under way ends with its current function."""
        memory = tree.memory
        self._halting.halt(world, self.ctx, entity_id, tree.shape, memory)
        tree.memory = dict(memory)  # cooldowns stay with a component that is attached again
        memory[REMOVED] = 1
