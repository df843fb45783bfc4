"""Ask a model one question on an event loop: a text, an object, or a run with tools."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from tickmind.base.telemetry.tracing import SpanField, SpanKind, SpanValue, installed_tracer, span
from tickmind.llm.cassettes.replies import CallSite, call_site
from tickmind.llm.client import ModelClient
from tickmind.llm.config import CallConfig, EffectiveCall, merge_config
from tickmind.llm.errors import ErrorType, LLMCooldownError, LLMError, LLMRateLimitError
from tickmind.llm.grammar.json_grammar import choice_grammar
from tickmind.llm.messages import Message, Text
from tickmind.llm.results import CUT_OFF, LLMResult, StructuredResult
from tickmind.llm.served import Served
from tickmind.llm.structured import ReplySchema, is_flat, reminder
from tickmind.llm.structured.prompts import AskedForm
from tickmind.protocol.thought import ModelUsage
from tickmind.strategy.clients.client import Deliberation, Question
from tickmind.tools import AgentResult, ToolAgent

T = TypeVar("T")
LINE_TOKENS = 60  # of a reply that is one line


async def at_site(site: CallSite | None, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Ask, with model calls that are those of a character in a tick; with a tracer that is the first span."""
    tracer = installed_tracer()
    with call_site(site):
        if tracer is None:
            return await ask()
        fields: dict[SpanField, SpanValue] = {SpanField.OPERATION: "invoke_agent"}
        if site is not None:
            fields |= {SpanField.AGENT: site.character, SpanField.TICK: site.tick}
            if site.kind:
                fields[SpanField.FACULTY] = site.kind
        with span(tracer, f"invoke_agent {site.character if site else ''}".rstrip(), SpanKind.INTERNAL, fields):
            return await ask()


async def deliberate(
    client: ModelClient,
    question: Question,
    call: CallConfig | None = None,
    *,
    extra: Mapping[str, Any] | None = None,
) -> Deliberation:
    """Ask for a text, or for an object if the question has a schema.

    A flat object is requested as one line where a grammar constrains the endpoint, that is, a small model on this
    machine: its form is in the system message, and a reminder at the end. There a question with choices gets one of
    them to the letter; elsewhere the prompt has to say them. Calls `question.on_field` for each field as
    it is complete, and `question.on_retry` when a reply could not be used, so that its fields don't count.
    """
    settings = _settings(client, call, question.timeout_s, extra)
    messages: Sequence[Message] = question.messages()
    result: LLMResult | StructuredResult[Any]
    if question.schema is None:
        if question.one_line:
            settings = replace(settings, max_tokens=min(settings.max_tokens, LINE_TOKENS), stop=("\n",))
        if question.choices and client.transport.capabilities.output == "grammar":
            settings = replace(settings, extra={"grammar": choice_grammar(question.choices), **settings.extra})
        result = await client.complete(messages, settings)
    elif question.on_field is None:
        form = ReplySchema.of(question.schema)
        if asked_form(client, form) == "line":
            messages = _reminded(messages, reminder(form))
            result = await client.complete_structured(messages, form, settings, form="line")
        else:
            result = await client.complete_structured(messages, form, settings)
    else:
        async with client.stream_structured(messages, ReplySchema.of(question.schema), settings) as stream:
            attempt = 1
            async for update in stream:
                if update.attempt != attempt and question.on_retry is not None:
                    question.on_retry()
                attempt = update.attempt
                for name, value in update.completed:
                    question.on_field(name, value)
            result = await stream.result
    served = result.served or Served()
    text = result.content if isinstance(result, LLMResult) else result.raw_content
    if question.one_line and isinstance(result, LLMResult) and result.finish_reason in CUT_OFF:
        text = ""  # half a line is none
    return Deliberation(
        text,
        result.thinking,
        wait_s=served.cooldown.wait_s if served.cooldown is not None else 0.0,
        provider=served.provider,
        attempts=served.tries,
        queued_s=served.waited_s,
        data=None if isinstance(result, LLMResult) else result.data,
        **ModelUsage.values_of(result),
    )


def asked_form(client: ModelClient, schema: ReplySchema[Any]) -> AskedForm:
    """Return the form in which to request an object: one line if a grammar enforces it, else JSON."""
    return "line" if client.transport.capabilities.output == "grammar" and is_flat(schema) else "json"


def _reminded(messages: Sequence[Message], words: str) -> list[Message]:
    """Return the conversation with a few more words at the end of the last message."""
    *earlier, last = messages
    return [*earlier, replace(last, parts=(Text(f"{last.text}\n{words}"),))]


async def deliberate_with_tools(agent: ToolAgent, messages: Sequence[Message]) -> Deliberation:
    """Run a tool agent on messages; raises `LLMError` if the run fails.

    The agent's history goes along and stays as it is, so what is said and looked up here is not sent again with the
    next question. System messages come behind the agent's own instructions.
    """
    instructions = [agent.config.system or "", *(message.text for message in messages if message.role == "system")]
    alone = agent.twin(system="\n\n".join(text for text in instructions if text))
    result = await alone.invoke([message for message in messages if message.role != "system"])
    if not result.ok or result.error is not None:
        raise _error_of(result)
    usage = result.usage
    return Deliberation(
        result.text,
        thinking=result.thinking,
        **usage.values(agent.config.model, agent.cost_usd(usage)),
    )


def _error_of(result: AgentResult) -> LLMError:
    """Return the error of a failed run; a wait that was requested stays in it."""
    error = result.error
    if error is None:
        return LLMError(f"the run stopped: {result.stopped}")
    if error.type is not ErrorType.RATE_LIMITED:
        return LLMError(error.message)
    wait_s, code = error.details.get("retry_after_s"), error.details.get("code")
    if code:
        return LLMCooldownError(error.message, retry_after_s=wait_s, code=code)
    return LLMRateLimitError(error.message, retry_after_s=wait_s)


def _settings(
    client: ModelClient, call: CallConfig | None, timeout_s: float, extra: Mapping[str, Any] | None
) -> EffectiveCall:
    settings = merge_config(client.config, call)
    settings = replace(settings, timeout_s=min(settings.timeout_s, timeout_s))
    if extra:
        settings = replace(settings, extra={**settings.extra, **extra})
    return settings
