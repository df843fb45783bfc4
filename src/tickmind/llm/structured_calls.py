"""Calls that end in an object: ask, read, and if it can't be read, tell the model why and ask again.

This is the one owner of retries of unreadable replies. The model is told the wanted form in the prompt, and endpoints
that can are held to it; one that refuses to be held is asked without, once and for all.
"""

from collections.abc import AsyncIterator, Generator, Iterable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tickmind.llm.config import EffectiveCall
from tickmind.llm.errors import LLMCancelledError, LLMConfigError, LLMResponseError, StructuredOutputError
from tickmind.llm.messages import Message, Text, as_messages
from tickmind.llm.results import LLMResult, StreamChunk, StructuredResult, Timing
from tickmind.llm.streams import FINISH_CANCELLED, ModelStream
from tickmind.llm.structured import PartialReader, ReadReply, ReplySchema, feedback, form_instructions, read_reply
from tickmind.llm.structured.prompts import AskedForm, template
from tickmind.llm.transport import OutputSpec

if TYPE_CHECKING:
    from tickmind.llm.client import MessagesLike, ModelClient

T = TypeVar("T")

_REFUSES_THE_FORM = frozenset({400, 404, 422, 501})


@dataclass(frozen=True, slots=True)
class StructuredUpdate:
    """What one chunk of a structured stream brought: the text, and the fields that are complete by now."""

    chunk: StreamChunk
    completed: tuple[tuple[str, Any], ...]  # fields that this chunk completed, in order
    data: dict[str, Any]  # all completed fields of this attempt
    attempt: int


class StructuredCall(Generic[T]):
    """The conversation of one structured call: what to ask next, and what came of the asking."""

    def __init__(
        self,
        client: "ModelClient",
        messages: "MessagesLike",
        schema: ReplySchema[T],
        call: EffectiveCall,
        *,
        form: AskedForm,
        hint: str,
        instruct: bool,
        model: str | None,
    ) -> None:
        turns = as_messages(messages)
        self.turns = _instructed(turns, form_instructions(schema, form)) if instruct else turns
        self.client = client
        self.schema = schema
        self.call = call
        self.form: AskedForm = form
        self.hint = hint or template(schema, form)
        self.model = model
        self.number = 1
        self.results: list[LLMResult] = []
        self.errors: list[str] = []
        self._held = form == "json" and client.holds_to_form

    @property
    def effective(self) -> EffectiveCall:
        """This attempt's settings: each is a little bolder than the one before."""
        return replace(self.call, temperature=self.call.temperature_for(self.number))

    @property
    def output(self) -> OutputSpec | None:
        """What to hold the endpoint to, if it can be held."""
        return OutputSpec(self.schema.json_schema()) if self._held else None

    async def complete(self) -> StructuredResult[T]:
        """Ask until there is an object."""
        while True:
            try:
                result = await self.client.complete(self.turns, self.effective, output=self.output, model=self.model)
            except LLMResponseError as error:
                if not self.without_form(error):
                    raise
                continue
            if (found := self.read(result)) is not None:
                return found

    def without_form(self, error: LLMResponseError) -> bool:
        """Take in that the endpoint refused; tells whether it is worth asking without the form."""
        if not self._held or error.status not in _REFUSES_THE_FORM:
            return False
        self._held = False
        self.client.holds_to_form = False
        return True

    def read(self, result: LLMResult, reader: PartialReader[T] | None = None) -> StructuredResult[T] | None:
        """The object of a reply; None means ask again, and an error that nothing is left to try."""
        self.results.append(result)
        try:
            if reader is not None and reader.text == result.content:
                found = reader.finish()
            else:
                found = read_reply(result.content, self.schema, form="yaml" if self.form == "yaml" else "any")
        except StructuredOutputError as error:
            self._failed(result, error)
            return None
        return self._result(found, result)

    def _failed(self, result: LLMResult, error: StructuredOutputError) -> None:
        why = str(error)
        if result.finish_reason == "length":
            why = f"the reply was cut off after {self.call.max_tokens} tokens, so {why}"
        self.errors.append(why)
        if self.number > self.call.max_retries:
            count = "1 attempt" if self.number == 1 else f"{self.number} attempts"
            raise StructuredOutputError(
                f"no usable object after {count}; the last one failed because {why}",
                raw_content=result.content,
                tried=tuple(f"attempt {n}: {text}" for n, text in enumerate(self.errors, start=1)),
            ) from error
        self.turns = (*self.turns, *feedback(result.content, why, form=self.form, hint=self.hint))
        self.number += 1

    def _result(self, found: ReadReply[T], last: LLMResult) -> StructuredResult[T]:
        costs = [result.cost_usd for result in self.results]
        return StructuredResult(
            value=found.value,
            data=found.data,
            raw_content=last.content,
            thinking=last.thinking,
            attempts=self.number,
            finish_reason=last.finish_reason,
            prompt_tokens=_sum(result.prompt_tokens for result in self.results),
            completion_tokens=_sum(result.completion_tokens for result in self.results),
            timing=Timing(sum(r.timing.total_s for r in self.results), self.results[0].timing.first_token_s),
            cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
            model=last.model,
            errors=tuple(self.errors),
        )


class StructuredStream(AsyncIterator[StructuredUpdate], Generic[T]):
    """An object as it comes. Use it with `async with`, iterate it if you like, and await `result`.

    `result` comes whether or not the updates are read: inside the block it reads on, retries included. After leaving
    early it is the object if what came so far is one, else `LLMCancelledError`. No task is started.
    """

    def __init__(self, call: StructuredCall[T]) -> None:
        self._call = call
        self._stream: ModelStream | None = None
        self._reader = self._new_reader()
        self._result: StructuredResult[T] | None = None
        self._error: BaseException | None = None
        self._open = False

    async def __aenter__(self) -> "StructuredStream[T]":
        self._open = True
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.__aexit__(exc_type, exc, trace)
        if self._result is None and self._error is None:
            self._settle_early(stream)

    @property
    def data(self) -> dict[str, Any]:
        """The fields that are complete so far."""
        return self._result.data if self._result else self._reader.data

    @property
    def result(self) -> "_Awaited[T]":
        """The typed object, to be awaited."""
        return _Awaited(self)

    async def __anext__(self) -> StructuredUpdate:
        if not self._open or self._result is not None:
            raise StopAsyncIteration
        try:
            return await self._advance()
        except StopAsyncIteration:
            raise
        except Exception as error:
            self._error = error
            raise

    async def wait_result(self) -> StructuredResult[T]:
        """The same as awaiting `result`."""
        if self._open:
            async for _ in self:
                pass
        if self._result is not None:
            return self._result
        raise self._error or LLMConfigError("open the stream with 'async with' before you await its result")

    async def _advance(self) -> StructuredUpdate:
        while self._result is None:
            if self._stream is None:
                await self._ask()
                continue
            try:
                chunk = await self._stream.__anext__()
            except StopAsyncIteration:
                await self._end_attempt()
                continue
            attempt = self._call.number
            completed = self._reader.feed(chunk.content) if chunk.content else ()
            return StructuredUpdate(chunk, completed, self._reader.data, attempt)
        raise StopAsyncIteration

    async def _ask(self) -> None:
        call = self._call
        stream = call.client.stream(call.turns, call.effective, output=call.output, model=call.model)
        try:
            self._stream = await stream.__aenter__()
        except LLMResponseError as error:
            if not call.without_form(error):
                raise

    async def _end_attempt(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.__aexit__(None, None, None)
            self._result = self._call.read(await stream.result, self._reader)
            if self._result is None:
                self._reader = self._new_reader()

    def _settle_early(self, stream: ModelStream | None) -> None:
        came = replace(stream.partial, finish_reason=FINISH_CANCELLED) if stream is not None else None
        try:
            self._result = self._call.read(came) if came is not None and came.content else None
        except StructuredOutputError:
            self._result = None
        if self._result is None:
            self._error = LLMCancelledError("the stream was left before there was a whole object")

    def _new_reader(self) -> PartialReader[T]:
        return PartialReader(self._call.schema, form="yaml" if self._call.form == "yaml" else "any")


class _Awaited(Generic[T]):
    """What `StructuredStream.result` gives; await it as often as you like."""

    __slots__ = ("_stream",)

    def __init__(self, stream: StructuredStream[T]) -> None:
        self._stream = stream

    def __await__(self) -> Generator[object, None, StructuredResult[T]]:
        return self._stream.wait_result().__await__()


def _instructed(turns: tuple[Message, ...], instructions: str) -> tuple[Message, ...]:
    """The form goes to the end of the system message, where it can be cached with it."""
    if turns and turns[0].role == "system":
        return (replace(turns[0], parts=(*turns[0].parts, Text(instructions))), *turns[1:])
    return (Message.system(instructions), *turns)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)
