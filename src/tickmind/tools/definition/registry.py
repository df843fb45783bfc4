"""A holder for tools, so that several agents can be given the same ones."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tickmind.base import Limit
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.transport import ToolSpec
from tickmind.tools.definition.callable_tool import Tool

MAX_TOOLS = Limit("number of tools in a registry", 256)


class ToolRegistry:
    """Tools by name, in the order in which they came. Functions are made into tools."""

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = (), *, max_tools: Limit = MAX_TOOLS) -> None:
        self._tools: dict[str, Tool] = {}
        self._max_tools = max_tools
        for item in tools:
            self.register(item)

    def register(self, item: Tool | Callable[..., Any]) -> Tool:
        """Add one; a name that is taken is an error. It can decorate a function."""
        added = item if isinstance(item, Tool) else Tool.from_function(item)
        if added.name in self._tools:
            raise LLMConfigError(f"there is a tool {added.name!r} already; give one of them another name")
        self._max_tools.check(len(self._tools) + 1)
        self._tools[added.name] = added
        return added

    def get(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    def get_all(self) -> tuple[Tool, ...]:
        """All of them."""
        return tuple(self._tools.values())

    def get_schemas(self) -> tuple[ToolSpec, ...]:
        """All of them as a model sees them."""
        return tuple(item.to_spec() for item in self._tools.values())

    def clear(self) -> None:
        """Forget all of them; agents that run keep theirs until they are done."""
        self._tools.clear()

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.get_all())

    def __contains__(self, name: object) -> bool:
        return name in self._tools
