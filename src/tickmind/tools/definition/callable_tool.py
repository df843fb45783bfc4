"""`Tool`: a Python function that a model may call."""

import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, overload

from tickmind.base import Limit, TickmindError, get_logger
from tickmind.llm.errors import ErrorType, LLMConfigError, ToolError
from tickmind.llm.transport import ToolSpec
from tickmind.tools.context import Interrupt, ToolContext
from tickmind.tools.definition.arguments import Arguments
from tickmind.tools.definition.docstrings import Docstring
from tickmind.tools.definition.schema import SchemaArguments
from tickmind.tools.definition.signature import FunctionArguments, context_parameter
from tickmind.tools.envelope import Failed, ToolResult
from tickmind.tools.jsontext import decode_arguments
from tickmind.tools.plain import MAX_RESULT_CHARS, result_of
from tickmind.tools.threads import OverdueError, StuckWork, run_bounded, run_in_thread

MAX_ABANDONED = Limit("calls of one tool that never returned", 256)

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ToolStatistics:
    """The calls of a tool in numbers."""

    calls: int
    running: int
    abandoned: int  # could not be stopped and still run


class Tool:
    """A function for models. Make it with `@tool`, `Tool.from_function` or `Tool.from_schema`.

    Blocking handlers run in threads of their own, so the event loop goes on; `inline` runs one on the loop instead, for
    handlers that return at once. `timeout_s` (None: the agent's) bounds one call, `max_result_chars` what it returns.
    """

    def __init__(
        self,
        name: str,
        description: str | Docstring,
        handler: Callable[..., Any],
        arguments: Arguments,
        *,
        timeout_s: float | None = None,
        inline: bool = False,
        max_result_chars: Limit = MAX_RESULT_CHARS,
        max_abandoned: Limit = MAX_ABANDONED,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise LLMConfigError(f"{name!r} can't be a tool's name; use 1 to 64 letters, digits, '_' and '-'")
        if timeout_s is not None and timeout_s <= 0:
            raise LLMConfigError(f"tool {name!r}: timeout_s must be over 0, not {timeout_s}")
        self.name = name
        self._description = description
        self.timeout_s = timeout_s
        self.inline = inline
        self._handler = handler
        self._arguments = arguments
        self._max_result_chars = max_result_chars
        self._max_abandoned = max_abandoned
        self._ledger = StuckWork()
        self._calls = 0
        self._running = 0

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        timeout_s: float | None = None,
        inline: bool = False,
        max_result_chars: Limit = MAX_RESULT_CHARS,
    ) -> "Tool":
        """Make a tool from a typed function, sync or async; the schema comes from its annotations and docstring.

        Arguments are described in the docstring in the style of Google, numpy or Sphinx, or by `Annotated[int, "..."]`.
        """
        target: Any = function
        while isinstance(target, functools.partial):
            target = target.func
        named: str = name or getattr(target, "__name__", None) or type(target).__name__
        docstring = Docstring(getattr(target, "__doc__", None))
        return cls(
            named,
            docstring if description is None else description,
            function,
            FunctionArguments(function, named, docstring),
            timeout_s=timeout_s,
            inline=inline,
            max_result_chars=max_result_chars,
        )

    @classmethod
    def from_schema(
        cls,
        name: str,
        description: str,
        schema: Mapping[str, Any],
        handler: Callable[..., Any],
        *,
        timeout_s: float | None = None,
        inline: bool = False,
        max_result_chars: Limit = MAX_RESULT_CHARS,
    ) -> "Tool":
        """Make a tool from a JSON schema and a handler that gets the checked arguments as one mapping."""
        return cls(
            name,
            description,
            handler,
            SchemaArguments(schema, name),
            timeout_s=timeout_s,
            inline=inline,
            max_result_chars=max_result_chars,
        )

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function directly, as if it were no tool."""
        return self._handler(*args, **kwargs)

    @property
    def description(self) -> str:
        """The tool's purpose, as the model reads it."""
        given = self._description
        return given if isinstance(given, str) else given.description

    @property
    def schema(self) -> Mapping[str, Any]:
        """JSON schema of the arguments."""
        return self._arguments.schema

    def to_spec(self) -> ToolSpec:
        """Return the tool as a model sees it."""
        return ToolSpec(self.name, self.description, self.schema)

    def statistics(self) -> ToolStatistics:
        """Return how often it was called, and how many calls run or were abandoned."""
        return ToolStatistics(self._calls, self._running, self._ledger.now)

    def accepts(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether the arguments fit, without calling it."""
        try:
            self._arguments.bind(arguments)
        except ToolError:
            return False
        return True

    async def execute(
        self,
        args: Mapping[str, Any] | str,
        context: ToolContext | None = None,
        *,
        timeout_s: float | None = None,
        ledger: StuckWork | None = None,
    ) -> ToolResult:
        """Check the arguments (a mapping or JSON text) and call it; every failure comes back as an envelope.

        Only an `Interrupt` and a cancellation are raised. `timeout_s` can only tighten the tool's own; `ledger` counts
        the call if it can't be stopped.
        """
        limits = [limit for limit in (self.timeout_s, timeout_s) if limit is not None]
        limit_s = min(limits, default=None)
        self._calls += 1
        self._running += 1
        try:
            return await self._execute(args, context or ToolContext(tool=self.name), limit_s, ledger)
        except Interrupt:
            raise
        except TickmindError as error:  # its message says what to do
            return Failed(ErrorType.TOOL_ERROR, str(error), {"name": self.name})
        except OverdueError:
            words = f"tool {self.name!r} did not finish within {limit_s:g} s"
            return Failed(ErrorType.TOOL_ERROR, words, {"name": self.name})
        except Exception as error:  # noqa: BLE001 - a tool is user code; the error goes to the model and the trace
            _log.debug("tool failed", tool=self.name, exc_info=True)
            words = f"tool {self.name!r} failed: {type(error).__name__}: {error}"
            return Failed(ErrorType.TOOL_ERROR, words, {"name": self.name})
        finally:
            self._running -= 1

    async def _execute(
        self, args: Mapping[str, Any] | str, context: ToolContext, timeout_s: float | None, ledger: StuckWork | None
    ) -> ToolResult:
        if not self._max_abandoned.allows(self._ledger.now + 1):
            raise ToolError(
                f"tool {self.name!r} has {self._ledger.now} calls that never returned and is not called again until "
                "one does",
                tool=self.name,
            )
        arguments = decode_arguments(args, self.name) if isinstance(args, str) else args
        positional, keywords = self._arguments.bind(arguments)
        if self._context_name:
            keywords[self._context_name] = context
        ledgers = (self._ledger, ledger) if ledger else (self._ledger,)
        if self._is_async:
            work = self._awaited(lambda: self._handler(*positional, **keywords))
            return await run_bounded(work, timeout_s=timeout_s, ledgers=ledgers)

        def call() -> Any:
            value = self._handler(*positional, **keywords)
            return value if inspect.isawaitable(value) else self._result(value)

        if self.inline:
            value = call()
        else:
            value = await run_in_thread(call, name=f"tool-{self.name}", timeout_s=timeout_s, ledgers=ledgers)
        if inspect.isawaitable(value):
            awaitable = value
            try:
                value = await run_bounded(self._awaited(lambda: awaitable), timeout_s=timeout_s, ledgers=ledgers)
            finally:
                if inspect.iscoroutine(awaitable) and inspect.getcoroutinestate(awaitable) == inspect.CORO_CREATED:
                    awaitable.close()  # it was cancelled before it began
        result: ToolResult = value
        return result

    async def _awaited(self, begin: Callable[[], Awaitable[Any]]) -> ToolResult:
        """Begin and finish the work. What is cancelled before it begins leaves no coroutine that nobody awaits."""
        try:
            return self._result(await begin())
        except SystemExit as error:  # would end the event loop
            raise ToolError(f"tool {self.name!r} tried to end the program", tool=self.name) from error

    def _result(self, value: Any) -> ToolResult:
        if isinstance(value, Interrupt):
            raise value
        return result_of(value, self._max_result_chars)

    @functools.cached_property
    def _context_name(self) -> str | None:
        if isinstance(self._arguments, FunctionArguments):
            return self._arguments.context_name
        return context_parameter(self._handler)

    @functools.cached_property
    def _is_async(self) -> bool:
        call = getattr(self._handler, "__call__", None)  # noqa: B004 - a callable object may have an async __call__
        return inspect.iscoroutinefunction(self._handler) or inspect.iscoroutinefunction(call)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout_s: float | None = None,
    inline: bool = False,
    max_result_chars: Limit = MAX_RESULT_CHARS,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout_s: float | None = None,
    inline: bool = False,
    max_result_chars: Limit = MAX_RESULT_CHARS,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make the function below a tool, as `@tool` or `@tool(timeout_s=5)`.

    @tool
    def weather(town: str) -> str:
        "Return today's weather in a town."
        return forecasts[town]
    """
    make = functools.partial(
        Tool.from_function,
        name=name,
        description=description,
        timeout_s=timeout_s,
        inline=inline,
        max_result_chars=max_result_chars,
    )
    return make if function is None else make(function)
