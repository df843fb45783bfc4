"""`ToolContext`: what a tool knows about its call. `Interrupt`: how it asks a person."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic

from tickmind.tools.typevars import DepsT


@dataclass(frozen=True, slots=True)
class ToolContext(Generic[DepsT]):
    """The call that a tool serves. A tool gets it through a parameter of this type; models don't see it.

    `deps` is what the program gave the agent for its tools: `def look(ctx: ToolContext[Village])` reads `ctx.deps`.
    `answer` is what a person replied when this very call asked with `Interrupt(..., rerun=True)` before.
    """

    agent_id: str = ""
    run_id: str = ""
    step: int = 0
    call_id: str = ""
    tool: str = ""
    answer: Any = None
    deps: DepsT = None  # type: ignore[assignment]  # a tool without deps does not read them


class Interrupt(Exception):  # noqa: N818 - a question, not an error
    """Raised or returned by a tool that needs an answer from outside: the run stops and can be resumed, even elsewhere.

    The answer becomes the tool's result; with `rerun` the tool is called again and finds it in `ToolContext.answer`.
    """

    def __init__(self, question: str, *, details: Mapping[str, Any] | None = None, rerun: bool = False) -> None:
        super().__init__(question)
        self.question = question
        self.details = dict(details or {})
        self.rerun = rerun
