"""The systems that run the tactical layer; add them after the systems that write to the Blackboards.

No error of user code leaves them: an entity whose function fails is reported to `AIManager.on_error`, and
the next one follows. After a function has despawned its own entity, or removed its component, nothing more runs for it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from tickmind.ai.components import BehaviorTree, StateMachine, UtilityAgent
from tickmind.ai.errors import ActionError, CallbackError, ConditionError
from tickmind.ai.manager import AIManager
from tickmind.ai.trees.nodes import Status
from tickmind.base import is_survivable
from tickmind.tick.hooks import checked

if TYPE_CHECKING:
    from tickmind.ai.machine import State
    from tickmind.tick import System, TickContext, World

OnStatus: TypeAlias = Callable[["World", "TickContext", int, Status], None]
OnSelect: TypeAlias = Callable[["World", "TickContext", int, str, float], None]
OnTransition: TypeAlias = Callable[["World", "TickContext", int, str, str], None]


def make_bt_system(manager: AIManager, on_status: OnStatus | None = None) -> "System":
    """Make a system that runs every `BehaviorTree` once a tick.

    `on_status(world, ctx, entity_id, status)` is called when a tree ends, with success or failure. A tree in which a
    function fails ends with failure; what ran in it is halted, and it starts over in the next tick.
    """
    run_tree, running = manager.run_tree, Status.RUNNING
    if on_status is not None:
        checked(on_status, "on_status")

    def bt_system(world: "World", ctx: "TickContext") -> None:
        manager.watch(world, ctx)
        for entity_id, (tree,) in world.query(BehaviorTree):
            try:
                status = run_tree(world, ctx, entity_id, tree)
            except BaseException as error:  # noqa: BLE001  _abandoned() lets Ctrl-C through
                status = _abandoned(manager, world, ctx, entity_id, tree, error)
            if on_status is not None and status is not running and status is not None:
                _call_back(manager, "on_status", on_status, world, ctx, entity_id, status)

    return bt_system


def _abandoned(
    manager: AIManager, world: "World", ctx: "TickContext", entity_id: int, tree: BehaviorTree, error: BaseException
) -> Status | None:
    """Report a run that failed, and end it; None if the tree is no longer the entity's."""
    if not is_survivable(error):
        raise error
    manager.report(entity_id, error, ctx.tick_number)
    manager.abandon(world, ctx, entity_id, tree)
    return tree.status if world.find(entity_id, BehaviorTree) is tree else None


def make_utility_system(manager: AIManager, on_select: OnSelect | None = None) -> "System":
    """Make a system that lets every `UtilityAgent` choose once a tick.

    `on_select(world, ctx, entity_id, action, score)` is called with each choice; do the action there. An agent with
    a failing consideration chooses nothing in that tick.
    """
    if on_select is not None:
        checked(on_select, "on_select")

    def utility_system(world: "World", ctx: "TickContext") -> None:
        for entity_id, (agent,) in world.query(UtilityAgent):
            try:
                agent.selected_action, agent.score = manager.select_action(agent.selector_name, world, entity_id)
            except BaseException as error:
                if not is_survivable(error):
                    raise
                agent.selected_action, agent.score = "", 0.0
                manager.report(entity_id, error, ctx.tick_number)
            if on_select is not None and agent.selected_action and world.find(entity_id, UtilityAgent) is agent:
                _call_back(manager, "on_select", on_select, world, ctx, entity_id, agent.selected_action, agent.score)

    return utility_system


def make_state_system(manager: AIManager, on_transition: OnTransition | None = None) -> "System":
    """Make a system that runs every `StateMachine` once a tick.

    `on_transition(world, ctx, entity_id, old, new)` is called at each change of state; the first has no old one. If an
    action or condition fails, nothing more runs for that entity in that tick.
    """
    if on_transition is not None:
        checked(on_transition, "on_transition")

    def do(name: str, world: "World", ctx: "TickContext", entity_id: int, machine: StateMachine) -> bool:
        """Run an action, if there is one; return whether the machine is still the entity's."""
        if name:
            fn = manager.known_action(name)
            try:
                fn(world, ctx, entity_id)
            except BaseException as error:
                raise ActionError.from_raised(name, entity_id, error) from error
        return world.find(entity_id, StateMachine) is machine

    def next_state(state: "State", world: "World", entity_id: int) -> str:
        for name, target in state.exits:
            fn = manager.known_condition(name)
            try:
                if fn(world, entity_id):
                    return target
            except BaseException as error:
                raise ConditionError.from_raised(name, entity_id, error) from error
        return ""

    def run(world: "World", ctx: "TickContext", entity_id: int, machine: StateMachine) -> None:
        states = manager.machine(machine.machine_name).states
        old = machine.state
        known = old in states
        new = next_state(states[old], world, entity_id) if known else manager.machine(machine.machine_name).initial
        if new:
            if known and not do(states[old].leave, world, ctx, entity_id, machine):
                return
            machine.state, machine.entered_tick = new, ctx.tick_number
            if on_transition is not None:
                _call_back(manager, "on_transition", on_transition, world, ctx, entity_id, old, new)
            if world.find(entity_id, StateMachine) is not machine:
                return
            if not do(states[new].enter, world, ctx, entity_id, machine):
                return
        do(states[machine.state].do, world, ctx, entity_id, machine)

    def state_system(world: "World", ctx: "TickContext") -> None:
        for entity_id, (machine,) in world.query(StateMachine):
            try:
                run(world, ctx, entity_id, machine)
            except BaseException as error:
                if not is_survivable(error):
                    raise
                manager.report(entity_id, error, ctx.tick_number)

    return state_system


def _call_back(
    manager: AIManager,
    name: str,
    callback: Callable[..., None],
    world: "World",
    ctx: "TickContext",
    entity_id: int,
    *arguments: object,
) -> None:
    try:
        callback(world, ctx, entity_id, *arguments)
    except BaseException as error:  # noqa: BLE001  from_raised() lets Ctrl-C through
        failed = CallbackError.from_raised(name, entity_id, error)
        failed.__cause__ = error
        manager.report(entity_id, failed, ctx.tick_number)
