"""One deliberation on an event loop: a prompt in, a reply out, fields on the way. For layers that never await."""

from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tickmind.llm.client import ModelClient
from tickmind.llm.config import CallConfig, EffectiveCall, merge
from tickmind.llm.errors import ErrorType, LLMCooldownError, LLMError, LLMRateLimitError
from tickmind.llm.messages import Message, Text
from tickmind.llm.results import LLMResult, StructuredResult
from tickmind.llm.served import Served
from tickmind.llm.structured import ReplySchema, is_flat, reminder
from tickmind.llm.structured.prompts import AskedForm
from tickmind.tools import AgentResult, ToolAgent

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Deliberation:
    """A reply with what is known about it."""

    text: str  # as the model wrote it
    thinking: str = ""
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    wait_s: float = 0.0  # how long whoever asked is to wait before the next question, as the endpoint said
    provider: str = ""  # who answered, if a gateway said so
    attempts: int = 1
    queued_s: float | None = None  # in a gateway's queue
    data: Mapping[str, Any] | None = None  # the object that the text means, if one was asked for


async def deliberate(
    client: ModelClient,
    messages: Sequence[Message],
    call: CallConfig | None = None,
    *,
    schema: ReplySchema[Any] | Mapping[str, Any] | None = None,
    on_field: Callable[[str, Any], None] | None = None,
    on_retry: Callable[[], None] | None = None,
    timeout_s: float | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Deliberation:
    """Ask for a text, or for an object if there is a schema; `on_field` hears of each field as it is complete.

    A flat object is asked for as one line where the endpoint is held to it by a grammar, which is a small model on this
    machine: its form is in the system message, and a reminder at the end. `on_retry` hears that a reply could not be
    used and is asked for again, so that its fields don't count.
    """
    settings = _settings(client, call, timeout_s, extra)
    found: LLMResult | StructuredResult[Any]
    if schema is None:
        found = await client.complete(messages, settings)
    elif on_field is None:
        form = ReplySchema.of(schema)
        if asked_form(client, form) == "line":
            messages = _reminded(messages, reminder(form))
            found = await client.complete_structured(messages, form, settings, form="line")
        else:
            found = await client.complete_structured(messages, form, settings)
    else:
        async with client.stream_structured(messages, ReplySchema.of(schema), settings) as stream:
            attempt = 1
            async for update in stream:
                if update.attempt != attempt and on_retry is not None:
                    on_retry()
                attempt = update.attempt
                for name, value in update.completed:
                    on_field(name, value)
            found = await stream.result
    served = found.served or Served()
    return Deliberation(
        found.content if isinstance(found, LLMResult) else found.raw_content,
        found.thinking,
        found.model,
        found.prompt_tokens,
        found.completion_tokens,
        found.cost_usd,
        wait_s=served.cooldown.wait_s if served.cooldown is not None else 0.0,
        provider=served.provider,
        attempts=served.tries,
        queued_s=served.waited_s,
        data=None if isinstance(found, LLMResult) else found.data,
    )


def asked_form(client: ModelClient, schema: ReplySchema[Any]) -> AskedForm:
    """The form in which a client is asked for an object: one line if a grammar holds it to that, else JSON."""
    return "line" if client.transport.capabilities.output == "grammar" and is_flat(schema) else "json"


def _reminded(messages: Sequence[Message], words: str) -> list[Message]:
    """The conversation with a few more words at the end of the last message."""
    *earlier, last = messages
    return [*earlier, replace(last, parts=(Text(f"{last.text}\n{words}"),))]


async def deliberate_with_tools(agent: ToolAgent, messages: Sequence[Message]) -> Deliberation:
    """Let a tool agent work on it; a run that fails is an error here.

    The agent's history goes along and stays as it is, so what is said and looked up here is not sent again with the
    next question. System messages come behind the agent's own instructions.
    """
    told = [agent.config.system or "", *(message.text for message in messages if message.role == "system")]
    alone = agent.twin(system="\n\n".join(text for text in told if text))
    result = await alone.invoke([message for message in messages if message.role != "system"])
    if not result.ok or result.error is not None:
        raise _error_of(result)
    usage = result.usage
    return Deliberation(
        result.text,
        thinking=result.thinking,
        model=agent.config.model,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost_usd=agent.cost_usd(usage),
    )


def _error_of(result: AgentResult) -> LLMError:
    """Why a run failed; what asks to wait still does."""
    error = result.error
    if error is None:
        return LLMError(f"the run stopped: {result.stopped}")
    if error.type is not ErrorType.RATE_LIMITED:
        return LLMError(error.message)
    wait_s, code = error.details.get("retry_after_s"), error.details.get("code")
    if code:
        return LLMCooldownError(error.message, retry_after_s=wait_s, code=code)
    return LLMRateLimitError(error.message, retry_after_s=wait_s)


class Contained(Coroutine[Any, Any, T]):
    """Work that is anybody's code; one that wants to end the process ends only itself.

    It is no `async def` around the work, for one that is cancelled before it began would leave the work never awaited.
    """

    __slots__ = ("__weakref__", "_work")

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work

    def __await__(self) -> Generator[Any, Any, T]:
        return self._work.__await__()

    def send(self, value: Any) -> Any:
        """Go on with the work."""
        try:
            return self._work.send(value)
        except (SystemExit, KeyboardInterrupt) as error:
            raise LLMError(f"the client raised {type(error).__name__}") from error

    def throw(self, *error: Any) -> Any:
        """Go on with an error, such as a cancellation."""
        try:
            return self._work.throw(*error)
        except (SystemExit, KeyboardInterrupt) as caught:
            raise LLMError(f"the client raised {type(caught).__name__}") from caught

    def close(self) -> None:
        """Give the work up."""
        self._work.close()


async def sign_of_life() -> None:
    """Do nothing, to see whether the loop gets around to it."""


def _settings(
    client: ModelClient, call: CallConfig | None, timeout_s: float | None, extra: Mapping[str, Any] | None
) -> EffectiveCall:
    settings = merge(client.config, call)
    if timeout_s is not None:
        settings = replace(settings, timeout_s=min(settings.timeout_s, timeout_s))
    if extra:
        settings = replace(settings, extra={**settings.extra, **extra})
    return settings
