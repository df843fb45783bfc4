"""`Machine`: a small state machine; each state has actions, and conditions that lead out of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from tickmind.ai.errors import AIError


@dataclass(frozen=True, slots=True)
class State:
    """One state, by the names of registered actions and conditions.

    `exits` are tried in order before `do` runs; the first whose condition holds leads to its target, whose `enter` and
    `do` run in the same tick. At most one exit is taken per tick.
    """

    do: str = ""
    exits: tuple[tuple[str, str], ...] = ()  # condition, target state
    enter: str = ""
    leave: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """States by name, and the one to start in.

    Raises `AIError` if the start or an exit leads to a state that is not there.

    >>> Machine("graze", {"graze": State("eat", exits=(("wolf is near", "flee"),)), "flee": State("run")}).initial
    'graze'
    """

    initial: str
    states: Mapping[str, State]

    def __post_init__(self) -> None:
        for source, target in [("the start", self.initial)] + [
            (f"state {name!r}", target) for name, state in self.states.items() for _, target in state.exits
        ]:
            if target not in self.states:
                raise AIError(f"{source} leads to {target!r}, which is not a state; known: {', '.join(self.states)}")
