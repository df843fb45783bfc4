"""`ModelClient`: asks one model for whole replies, streams and structured values, over any transport.

A client belongs to its config and holds connections; open it with `async with`, or call `aclose`. Whether provider
requests are allowed at all is `tickmind.llm.safety.ALLOW_PROVIDER_REQUESTS`.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from types import UnionType
from typing import Any, Self, TypeVar, Unpack, overload

from tickmind.base import Clock, Secret, SystemClock, get_logger
from tickmind.llm.config import CallConfig, EffectiveCall, ModelConfig, merge_config
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.grammar.json_grammar import line_grammar
from tickmind.llm.http.pacing import pace
from tickmind.llm.messages import Message, MessagesLike, as_messages
from tickmind.llm.options import RequestOptions, StructuredOptions
from tickmind.llm.prices import PRICES, Price, UsageMeter, cost_usd
from tickmind.llm.results import FINISH_UNKNOWN, LLMResult, StructuredResult, Timing
from tickmind.llm.streaming.streams import ModelStream
from tickmind.llm.streaming.thinking import ThinkSplitter
from tickmind.llm.structured import ReplySchema, is_flat
from tickmind.llm.structured.calls import RefusedForms, StructuredCall, StructuredStream
from tickmind.llm.structured.line_form import SEPARATOR, least_values
from tickmind.llm.tokens import fit_to_context
from tickmind.llm.transport import (
    ModelReply,
    ModelRequest,
    StreamPiece,
    Transport,
    Usage,
)
from tickmind.llm.transports import make_transport

T = TypeVar("T")

_log = get_logger(__name__)


class ModelClient:
    """Ask one model at one endpoint. Tasks of one event loop share a client; threads use `SyncModelClient`.

    Pass a `transport` to replace or wrap the default one, a `meter` to sum up a run, and `prices` of your own.

        async with ModelClient(load_model_config()) as client:
            result = await client.complete("Say hello in five words.")
            print(result.content, result.usage)
    """

    def __init__(
        self,
        config: ModelConfig,
        transport: Transport | None = None,
        *,
        clock: Clock | None = None,
        prices: Mapping[str, Price] = PRICES,
        meter: UsageMeter | None = None,
    ) -> None:
        self._config = config
        self._transport = make_transport(config) if transport is None else transport
        self._owns_transport = transport is None
        self._clock = clock or SystemClock()
        self._prices = prices
        self._meter = meter
        self._refused_forms = RefusedForms(all_of_them=self._transport.capabilities.output == "none")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"ModelClient(model={self._config.model!r}, base_url={self._config.base_url!r})"

    @property
    def config(self) -> ModelConfig:
        """The config that this client was made with."""
        return self._config

    @property
    def clock(self) -> Clock:
        """The clock that times its calls."""
        return self._clock

    @property
    def refused_forms(self) -> RefusedForms:
        """The forms that the endpoint refused; structured calls ask for these without holding it to them."""
        return self._refused_forms

    @property
    def transport(self) -> Transport:
        """The transport that carries the requests."""
        return self._transport

    def with_api_key(self, key: str | Secret) -> "ModelClient":
        """Return another client with another key and the same prices and meter; close it like this one.

        Raises `LLMConfigError` if the transport was passed in, because the transport holds the key.
        """
        if not self._owns_transport:
            raise LLMConfigError("the transport was passed in and holds the key; make another transport")
        secret = key if isinstance(key, Secret) else Secret(key.strip())
        config = replace(self._config, api_key=secret)
        return ModelClient(config, clock=self._clock, prices=self._prices, meter=self._meter)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def complete(
        self,
        messages: MessagesLike,
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[RequestOptions],
    ) -> LLMResult:
        """Ask and wait for the whole reply, thinking separated."""
        await pace()
        effective = self._effective(call)
        request = self._request(messages, effective, **options)
        started_s = self._clock.monotonic()
        try:
            reply = await self._transport.complete(request, timeout_s=effective.timeout_s)
        except BaseException:
            self._count(None)
            raise
        result = self._result(reply, request, self._clock.monotonic() - started_s)
        self._count(result)
        return result

    def stream(
        self,
        messages: MessagesLike,
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[RequestOptions],
    ) -> ModelStream:
        """Ask and read the reply as it comes: `async with client.stream(...) as stream`."""

        def open_stream() -> AbstractAsyncContextManager[AsyncIterator[StreamPiece]]:
            effective = self._effective(call)
            request = self._request(messages, effective, **options)
            return self._transport.stream(request, timeout_s=effective.timeout_s)

        return ModelStream(
            open_stream,
            model=options.get("model") or self._config.model,
            clock=self._clock,
            splitter=self.splitter(),
            cost_of=self.cost_usd,
            on_end=self._count,
        )

    @overload
    async def complete_structured(
        self,
        messages: MessagesLike,
        schema: ReplySchema[T] | type[T],
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> StructuredResult[T]: ...
    @overload
    async def complete_structured(
        self,
        messages: MessagesLike,
        schema: UnionType,
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> StructuredResult[Any]: ...
    @overload
    async def complete_structured(
        self,
        messages: MessagesLike,
        schema: Mapping[str, Any] | Sequence[str],
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> StructuredResult[dict[str, Any]]: ...
    async def complete_structured(
        self,
        messages: MessagesLike,
        schema: Any,
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> StructuredResult[Any]:
        """Ask for an object or a value: typed by a pydantic model, a dataclass, `list[int]`, a union, a JSON schema.

        A list of field names asks for an object with these.

        A reply that can't be read goes back to the model with the reason, `call.max_retries` times.
        """
        return await self._structured(messages, schema, call, **options).complete()

    @overload
    def stream_structured(
        self,
        messages: MessagesLike,
        schema: ReplySchema[T] | type[T],
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> StructuredStream[T]: ...
    @overload
    def stream_structured(
        self,
        messages: MessagesLike,
        schema: UnionType,
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> StructuredStream[Any]: ...
    @overload
    def stream_structured(
        self,
        messages: MessagesLike,
        schema: Mapping[str, Any] | Sequence[str],
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> StructuredStream[dict[str, Any]]: ...
    def stream_structured(
        self,
        messages: MessagesLike,
        schema: Any,
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> StructuredStream[Any]:
        """Stream a structured reply: `async with client.stream_structured(...) as stream`, then await its `result`."""
        return StructuredStream(self._structured(messages, schema, call, **options))

    def _structured(
        self,
        messages: MessagesLike,
        schema: Any,
        call: CallConfig | EffectiveCall | None,
        **options: Unpack[StructuredOptions],
    ) -> StructuredCall[Any]:
        form, effective = ReplySchema.of(schema), self._effective(call)
        if options.get("form") == "line":
            if not is_flat(form):
                raise LLMConfigError("a line holds texts, numbers and choices; ask for nested or null values as json")
            if self._transport.capabilities.output == "grammar":
                grammar = line_grammar(
                    form.json_schema(),
                    separator=SEPARATOR,
                    least=least_values(form),
                    limits=effective.grammar_limits,
                )
                effective = replace(effective, extra={"grammar": grammar, **effective.extra})
        return StructuredCall(self, messages, form, effective, **options)

    def splitter(self) -> ThinkSplitter:
        """Return what separates `<think>` from the answer at this endpoint."""
        mode = self._config.think_tags
        return ThinkSplitter(opened=mode == "opened", tags=mode != "off")

    def fitted(self, turns: tuple[Message, ...], max_tokens: int) -> tuple[Message, ...]:
        """Drop the oldest turns until the prompt and the reply fit into the model's context."""
        kept = fit_to_context(turns, self._config.context_limit, max_tokens)
        if len(kept) < len(turns):
            _log.warning(
                "left the oldest messages out of a prompt: they exceed the model's context_limit",
                left_out=len(turns) - len(kept),
                kept=len(kept),
                context_limit=self._config.context_limit,
                model=self._config.model,
            )
        return kept

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        """Return what so many tokens of a model cost by this client's prices; None if they are not known."""
        return cost_usd(model, usage, self._prices)

    def count(self, request: ModelRequest, reply: ModelReply | None) -> None:
        """Add a request that the caller sent by `transport` to the meter; a `reply` of None counts as failed."""
        self._count(None if reply is None else self._result(reply, request, 0.0))

    def _effective(self, call: CallConfig | EffectiveCall | None) -> EffectiveCall:
        return call if isinstance(call, EffectiveCall) else merge_config(self._config, call)

    def _request(
        self,
        messages: MessagesLike,
        call: EffectiveCall,
        **options: Unpack[RequestOptions],
    ) -> ModelRequest:
        turns = as_messages(messages)
        if not turns:
            raise LLMConfigError("the list of messages is empty; pass at least one message")
        return ModelRequest(
            model=options.get("model") or self._config.model,
            messages=self.fitted(turns, call.max_tokens),
            temperature=call.temperature,
            max_tokens=call.max_tokens,
            tools=tuple(options.get("tools", ())),
            tool_choice=options.get("tool_choice", "auto"),
            parallel_tool_calls=options.get("parallel_tool_calls", True),
            output=options.get("output"),
            stop=call.stop,
            seed=call.seed,
            extra=call.extra,
            headers=call.headers,
            grammar_limits=call.grammar_limits,
        )

    def _count(self, result: LLMResult | None) -> None:
        if self._meter is None:
            return
        if result is None:
            self._meter.add_failure()
        else:
            self._meter.add(result)

    def _result(self, reply: ModelReply, request: ModelRequest, total_s: float) -> LLMResult:
        splitter = self.splitter()
        for block in reply.thinking:
            if block.text:
                splitter.note_thinking(block.text)
        splitter.feed(reply.content)
        splitter.finish()
        model = reply.model or request.model
        return LLMResult(
            content=splitter.content,
            thinking=splitter.thinking,
            finish_reason=reply.finish_reason or FINISH_UNKNOWN,
            tool_calls=reply.tool_calls,
            blocks=reply.thinking,
            timing=Timing(total_s),
            attempts=reply.attempts,
            served=reply.served,
            **reply.usage.values(model, self.cost_usd(model, reply.usage)),
        )
