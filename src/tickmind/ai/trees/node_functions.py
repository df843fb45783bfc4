"""The functions that compiled trees run in place of their nodes, without lookups.

Each takes the world, the tick, the entity and the memory of its tree, and returns a `Status`. A running node's state
is in the memory under its number; `compiler` assigns the numbers.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from tickmind.ai.errors import ActionError, ConditionError, shown
from tickmind.ai.trees.nodes import Parallel, Repeater, Status

if TYPE_CHECKING:
    from tickmind.tick import TickContext, World

Memory: TypeAlias = dict[int, int]
Run: TypeAlias = Callable[["World", "TickContext", int, Memory], Status]
Halt: TypeAlias = Callable[["World", "TickContext", int, Memory, int, int], None]
ScoreFn: TypeAlias = Callable[["World", int], float]

SUCCESS, FAILURE, RUNNING = Status.SUCCESS, Status.FAILURE, Status.RUNNING
SAME = {SUCCESS: SUCCESS, FAILURE: FAILURE, RUNNING: RUNNING}
REMOVED = -(1 << 40)  # key in the memory of a tree that was removed from its entity; no node has this number


class TreeRemovedError(Exception):
    """Ends a run whose tree was removed from its entity by one of its own functions. Never leaves the manager."""


def action(name: str, fn: Callable[["World", "TickContext", int], Status]) -> Run:
    """Call an action and check what it returns."""

    def run(world: "World", ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        try:
            status = fn(world, ctx, entity_id)
        except BaseException as error:
            raise ActionError.from_raised(name, entity_id, error) from error
        if memory and REMOVED in memory:
            raise TreeRemovedError
        if status is SUCCESS or status is FAILURE or status is RUNNING:
            return status
        raise _wrong_status(name, status)

    return run


def halting_action(name: str, fn: Callable[["World", "TickContext", int], Status], number: int) -> Run:
    """Call an action that has an `on_halt`, and so must be remembered while it runs."""

    def run(world: "World", ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        try:
            status = fn(world, ctx, entity_id)
        except BaseException as error:
            raise ActionError.from_raised(name, entity_id, error) from error
        if memory and REMOVED in memory:
            raise TreeRemovedError
        if status is RUNNING:
            memory[number] = 1
        elif status is SUCCESS or status is FAILURE:
            memory.pop(number, None)
        else:
            raise _wrong_status(name, status)
        return status

    return run


def condition(name: str, fn: Callable[["World", int], bool]) -> Run:
    """Call a condition."""

    def run(world: "World", _ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        try:
            status = SUCCESS if fn(world, entity_id) else FAILURE
        except BaseException as error:
            raise ConditionError.from_raised(name, entity_id, error) from error
        if memory and REMOVED in memory:
            raise TreeRemovedError
        return status

    return run


def _wrong_status(name: str, status: object) -> ActionError:
    return ActionError(name, f"returned {shown(status)}; an action must return Status.SUCCESS, FAILURE or RUNNING")


def wait(ticks: int, number: int) -> Run:
    """Run for some ticks, then succeed."""

    def run(_world: "World", ctx: "TickContext", _entity_id: int, memory: Memory) -> Status:
        now = ctx.tick_number
        began = memory.get(number, now) if memory else now
        if now - began >= ticks:
            del memory[number]
            return SUCCESS
        memory[number] = began
        return RUNNING

    return run


def retry(attempts: int | None, number: int, child: Run) -> Run:
    """Run the child once a tick until it succeeds or the attempts are used up."""

    def run(world: "World", ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        failed = memory.pop(number, 0)
        status = child(world, ctx, entity_id, memory)
        if status is SUCCESS:
            return SUCCESS
        if status is FAILURE and attempts is not None:
            failed += 1
            if failed >= attempts:
                return FAILURE
        memory[number] = failed
        return RUNNING

    return run


def always(status: Status) -> Run:
    """Return the same status each time."""
    return lambda _world, _ctx, _entity_id, _memory: status


def ended(child: Run, ends: dict[Status, Status]) -> Run:
    """Run the child and change how it ends."""
    return lambda world, ctx, entity_id, memory: ends[child(world, ctx, entity_id, memory)]


def with_memory(number: int, runs: tuple[Run, ...], go_on: Status) -> Run:
    """Run a sequence (going on after success) or selector (after failure) that resumes at the running child."""

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


def without_memory(runs: tuple[Run, ...], starts: tuple[int, ...], go_on: Status, halt: Halt) -> Run:
    """Run a sequence or selector from the start; what was running behind the child that decides is halted."""
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


def parallel(node: Parallel, number: int, runs: tuple[Run, ...], starts: tuple[int, ...], halt: Halt) -> Run:
    """Run all children each tick until enough have ended."""
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


def utility(
    number: int, scores: tuple[ScoreFn, ...], runs: tuple[Run, ...], starts: tuple[int, ...], halt: Halt
) -> Run:
    """Run the child with the highest score, and halt the one that it replaces."""

    def run(world: "World", ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        best, choice = 0.0, -1
        for place, score in enumerate(scores):
            value = score(world, entity_id)
            if value > best:
                best, choice = value, place
        if memory and REMOVED in memory:
            raise TreeRemovedError
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


def repeater(node: Repeater, number: int, child: Run) -> Run:
    """Run the child once a tick, a number of times in all."""
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


def timeout(ticks: int, number: int, child: Run, starts: tuple[int, ...], halt: Halt) -> Run:
    """Halt a child that runs too long."""

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


def cooldown(ticks: int, number: int, child: Run) -> Run:
    """Fail for some ticks after the child has succeeded."""
    key = -1 - number

    def run(world: "World", ctx: "TickContext", entity_id: int, memory: Memory) -> Status:
        if memory and ctx.tick_number <= memory.get(key, 0):
            return FAILURE
        status = child(world, ctx, entity_id, memory)
        if status is SUCCESS:
            memory[key] = ctx.tick_number + ticks
        return status

    return run
