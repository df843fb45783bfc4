"""`RunLoop`: asks the model, runs the tools that it calls, sends it their results, until it answers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tickmind.base import Clock, get_logger, redact
from tickmind.llm.config import DEFAULT_TIMEOUT_S
from tickmind.llm.errors import ErrorType, LLMDeadlineError, LLMError, LLMResponseError, StructuredOutputError
from tickmind.llm.messages import Message, ToolCall, instructed
from tickmind.llm.results import FINISH_UNKNOWN
from tickmind.llm.streaming.thinking import Piece
from tickmind.llm.structured.calls import refuses_form
from tickmind.llm.transport import ModelReply, ModelRequest, OutputSpec, ToolChoice, Usage
from tickmind.tools import events
from tickmind.tools.config import AgentConfig
from tickmind.tools.definition.callable_tool import Tool
from tickmind.tools.envelope import (
    AgentResult,
    Failed,
    StopReason,
    stop_reason_of,
)
from tickmind.tools.execution.caller import ModelCaller, splitter_of
from tickmind.tools.execution.calls import (
    CallOutcome,
    CallRunner,
    ReadyCall,
    contexts_for,
    make_ready,
    used_ids,
)
from tickmind.tools.execution.deadline import RunDeadline
from tickmind.tools.execution.prose_calls import recover_calls
from tickmind.tools.execution.separated import SeparatedReply, separate
from tickmind.tools.output import TypedOutput
from tickmind.tools.plain import result_of, text_for_model
from tickmind.tools.state import InterruptedRun, PendingQuestion
from tickmind.tools.threads import OverdueError, StuckWork, run_bounded
from tickmind.tools.trace import ToolTrace, traced

Emit = Callable[[events.AgentEvent], Awaitable[None]]

_CUT_OFF = Failed(ErrorType.CANCELLED, "the run was cancelled before this tool had answered")
_BACKSTOP_S = 0.5  # for a transport that does not keep its own deadline
_log = get_logger(__name__)


class RunLoop:
    """One run. `messages` are the turns that it has added so far; every tool call in them has exactly one result."""

    def __init__(
        self,
        *,
        caller: ModelCaller,
        tools: Mapping[str, Tool],
        config: AgentConfig,
        agent_id: str,
        run_id: str,
        history: Sequence[Message],
        turn: Sequence[Message],
        emit: Emit,
        streaming: bool,
        clock: Clock,
        deps: Any = None,
        output: TypedOutput[Any] | None = None,
    ) -> None:
        self._caller = caller
        self._tools = tools
        self._config = config
        self._agent_id = agent_id
        self._run_id = run_id
        self._history = tuple(history)
        self._emit = emit
        self._streaming = streaming
        self._clock = clock
        self._deps = deps
        self._output = output
        self._misfits = 0  # answers that did not fit the output
        self._value: Any = None
        self._ledger = StuckWork()
        self._deadline = RunDeadline(None)
        self._usage = Usage()
        self._trace: list[ToolTrace] = []
        self._said: list[str] = []  # by step
        self._partial = ""  # of the reply that is coming in
        self._finish_reason = ""
        self._left_out = 0  # calls of the last reply over the limit
        self.messages: list[Message] = list(turn)
        self.step = 0
        self.replies = 0

    async def run(self, state: InterruptedRun | None = None, answers: Mapping[str, Any] | None = None) -> AgentResult:
        """Run until there is an answer, a limit, a question or a failure; never raises."""
        self._deadline = RunDeadline(self._config.timeouts.run_s)
        try:
            if state is not None:
                ended = await self._take_up(state, answers or {})
                if ended is not None:
                    return ended
            return await self._steps()
        except asyncio.CancelledError:
            return self._failed(StopReason.CANCELLED, Failed(ErrorType.CANCELLED, "the run was cancelled"))
        except LLMError as error:
            return self._failed(stop_reason_of(error), Failed.from_error(error))
        except Exception as error:  # noqa: BLE001 - a caller's defect must not leave a run without an end
            _log.exception("a run failed with an unexpected error", run_id=self._run_id, agent_id=self._agent_id)
            words = f"{type(error).__name__}: {error}"
            return self._failed(StopReason.HTTP_ERROR, Failed(ErrorType.TRANSPORT_ERROR, words))

    async def _steps(self) -> AgentResult:
        while self.step < self._config.max_steps:
            self.step += 1
            reply = await self._ask("auto")
            text, calls = self._calls_of(reply)
            self._keep(reply, text, calls)
            ended = await self._use(calls, {}, {}) if calls else self._answered(text, StopReason.NO_MORE_TOOLS)
            if ended is not None:
                return ended
        if self._config.answer_at_limit:
            reply = await self._ask("none")
            self._keep(reply, reply.content, [])
            self._misfits = self._config.output_retries  # nothing is left to try
            ended = self._answered(reply.content, StopReason.MAX_STEPS)
            if ended is not None:
                return ended
        steps = self._config.max_steps
        words = f"no answer after {steps} {'step' if steps == 1 else 'steps'}; raise max_steps, or set answer_at_limit"
        return self._failed(StopReason.MAX_STEPS, Failed(ErrorType.MAX_STEPS, words))

    def _answered(self, text: str, reason: StopReason) -> AgentResult | None:
        """Take a reply without calls as the answer; None if it does not fit the output and is requested again."""
        if self._output is None:
            return self._ended(reason)
        try:
            self._value = self._output.read(text, self._finish_reason)
        except StructuredOutputError as error:
            self._misfits += 1
            if self._misfits > self._config.output_retries:
                return self._failed(StopReason.PARSE_ERROR, Failed.from_error(error))
            self.messages.extend(self._output.correction(text, error))
            return None
        return self._ended(reason)

    # asking

    async def _ask(self, tool_choice: ToolChoice) -> ModelReply:
        output = self._output
        if output is None or output.spec is None:
            return await self._send(tool_choice, None)
        try:
            return await self._send(tool_choice, output.spec)
        except LLMResponseError as error:
            if not refuses_form(error):
                raise
        reply = await self._send(tool_choice, None)
        output.refuse()
        return reply

    async def _send(self, tool_choice: ToolChoice, form: OutputSpec | None) -> ModelReply:
        config = self._config
        turns = (*self._history, *self.messages)
        if config.system:
            turns = (Message.system(config.system), *turns)
        if self._output is not None:
            turns = instructed(turns, self._output.instructions(with_tools=bool(self._tools)))
        request = ModelRequest(
            model=config.model,
            messages=turns,
            temperature=config.temperature,
            max_tokens=config.max_output_tokens,
            tools=tuple(tool.to_spec() for tool in self._tools.values()),
            tool_choice=tool_choice,
            parallel_tool_calls=config.parallel_tool_calls,
            output=form,
            extra=config.extra,
            headers=config.headers,
            grammar_limits=config.grammar_limits,
        )
        timeout_s = self._deadline.allow(config.timeouts.request_s or DEFAULT_TIMEOUT_S)
        if timeout_s <= 0:
            raise LLMDeadlineError("the time of this run is used up")
        await self._emit(events.RequestStarted(*self._here, len(request.messages)))
        begun_s = self._clock.monotonic()
        work = self._stream(request, timeout_s) if self._streaming else self._complete(request, timeout_s)
        try:
            reply = await run_bounded(work, timeout_s=timeout_s + _BACKSTOP_S, ledgers=(self._ledger,))
        except OverdueError:
            raise LLMDeadlineError(f"the model did not reply within {timeout_s:g} s") from None
        self.replies += 1
        self._partial = ""
        self._usage += reply.usage
        self._finish_reason = reply.finish_reason or FINISH_UNKNOWN
        took_s = self._clock.monotonic() - begun_s
        await self._emit(events.RequestFinished(*self._here, self._finish_reason, reply.usage, took_s))
        return reply

    async def _complete(self, request: ModelRequest, timeout_s: float) -> ModelReply:
        reply = separate(await self._caller.complete(request, timeout_s=timeout_s), splitter_of(self._caller))
        thinking = "".join(block.text for block in reply.thinking)
        await self._tell([(True, thinking), (False, reply.content)])
        return reply

    async def _stream(self, request: ModelRequest, timeout_s: float) -> ModelReply:
        came = SeparatedReply(splitter_of(self._caller))
        try:
            async with self._caller.stream(request, timeout_s=timeout_s) as pieces:
                async for piece in pieces:
                    await self._tell(came.add(piece))
                await self._tell(came.finish())
        finally:
            came.finish()
            self._partial = came.content
        return came.reply()

    async def _tell(self, pieces: Sequence[Piece]) -> None:
        for is_thinking, text in pieces:
            if text:
                delta = events.ThinkingDelta if is_thinking else events.TextDelta
                await self._emit(delta(*self._here, text))

    def _calls_of(self, reply: ModelReply) -> tuple[str, list[ReadyCall]]:
        """Return the text and the calls of a reply, also those that were written as text."""
        text, calls, recovered = reply.content, reply.tool_calls, False
        if not calls and self._config.recover_prose_calls and self._tools:
            foreign = [message.text for message in (*self._history, *self.messages) if message.role in {"user", "tool"}]
            written, rest = recover_calls(text, self._tools, instructions=self._config.system or "", foreign=foreign)
            if written:
                text, recovered = rest, True
                calls = tuple(ToolCall("", call.name, call.arguments) for call in written)
        kept = calls[: int(self._config.max_calls_per_step.maximum)]
        self._left_out = len(calls) - len(kept)
        taken = used_ids((*self._history, *self.messages))
        return text, make_ready(kept, self._tools, taken, recovered=recovered)

    def _keep(self, reply: ModelReply, text: str, calls: Sequence[ReadyCall]) -> None:
        if text:
            self._said.append(text)
        if text or calls:
            tool_calls = [ready.call for ready in calls]
            self.messages.append(Message.assistant(text, tool_calls=tool_calls, thinking=reply.thinking))

    # using tools

    async def _take_up(self, state: InterruptedRun, answers: Mapping[str, Any]) -> AgentResult | None:
        """Finish the step in which a tool asked its question."""
        self.step = state.step
        self.replies = state.step
        self._usage = state.usage
        self._trace = list(state.tool_trace)
        self._said = [turn.text for turn in self.messages if turn.role == "assistant" and turn.text]
        results = dict(state.results)
        for question in state.questions:
            if not question.rerun:
                results[question.call_id] = text_for_model(result_of(answers[question.call_id]))
                self._record_answer(question, results[question.call_id])
        calls = make_ready(self.messages[-1].tool_calls, self._tools, set(), recovered=state.recovered)
        return await self._use(calls, results, answers)

    def _record_answer(self, question: PendingQuestion, result: str) -> None:
        self._trace.append(ToolTrace(self.step, question.call_id, question.tool, "", True, result, 0.0))

    async def _use(
        self, calls: Sequence[ReadyCall], results: dict[str, str], answers: Mapping[str, Any]
    ) -> AgentResult | None:
        """Run the calls without results and add a result for each; return the run's end, or None to go on."""
        config = self._config
        runner = CallRunner(
            max_parallel=config.max_parallel if config.parallel_tool_calls else 1,
            tool_timeout_s=config.timeouts.tool_s,
            deadline=self._deadline,
            ledger=self._ledger,
            clock=self._clock,
            started=self._tool_started,
            ended=self._tool_ended,
        )
        todo = [ready for ready in calls if ready.call.id not in results]
        contexts = contexts_for(
            todo, agent_id=self._agent_id, run_id=self._run_id, step=self.step, answers=answers, deps=self._deps
        )
        try:
            await runner.run(todo, contexts)
        except BaseException:  # a cancellation too: the history stays whole
            self._add_results(calls, results, runner.outcomes)
            raise
        outcomes = [runner.outcomes[ready.call.id] for ready in todo if ready.call.id in runner.outcomes]
        if any(outcome.question is not None for outcome in outcomes):
            return self._interrupted(results, outcomes)
        failures = self._add_results(calls, results, runner.outcomes)
        if failures and config.stop_on_tool_error:
            return self._failed(StopReason.TOOL_ERROR, failures[0])
        return None

    def _add_results(
        self, calls: Sequence[ReadyCall], results: Mapping[str, str], outcomes: Mapping[str, CallOutcome]
    ) -> list[Failed]:
        failures = []
        for place, ready in enumerate(calls):
            outcome = outcomes.get(ready.call.id)
            if outcome is not None and outcome.result is not None:
                text = text_for_model(outcome.result)
                if isinstance(outcome.result, Failed):
                    failures.append(outcome.result)
            elif ready.call.id in results:
                text = results[ready.call.id]
            else:
                text = text_for_model(_CUT_OFF)
                self._trace.append(self._traced(ready, False, text, 0.0))
            if self._left_out and place == len(calls) - 1:
                text += f"\n({self._left_out} more calls were not run: at most {len(calls)} at once)"
            self.messages.append(Message.tool(ready.call, text))
        return failures

    async def _tool_started(self, ready: ReadyCall) -> None:
        args = traced(ready.written)
        await self._emit(
            events.ToolStarted(*self._here, ready.call.id, ready.call.name, args, recovered=ready.recovered)
        )

    async def _tool_ended(self, outcome: CallOutcome) -> None:
        call = outcome.ready.call
        if outcome.question is not None:
            await self._emit(events.QuestionAsked(*self._here, call.id, call.name, redact(outcome.question.question)))
        elif outcome.result is not None:
            entry = self._traced(outcome.ready, outcome.result.ok, text_for_model(outcome.result), outcome.duration_s)
            self._trace.append(entry)
            await self._emit(
                events.ToolFinished(*self._here, call.id, call.name, entry.ok, entry.result, entry.duration_s)
            )

    def _traced(self, ready: ReadyCall, ok: bool, result: str, duration_s: float) -> ToolTrace:
        return ToolTrace(
            self.step, ready.call.id, ready.call.name, ready.written, ok, result, duration_s, ready.recovered
        )

    # ending

    @property
    def _here(self) -> tuple[str, str, int]:
        return self._agent_id, self._run_id, self.step

    def _interrupted(self, results: Mapping[str, str], outcomes: Sequence[CallOutcome]) -> AgentResult:
        done = {
            outcome.ready.call.id: text_for_model(outcome.result) for outcome in outcomes if outcome.result is not None
        }
        questions = tuple(
            PendingQuestion(
                outcome.ready.call.id,
                outcome.ready.call.name,
                outcome.question.question,
                outcome.question.details,
                outcome.question.rerun,
            )
            for outcome in outcomes
            if outcome.question is not None
        )
        state = InterruptedRun(
            run_id=self._run_id,
            agent_id=self._agent_id,
            step=self.step,
            history=self._history,
            messages=tuple(self.messages),
            results={**results, **done},
            questions=questions,
            recovered=any(outcome.ready.recovered for outcome in outcomes),
            usage=self._usage,
            tool_trace=tuple(self._trace),
        )
        return self._ended(StopReason.INTERRUPTED, state=state)

    def _failed(self, reason: StopReason, error: Failed) -> AgentResult:
        return self._ended(reason, error=error)

    def _ended(
        self, reason: StopReason, *, error: Failed | None = None, state: InterruptedRun | None = None
    ) -> AgentResult:
        last = self.messages[-1] if self.messages else None
        answered = reason is StopReason.NO_MORE_TOOLS and last is not None and last.role == "assistant"
        thoughts = [block.text for message in self.messages for block in message.thinking]
        said = [*self._said, self._partial] if self._partial else self._said
        text = last.text if answered and last is not None else "\n\n".join(said)
        order = {call.id: place for place, call in enumerate(c for m in self.messages for c in m.tool_calls)}
        trace = sorted(self._trace, key=lambda entry: (entry.step, order.get(entry.call_id, -1)))
        return AgentResult(
            ok=error is None,
            text=text,
            stopped=reason,
            usage=self._usage,
            steps=self.step,
            tool_trace=tuple(trace),
            error=error,
            messages=tuple(self.messages),
            finish_reason=self._finish_reason,
            run_id=self._run_id,
            state=state,
            abandoned=self._ledger.total,
            value=self._value,
            thinking="\n\n".join(text for text in thoughts if text),
        )
