"""`ToolRegistry`: tools by name, for several agents."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tickmind.base import Limit
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.transport import ToolSpec
from tickmind.tools.definition.callable_tool import Tool

MAX_TOOLS = Limit("number of tools in a registry", 256)


class ToolRegistry:
    """Tools by name, in the order of registration. Functions are made into tools.

    >>> def look(direction: str) -> str:
    ...     '''Look into a direction.'''
    ...     return "a wolf" if direction == "north" else "nothing"
    >>> tools = ToolRegistry([look])
    >>> [tool.name for tool in tools.get_all()]
    ['look']
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = (), *, max_tools: Limit = MAX_TOOLS) -> None:
        self._tools: dict[str, Tool] = {}
        self._max_tools = max_tools
        for item in tools:
            self.register(item)

    def register(self, item: Tool | Callable[..., Any]) -> Tool:
        """Add a tool, or a function as one; raises `LLMConfigError` if the name is taken. Works as a decorator."""
        added = item if isinstance(item, Tool) else Tool.from_function(item)
        if added.name in self._tools:
            raise LLMConfigError(f"a tool {added.name!r} is already registered; give one of them another name")
        self._max_tools.check(len(self._tools) + 1)
        self._tools[added.name] = added
        return added

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return self._tools.get(name)

    def get_all(self) -> tuple[Tool, ...]:
        """Return all tools."""
        return tuple(self._tools.values())

    def get_schemas(self) -> tuple[ToolSpec, ...]:
        """Return the schemas of all tools, as a model sees them."""
        return tuple(item.to_spec() for item in self._tools.values())

    def clear(self) -> None:
        """Forget all tools; running runs keep theirs."""
        self._tools.clear()

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.get_all())

    def __contains__(self, name: object) -> bool:
        return name in self._tools
