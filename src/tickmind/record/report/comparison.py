"""Compare two runs: the state of the world after each tick, and every thought with its prompt."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

from tickmind.llm.texts import first_difference

if TYPE_CHECKING:
    from tickmind.protocol import EntityInfo
    from tickmind.record.reader import RunReader

ComparedThought: TypeAlias = tuple[int, str, int, str, str, str, str]
"""The tick of the question, the actor, the tick of the answer, both parts of the prompt, the error and the reply."""
_PARTS = ("tick of the question", "actor", "tick of the answer", "system prompt", "user message", "error", "reply")


@dataclass(frozen=True, slots=True)
class RunComparison:
    """The outcome: how much was compared, and the first difference of each kind in words; empty if there is none."""

    ticks: int
    thoughts: int
    state_difference: str = ""
    thought_difference: str = ""
    first_tick_id: int | None = None  # after which the states differ; None if they never do

    @property
    def equal(self) -> bool:
        """Whether the runs are the same."""
        return not (self.state_difference or self.thought_difference)


def compare_runs(
    first: "RunReader", second: "RunReader", since: int | None = None, until: int | None = None
) -> RunComparison:
    """Compare the states of the world and the thoughts of two runs, of all ticks or of some.

    A thought that was reported twice, because a process was killed before it knew that the world had it, counts once.
    """
    if first.info.name != second.info.name:
        return RunComparison(0, 0, f"they are runs of other worlds: {first.info.name} and {second.info.name}")
    if first.info.actors != second.info.actors:
        pairs = zip_longest(first.info.actors, second.info.actors)
        one, other = next(pair for pair in pairs if pair[0] != pair[1])
        return RunComparison(0, 0, f"they have other actors: {_actor(one)} and {_actor(other)}")
    ticks, state_difference, first_tick_id = 0, "", None
    for one, other in zip_longest(first.records(since, until), second.records(since, until)):
        if one is None or other is None:
            longer, record = (first, one) if one is not None else (second, other)
            state_difference = f"only {longer.run_id} has tick {record.tick_id}"
            break
        if (one.tick_id, one.state_hash) != (other.tick_id, other.state_hash):
            seeds = first.info.seed, second.info.seed
            why = f", with the seeds {seeds[0]} and {seeds[1]}" if seeds[0] != seeds[1] else ""
            state_difference = f"the worlds differ after tick {one.tick_id}{why}"
            first_tick_id = one.tick_id
            break
        ticks += 1
    ours, theirs = _thoughts(first, since, until), _thoughts(second, since, until)
    thought_difference = _difference(first, ours, second, theirs)
    return RunComparison(ticks, len(ours), state_difference, thought_difference, first_tick_id)


def _actor(actor: "EntityInfo | None") -> str:
    return "none" if actor is None else f"{actor.entity_id} ({actor.type}{''.join(f', {tag}' for tag in actor.tags)})"


def _thoughts(run: "RunReader", since: int | None, until: int | None) -> list[ComparedThought]:
    return sorted(set(_compared(run, since, until)))


def _compared(run: "RunReader", since: int | None, until: int | None) -> Iterator[ComparedThought]:
    for report in run.thoughts(since, until):
        thought = report.thought
        yield (
            thought.asked_tick,
            report.entity_id,
            thought.answered_tick,
            thought.system_prompt,
            thought.user_message,
            f"{thought.error_type}: {thought.error}" if thought.error_type else "",
            thought.reply,
        )


def _difference(
    first: "RunReader", ours: list[ComparedThought], second: "RunReader", theirs: list[ComparedThought]
) -> str:
    for one, other in zip_longest(ours, theirs):
        if one == other:
            continue
        if one is None or other is None or one[:2] != other[:2]:
            longer, thought = (first, one) if other is None or (one is not None and one < other) else (second, other)
            return f"only {longer.run_id} has a thought of {thought[1]} in tick {thought[0]}"
        part = next(at for at, (left, right) in enumerate(zip(one, other, strict=True)) if left != right)
        return f"the {_PARTS[part]} of {one[1]} in tick {one[0]}: {_shown(one[part], other[part])}"
    return ""


def _shown(one: object, other: object) -> str:
    _, left, right = first_difference(str(one), str(other))
    return f"{left!r} and {right!r}"
