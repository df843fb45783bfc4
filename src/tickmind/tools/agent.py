"""`ToolAgent`: a model with tools, a history and limits."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Unpack

from tickmind.base import Clock, IdMaker, Limit, SystemClock, get_logger
from tickmind.llm.client import ModelClient
from tickmind.llm.errors import ErrorType, LLMConfigError
from tickmind.llm.messages import Message, MessageLike, MessagesLike, as_messages
from tickmind.llm.structured import ReplySchema
from tickmind.llm.structured.calls import RefusedForms
from tickmind.llm.transport import Usage
from tickmind.tools.config import AgentConfig, AgentOptions
from tickmind.tools.definition.callable_tool import Tool
from tickmind.tools.definition.registry import ToolRegistry
from tickmind.tools.envelope import AgentResult, Failed, StopReason
from tickmind.tools.events import MAX_EVENTS_KEPT, AgentEvent, EventHook, EventLog, RunFinished, RunStarted
from tickmind.tools.execution.caller import ClientCaller, ModelCaller, as_caller, with_defaults
from tickmind.tools.execution.loop import RunLoop
from tickmind.tools.output import OutputForm, TypedOutput
from tickmind.tools.run import AgentRun, AgentStream
from tickmind.tools.state import InterruptedRun
from tickmind.tools.typevars import OutputT

MAX_RUNS = Limit("runs of one agent at work or waiting for their turn", 64)

_NO_ANSWER: Any = object()
_make_id = IdMaker()
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AgentStatistics:
    """The state of an agent in numbers."""

    runs: int  # at work or waiting for their turn
    messages: int  # in the history
    abandoned: int  # tool calls that could not be stopped and still run


@dataclass(frozen=True, slots=True)
class _Order:
    """The order of one run: its messages and options."""

    turn: tuple[Message, ...]
    streaming: bool
    deps: Any = None
    state: InterruptedRun | None = None
    answers: Mapping[str, Any] = field(default_factory=dict)


class ToolAgent(Generic[OutputT]):
    """Talk with a model that may use tools. Runs of one agent take turns, because they share its history.

    The first argument is a `ModelClient`, or a `Transport` with the name of a model. Tools are `Tool`s, functions or a
    `ToolRegistry`, read again for each run; the options are those of `AgentConfig`. `output` is the form of the
    answer, as in `complete_structured`: the result's `value` is of that type. `deps` is handed to tools by their
    `ToolContext`. A turn that no model answered leaves no trace in the history, so the caller can repeat it.

        >>> import asyncio
        >>> from tickmind.llm import ModelClient, ModelConfig
        >>> from tickmind.llm.testing import ScriptedTransport
        >>> def look_around() -> str:
        ...     '''Look around.'''
        ...     return "a wolf behind the hill"
        >>> client = ModelClient(ModelConfig(), transport=ScriptedTransport("I will not go there."))
        >>> agent = ToolAgent(client, [look_around], system="You are a scout.")
        >>> asyncio.run(agent.invoke("What is behind the hill?")).text
        'I will not go there.'
    """

    def __init__(
        self,
        caller: ModelCaller | ModelClient,
        tools: ToolRegistry | Iterable[Tool | Callable[..., Any]] = (),
        *,
        output: OutputForm[OutputT] | None = None,
        deps: Any = None,
        agent_id: str | None = None,
        history: Iterable[MessageLike] = (),
        config: AgentConfig | None = None,
        on_event: EventHook | None = None,
        max_events: Limit = MAX_EVENTS_KEPT,
        max_runs: Limit = MAX_RUNS,
        clock: Clock | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        self._caller = as_caller(caller)
        self._given = (config or AgentConfig()).changed(options)
        self.config = with_defaults(self._given, self._caller)
        if not self.config.model:
            raise LLMConfigError("no model is named; pass one: ToolAgent(transport, tools, model='...')")
        self.deps = deps
        self._schema: ReplySchema[Any] | None = None if output is None else ReplySchema.of(output)
        self._output = self._typed_output()
        self.agent_id = agent_id or _make_id("agent")
        self.tools = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
        self._history: tuple[Message, ...] = as_messages(history)
        self._on_event = on_event
        self._max_events = max_events
        self._max_runs = max_runs
        self._clock = clock or SystemClock()
        self._turns = asyncio.Lock()
        self._runs: set[AgentRun] = set()

    def __repr__(self) -> str:
        return f"ToolAgent({self.agent_id!r}, model={self.config.model!r}, tools={len(self.tools)})"

    @property
    def history(self) -> tuple[Message, ...]:
        """The conversation so far, without the system message; every tool call in it has its result."""
        return self._history

    def clear_history(self) -> None:
        """Begin a new conversation; a running run still adds its turns.

        A run that is resumed in an agent without a history brings the conversation along in which it was interrupted.
        """
        self._history = ()

    def ask_through(self, caller: ModelCaller | ModelClient) -> None:
        """Use another client from now on, with its defaults; a running run keeps the old one."""
        self._caller = as_caller(caller)
        self.config = with_defaults(self._given, self._caller)
        self._output = self._typed_output()

    def twin(self, *, agent_id: str | None = None, system: str | None = None) -> "ToolAgent[OutputT]":
        """Return another agent with the same model, tools and options, and a copy of this one's history.

        Under the same id it is the same to tools; `system` replaces this one's instructions.
        """
        return ToolAgent(
            self._caller,
            self.tools,
            output=self._schema,
            deps=self.deps,
            agent_id=agent_id or self.agent_id,
            history=self._history,
            config=self.config if system is None else self.config.changed({"system": system}),
            on_event=self._on_event,
            max_events=self._max_events,
            max_runs=self._max_runs,
            clock=self._clock,
        )

    def cost_usd(self, usage: Usage) -> float | None:
        """Return the cost of so many tokens, if the client knows the model's price."""
        price = getattr(self._caller, "cost_usd", None)
        return None if price is None else price(self.config.model, usage)

    def statistics(self) -> AgentStatistics:
        """Return the numbers of runs, messages and abandoned calls."""
        abandoned = sum(tool.statistics().abandoned for tool in self.tools)
        return AgentStatistics(len(self._runs), len(self._history), abandoned)

    async def invoke(self, messages: MessagesLike, *, deps: Any = None) -> AgentResult[OutputT]:
        """Send messages and wait for the end. Failures are in the result; only the caller's cancellation is raised.

        `deps` replaces the agent's for this run.
        """
        return await self._wait(self._start(self._order(messages, deps, streaming=False)))

    def ainvoke(self, messages: MessagesLike, *, streaming: bool = True, deps: Any = None) -> AgentRun[OutputT]:
        """Send messages and return a handle at once, while the run goes on by itself."""
        return self._start(self._order(messages, deps, streaming=streaming))

    def stream(self, messages: MessagesLike, *, deps: Any = None) -> AgentStream[OutputT]:
        """Send messages and read along: `async with agent.stream("...") as stream: async for event in stream: ...`."""
        return AgentStream(partial(self._start, self._order(messages, deps, streaming=True)))

    async def resume(
        self,
        interrupted: AgentRun | AgentResult | InterruptedRun,
        answer: Any = _NO_ANSWER,
        *,
        answers: Mapping[str, Any] | None = None,
    ) -> AgentResult[OutputT]:
        """Continue a run that a tool's question stopped, here or in another process, and wait for the end.

        One question takes `answer`; several take `answers`, by call id.
        """
        return await self._wait(self._start(self._resumption(interrupted, answer, answers, streaming=False)))

    def aresume(
        self,
        interrupted: AgentRun | AgentResult | InterruptedRun,
        answer: Any = _NO_ANSWER,
        *,
        answers: Mapping[str, Any] | None = None,
        streaming: bool = True,
    ) -> AgentRun[OutputT]:
        """Continue a run that a tool's question stopped, and return a handle at once."""
        return self._start(self._resumption(interrupted, answer, answers, streaming=streaming))

    def cancel_all(self) -> int:
        """Cancel all runs, running or waiting, and return how many."""
        return sum(run.cancel() for run in tuple(self._runs))

    async def aclose(self) -> None:
        """Cancel all runs and wait until they have ended."""
        runs = tuple(self._runs)
        self.cancel_all()
        for run in runs:
            await run.result()

    def _typed_output(self) -> TypedOutput[Any] | None:
        if self._schema is None:
            return None
        refused = self._caller.refused_forms if isinstance(self._caller, ClientCaller) else RefusedForms()
        return TypedOutput(self._schema, refused)

    def _order(self, messages: MessagesLike, deps: Any, *, streaming: bool) -> _Order:
        return _Order(as_messages(messages), streaming, self.deps if deps is None else deps)

    def _resumption(
        self,
        interrupted: AgentRun | AgentResult | InterruptedRun,
        answer: Any,
        answers: Mapping[str, Any] | None,
        *,
        streaming: bool,
    ) -> _Order:
        state = interrupted if isinstance(interrupted, InterruptedRun) else interrupted.state
        if state is None:
            raise LLMConfigError("no tool's question stopped this run, so it can't be resumed; invoke the agent again")
        open_ids = [question.call_id for question in state.questions]
        given = dict(answers or {})
        if answer is not _NO_ANSWER:
            if len(open_ids) != 1:
                raise LLMConfigError(f"{len(open_ids)} tools asked; pass answers={{call id: answer}} for {open_ids}")
            given[open_ids[0]] = answer
        missing = [call_id for call_id in open_ids if call_id not in given]
        if missing:
            raise LLMConfigError(f"an answer is missing for {', '.join(missing)}; pass answers={{call id: answer}}")
        return _Order(state.messages, streaming, self.deps, state, given)

    def _start(self, order: _Order) -> AgentRun[OutputT]:
        self._max_runs.check(len(self._runs) + 1)
        run_id = order.state.run_id if order.state else _make_id("run")
        log: EventLog[AgentEvent] = EventLog(self._max_events)
        run: AgentRun[OutputT] = AgentRun(self.agent_id, run_id, log)
        self._runs.add(run)
        self._tell(started := RunStarted(self.agent_id, run_id, 0))
        log.add_nowait(started)
        task = asyncio.create_task(self._drive(run_id, log, order), name=f"agent-{run_id}")
        run.attach(task, partial(self._end, run, log))
        return run

    async def _drive(self, run_id: str, log: EventLog[AgentEvent], order: _Order) -> AgentResult[OutputT]:
        async def emit(event: AgentEvent) -> None:
            self._tell(event)
            await log.add(event)

        async with self._turns:
            if order.state is not None and not self._history:
                self._history = order.state.history  # a run from elsewhere brings its conversation along
            history = self._history if order.state is None else order.state.history
            loop = RunLoop(
                caller=self._caller,
                tools={tool.name: tool for tool in self.tools},
                config=self.config,
                agent_id=self.agent_id,
                run_id=run_id,
                history=history,
                turn=order.turn,
                emit=emit,
                streaming=order.streaming,
                clock=self._clock,
                deps=order.deps,
                output=self._output,
            )
            result = await loop.run(order.state, order.answers)
            if loop.replies and result.stopped is not StopReason.INTERRUPTED:
                self._history = trimmed((*self._history, *loop.messages), self.config.max_history)
            return result

    def _end(
        self, run: AgentRun[OutputT], log: EventLog[AgentEvent], task: "asyncio.Task[AgentResult[OutputT]]"
    ) -> AgentResult[OutputT]:
        self._runs.discard(run)
        if task.cancelled():
            error = Failed(ErrorType.CANCELLED, "the run was cancelled before it began")
            result: AgentResult[OutputT] = AgentResult(False, "", StopReason.CANCELLED, error=error, run_id=run.run_id)
        elif caught := task.exception():
            _log.error("a run ended with an unexpected error", run_id=run.run_id, exc_info=caught)
            error = Failed(ErrorType.TRANSPORT_ERROR, f"{type(caught).__name__}: {caught}")
            result = AgentResult(False, "", StopReason.HTTP_ERROR, error=error, run_id=run.run_id)
        else:
            result = task.result()
        finished = RunFinished(self.agent_id, run.run_id, result.steps, result)
        log.add_nowait(finished)
        self._tell(finished)
        return result

    async def _wait(self, run: AgentRun[OutputT]) -> AgentResult[OutputT]:
        try:
            return await run.result()
        except asyncio.CancelledError:
            run.cancel()
            await run.result()
            raise

    def _tell(self, event: AgentEvent) -> None:
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception:  # noqa: BLE001 - a listener is user code and must not break a run
            _log.exception("a listener failed", agent_id=self.agent_id, event_kind=event.kind)


def trimmed(messages: Sequence[Message], limit: Limit) -> tuple[Message, ...]:
    """Return the latest turns within the limit, cut at a turn of the user, so that no result loses its call.

    A last turn that is over the limit by itself is kept whole.
    """
    if limit.allows(len(messages)):
        return tuple(messages)
    starts = [place for place, message in enumerate(messages) if message.role == "user"]
    earliest = len(messages) - int(limit.maximum)
    cut = next((place for place in starts if place >= earliest), starts[-1] if starts else 0)
    return tuple(messages[cut:])
