"""`Arguments`: the interface of every way to declare a tool's arguments."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tickmind.llm.errors import ToolError
from tickmind.llm.texts import shortened

MAX_PROBLEMS_SHOWN = 5


class Arguments(Protocol):
    """The arguments of one tool: their schema for the model, and how a model's JSON becomes a call."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema that the model sees."""
        ...

    def bind(self, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return positional and keyword arguments of the call; raises `ToolError` in words that a model can act on."""
        ...


def misfit(tool: str, problems: Sequence[str]) -> ToolError:
    """Return the error for arguments that don't fit; a model needs only the first few problems to correct them."""
    shown = [shortened(problem) for problem in problems[:MAX_PROBLEMS_SHOWN]]
    if len(problems) > MAX_PROBLEMS_SHOWN:
        shown.append(f"and {len(problems) - MAX_PROBLEMS_SHOWN} more")
    words = f"the arguments of {tool!r} don't fit: {'; '.join(shown)}. Call it again with the right ones."
    return ToolError(words, tool=tool)
