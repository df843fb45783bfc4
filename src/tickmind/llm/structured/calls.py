"""Structured calls: ask for an object, read it, and if that fails, send the model the reason and ask again.

Only this module retries unreadable replies. The prompt states the wanted form, and endpoints that support it are
constrained to it; an endpoint that refuses a form is asked for it by the prompt alone from then on.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

import orjson

from tickmind.base import Clock, Limit
from tickmind.llm.config import EffectiveCall
from tickmind.llm.errors import LLMCancelledError, LLMResponseError, StructuredOutputError
from tickmind.llm.messages import MessagesLike, as_messages, instructed
from tickmind.llm.results import CUT_OFF, FINISH_CANCELLED, LLMResult, StreamChunk, StructuredResult, Timing
from tickmind.llm.streaming.result_stream import ResultStream
from tickmind.llm.streaming.streams import ModelStream
from tickmind.llm.structured import (
    PartialReader,
    ReadReply,
    ReplySchema,
    feedback,
    form_instructions,
    read_line,
    read_reply,
)
from tickmind.llm.structured.prompts import AskedForm, template
from tickmind.llm.structured.readers.repair import Form
from tickmind.llm.transport import OutputSpec

T = TypeVar("T")

MAX_REFUSED_FORMS = Limit("forms remembered as refused", 256)

_REFUSES_THE_FORM = frozenset({400, 404, 422, 501})


@dataclass(frozen=True, slots=True)
class StructuredUpdate:
    """One chunk of a structured stream: its text, and the fields that are complete by now."""

    chunk: StreamChunk
    completed: tuple[tuple[str, Any], ...]  # fields that this chunk completed, in order
    data: dict[str, Any]  # all completed fields of this attempt
    attempt: int


def refuses_form(error: LLMResponseError) -> bool:
    """Return whether an endpoint that fails with this error may accept the request without the form."""
    return error.status in _REFUSES_THE_FORM


class RefusedForms:
    """The latest schemas that an endpoint refused as a constraint; with `all_of_them` it accepts none."""

    def __init__(self, *, all_of_them: bool = False) -> None:
        self._all = all_of_them
        self._known: dict[bytes, None] = {}  # schema as JSON, oldest first

    def __contains__(self, schema: Mapping[str, Any]) -> bool:
        return self._all or (bool(self._known) and orjson.dumps(schema) in self._known)

    def __len__(self) -> int:
        return len(self._known)

    def add(self, schema: Mapping[str, Any]) -> None:
        """Remember a schema; over the limit the oldest is forgotten, and then tried again."""
        self._known[orjson.dumps(schema)] = None
        if not MAX_REFUSED_FORMS.allows(len(self._known)):
            del self._known[next(iter(self._known))]


class Asker(Protocol):
    """The part of `ModelClient` that a structured call needs: it carries the single requests."""

    @property
    def clock(self) -> Clock:
        """The clock that times the attempts."""
        ...

    @property
    def refused_forms(self) -> RefusedForms:
        """The forms that the endpoint refuses as a constraint."""
        ...

    async def complete(
        self, messages: MessagesLike, call: EffectiveCall, *, output: OutputSpec | None, model: str | None
    ) -> LLMResult:
        """Ask and wait for the whole reply."""
        ...

    def stream(
        self, messages: MessagesLike, call: EffectiveCall, *, output: OutputSpec | None, model: str | None
    ) -> ModelStream:
        """Ask and read the reply as it comes."""
        ...


class StructuredCall(Generic[T]):
    """The conversation of one structured call: the next request, and the results so far."""

    def __init__(
        self,
        client: Asker,
        messages: MessagesLike,
        schema: ReplySchema[T],
        call: EffectiveCall,
        *,
        form: AskedForm = "json",
        hint: str = "",
        instruct: bool = True,
        model: str | None = None,
    ) -> None:
        turns = as_messages(messages)
        self.turns = instructed(turns, form_instructions(schema, form)) if instruct else turns
        self.client = client
        self.schema = schema
        self.call = call
        self.form: AskedForm = form
        self.hint = hint or template(schema, form)
        self.model = model
        self.number = 1
        self.results: list[LLMResult] = []
        self.errors: list[str] = []
        self.read_as: Form = "yaml" if form == "yaml" else "any"
        self._output = OutputSpec(schema.json_schema(), optional_as_null=True) if form == "json" else None
        self._held = self._output is not None and self._output.schema not in client.refused_forms
        self._refused = False  # the endpoint refused this request with the form; perhaps because of the form
        self._refused_s = 0.0  # how long that took

    @property
    def effective(self) -> EffectiveCall:
        """The settings of this attempt: each retry has a little more temperature than the one before."""
        return replace(
            self.call, temperature=self.call.temperature_for(self.number), timeout_s=max(self._left_s, 0.001)
        )

    @property
    def _left_s(self) -> float:
        """The rest of the call's total time; all attempts share one deadline."""
        return self.call.timeout_s - self._refused_s - sum(result.timing.total_s for result in self.results)

    @property
    def output(self) -> OutputSpec | None:
        """The constraint for the endpoint, if it accepts one."""
        return self._output if self._held else None

    async def complete(self) -> StructuredResult[T]:
        """Ask until a reply can be read; raises `StructuredOutputError` after the last retry."""
        while True:
            begun_s = self.client.clock.monotonic()
            try:
                result = await self.client.complete(self.turns, self.effective, output=self.output, model=self.model)
            except LLMResponseError as error:
                if not self.without_form(error, self.client.clock.monotonic() - begun_s):
                    raise
                continue
            if (structured := self.read(result)) is not None:
                return structured

    def without_form(self, error: LLMResponseError, took_s: float) -> bool:
        """Note that the endpoint refused after so many seconds; return whether to ask without the form."""
        if not self._held or not refuses_form(error):
            return False
        self._held, self._refused = False, True
        self._refused_s += took_s
        return True

    def read(self, result: LLMResult, reader: PartialReader[T] | None = None) -> StructuredResult[T] | None:
        """Read the object of a reply; None means ask again. Raises `StructuredOutputError` when no retry is left."""
        self.results.append(result)
        if self._refused and self._output is not None:  # the form was the reason
            self.client.refused_forms.add(self._output.schema)
        cut = result.finish_reason in CUT_OFF
        try:
            if self.form == "line":
                read = read_line(result.content, self.schema, cut=cut)
            elif reader is not None and reader.text == result.content:
                read = reader.finish(cut=cut)
            else:
                read = read_reply(result.content, self.schema, form=self.read_as, cut=cut)
        except StructuredOutputError as error:
            self._failed(result, error)
            return None
        return self._result(read, result)

    def _failed(self, result: LLMResult, error: StructuredOutputError) -> None:
        why = str(error)
        if result.finish_reason == "length":
            why = f"the reply was cut off after {self.call.max_tokens} tokens, so {why}"
        self.errors.append(why)
        if self.number > self.call.max_retries or self._left_s <= 0:
            count = "1 attempt" if self.number == 1 else f"{self.number} attempts"
            raise StructuredOutputError(
                f"no usable object after {count}; the last one failed because {why}",
                raw_content=result.content,
                tried=tuple(f"attempt {n}: {text}" for n, text in enumerate(self.errors, start=1)),
            ) from error
        self.turns = (*self.turns, *feedback(result.content, why, form=self.form, hint=self.hint))
        self.number += 1

    def _result(self, read: ReadReply[T], last: LLMResult) -> StructuredResult[T]:
        costs = [result.cost_usd for result in self.results]
        return StructuredResult(
            value=read.value,
            data=read.data,
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
            repaired=read.notes,
            served=last.served,
            cached_tokens=_sum(result.cached_tokens for result in self.results),
        )


class StructuredStream(ResultStream[StructuredUpdate, StructuredResult[T]], Generic[T]):
    """A structured reply as a stream. Use it with `async with`, iterate it if you like, and await `result`.

    `result` comes whether or not the updates are read: inside the block it reads on, retries included. After leaving
    early it is the object if what came so far is one, else `LLMCancelledError`.
    """

    def __init__(self, call: StructuredCall[T]) -> None:
        super().__init__()
        self._call = call
        self._stream: ModelStream | None = None
        self._reader = PartialReader(call.schema, form=call.read_as)

    async def __aenter__(self) -> "StructuredStream[T]":
        self._open = True
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        stream, self._stream = self._stream, None
        try:
            if stream is not None:
                await stream.__aexit__(exc_type, exc, trace)
        finally:
            if self._outcome is None and self._error is None:
                self._settle_early(stream)
            self._close()

    @property
    def data(self) -> dict[str, Any]:
        """The fields that are complete so far."""
        return self._outcome.data if self._outcome else self._reader.data

    async def _advance(self) -> None:
        if self._stream is None:
            await self._ask()
            return
        try:
            chunk = await self._stream.__anext__()
        except StopAsyncIteration:
            await self._end_attempt()
            return
        completed = self._reader.feed(chunk.content) if chunk.content and self._call.form != "line" else ()
        self._ready.append(StructuredUpdate(chunk, completed, self._reader.data, self._call.number))

    async def _ask(self) -> None:
        call = self._call
        stream = call.client.stream(call.turns, call.effective, output=call.output, model=call.model)
        begun_s = call.client.clock.monotonic()
        try:
            self._stream = await stream.__aenter__()
        except LLMResponseError as error:
            if not call.without_form(error, call.client.clock.monotonic() - begun_s):
                raise

    async def _end_attempt(self) -> None:
        stream, self._stream = self._stream, None
        if stream is None:
            return
        await stream.__aexit__(None, None, None)
        structured = self._call.read(await stream.result, self._reader)
        if structured is None:
            self._reader = PartialReader(self._call.schema, form=self._call.read_as)
        else:
            self._settle(structured)

    def _settle_early(self, stream: ModelStream | None) -> None:
        came = replace(stream.partial, finish_reason=FINISH_CANCELLED) if stream is not None else None
        structured: StructuredResult[T] | None = None
        if came is not None and came.content:
            with suppress(StructuredOutputError):  # no whole object: reported below
                structured = self._call.read(came)
        if structured is None:
            self._fail(LLMCancelledError("the stream was left before its object was complete; read it to its end"))
        else:
            self._settle(structured)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)
