"""The systems that run the tactical layer; add them after whatever writes to the Blackboards."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from tickmind.ai.components import BehaviorTree, StateMachine, UtilityAgent
from tickmind.ai.manager import AIManager
from tickmind.ai.nodes import Status

if TYPE_CHECKING:
    from tickmind.tick import System, TickContext, World

OnStatus: TypeAlias = Callable[["World", "TickContext", int, Status], None]
OnSelect: TypeAlias = Callable[["World", "TickContext", int, str, float], None]
OnTransition: TypeAlias = Callable[["World", "TickContext", int, str, str], None]


def make_bt_system(manager: AIManager, on_status: OnStatus | None = None) -> "System":
    """A system that runs every `BehaviorTree` once a tick.

    `on_status(world, ctx, entity_id, status)` is called when a tree ends, with success or failure.
    """
    evaluate, running = manager.evaluate, Status.RUNNING

    def bt_system(world: "World", ctx: "TickContext") -> None:
        for entity_id, (tree,) in world.query(BehaviorTree):
            status = evaluate(world, ctx, entity_id, tree)
            if on_status is not None and status is not running:
                on_status(world, ctx, entity_id, status)

    return bt_system


def make_utility_system(manager: AIManager, on_select: OnSelect | None = None) -> "System":
    """A system that lets every `UtilityAgent` choose once a tick.

    `on_select(world, ctx, entity_id, action, score)` is called with each choice; do the action there.
    """

    def utility_system(world: "World", ctx: "TickContext") -> None:
        for entity_id, (agent,) in world.query(UtilityAgent):
            agent.selected_action, agent.score = manager.select_action(agent.selector_name, world, entity_id)
            if on_select is not None and agent.selected_action:
                on_select(world, ctx, entity_id, agent.selected_action, agent.score)

    return utility_system


def make_state_system(manager: AIManager, on_transition: OnTransition | None = None) -> "System":
    """A system that runs every `StateMachine` once a tick.

    `on_transition(world, ctx, entity_id, old, new)` is called at each change of state; the first has no old one.
    """

    def do(name: str, world: "World", ctx: "TickContext", entity_id: int) -> None:
        if name:
            manager.known_action(name)(world, ctx, entity_id)

    def state_system(world: "World", ctx: "TickContext") -> None:
        for entity_id, (machine,) in world.query(StateMachine):
            definition = manager.machine(machine.machine_name)
            old = machine.state
            if old not in definition.states:
                new = definition.initial
            else:
                exits = definition.states[old].exits
                new = next((target for name, target in exits if manager.known_condition(name)(world, entity_id)), "")
            if new:
                if old in definition.states:
                    do(definition.states[old].leave, world, ctx, entity_id)
                machine.state, machine.entered_tick = new, ctx.tick_number
                if on_transition is not None:
                    on_transition(world, ctx, entity_id, old, new)
                do(definition.states[new].enter, world, ctx, entity_id)
            do(definition.states[machine.state].do, world, ctx, entity_id)

    return state_system
