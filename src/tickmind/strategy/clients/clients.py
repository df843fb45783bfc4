"""Who answers: the protocol, the double for tests, and the adapters for `tickmind.llm`."""

import inspect
import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from tickmind.base import ConfigError
from tickmind.llm import GatewayClient, LLMError, Message, ModelClient, SyncGatewayClient, SyncModelClient
from tickmind.llm.config import CallConfig
from tickmind.strategy.clients.deliberation import Deliberation, deliberate, deliberate_with_tools
from tickmind.tools import ToolAgent


@runtime_checkable
class LLMClient(Protocol):
    """Anything that answers a prompt. The call may block: it runs in a thread of its own, never in the tick."""

    def query(self, system_prompt: str, user_message: str) -> str:
        """Ask and return the text of the reply; raise whatever went wrong."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that a client may need to know about one query."""

    system_prompt: str
    user_message: str
    turns: tuple[tuple[str, str], ...] = ()  # earlier questions and answers, oldest first
    entity_id: int = 0
    schema: Mapping[str, Any] | None = None  # the form that the reply should have
    timeout_s: float = 30.0
    on_field: Callable[[str, Any], None] | None = None  # called from another thread as fields arrive
    priority: int = 0  # of the agent; one step higher if the question presses
    on_retry: Callable[[], None] | None = None  # called when what came so far can't be used and is asked for again

    def folded(self) -> str:
        """The user message with the earlier turns in front, for clients that know no conversations."""
        return folded(self.user_message, self.turns)

    def size(self, *, folds: bool) -> int:
        """The length of the whole prompt in characters; `folds` tells whether the client gets one message for all."""
        size = len(self.system_prompt)
        if folds:
            return size + len(self.folded())
        return size + len(self.user_message) + sum(len(told) + len(said) for told, said in self.turns)

    def messages(self) -> list[Message]:
        """The whole conversation."""
        talk = [Message.system(self.system_prompt)]
        for told, said in self.turns:
            talk += [Message.user(told), Message.assistant(said)]
        return [*talk, Message.user(self.user_message)]


def folded(user_message: str, turns: Sequence[tuple[str, str]]) -> str:
    """A message with the earlier turns in front."""
    if not turns:
        return user_message
    earlier = "\n\n".join(f"Earlier you were told:\n{told}\n\nYou answered:\n{said}" for told, said in turns)
    return f"{earlier}\n\nNow:\n{user_message}"


@runtime_checkable
class AsyncLLMClient(Protocol):
    """A client that answers on an event loop, and so can really be cancelled.

    If it has `aclose()`, which gives a coroutine too, the system's shutdown closes it on that loop.
    """

    def answer(self, question: Question) -> Coroutine[Any, Any, Deliberation]:
        """Make the coroutine that asks."""
        ...


AnyClient: TypeAlias = LLMClient | AsyncLLMClient


class ModelAnswers:
    """A `ModelClient` as an `AsyncLLMClient`.

    `extra_for(entity_id)` may give fields to send along, such as the slot that a local model keeps for an entity.
    """

    def __init__(
        self,
        client: ModelClient,
        call: CallConfig | None = None,
        *,
        extra_for: Callable[[int], Mapping[str, Any]] | None = None,
    ) -> None:
        self._client = client
        self._call = call
        self._extra_for = extra_for

    def answer(self, question: Question) -> Coroutine[Any, Any, Deliberation]:
        """Ask the model; with a schema the reply is an object, asked for again if it can't be read."""
        return deliberate(
            self._client,
            question.messages(),
            self._call,
            schema=question.schema,
            on_field=question.on_field,
            on_retry=question.on_retry,
            timeout_s=question.timeout_s,
            extra=self._extra_for(question.entity_id) if self._extra_for is not None else None,
        )

    def aclose(self) -> Coroutine[Any, Any, None]:
        """Close the client."""
        return self._client.aclose()


class ToolAgentAnswers:
    """A `ToolAgent` for each entity as an `AsyncLLMClient`: deliberation may look things up before it answers.

    Each deliberation begins anew: the entity's earlier turns go along as `conversation_turns` and `token_budget` say,
    what its tools found earlier does not, and nothing is added to an agent's history. Of more than `most_agents` the
    one that has been silent the longest is let go.
    """

    def __init__(self, make_agent: Callable[[int], ToolAgent], *, most_agents: int = 1024) -> None:
        self._make_agent = make_agent
        self._most_agents = most_agents
        self._agents: OrderedDict[int, ToolAgent] = OrderedDict()  # entity id -> its agent, the silent ones first

    def answer(self, question: Question) -> Coroutine[Any, Any, Deliberation]:
        """Let the entity's agent work on it."""
        agent = self._agents.pop(question.entity_id, None) or self._make_agent(question.entity_id)
        self._agents[question.entity_id] = agent
        if len(self._agents) > self._most_agents:
            self._agents.popitem(last=False)
        return deliberate_with_tools(agent, question.messages())


class SyncModelAnswers:
    """A `SyncModelClient` as an `LLMClient`: it blocks a thread of the pool for each query."""

    def __init__(self, client: SyncModelClient) -> None:
        self._client = client

    def query(self, system_prompt: str, user_message: str) -> str:
        """Ask and wait."""
        return self._client.complete([Message.system(system_prompt), Message.user(user_message)]).content


class AsyncQueryAnswers:
    """A client whose `query` is an `async def` as an `AsyncLLMClient`."""

    def __init__(self, client: Any) -> None:
        self._client = client
        if hasattr(client, "aclose"):
            self.aclose = client.aclose

    def answer(self, question: Question) -> Coroutine[Any, Any, Deliberation]:
        """Make the coroutine that asks; a text that it gives is taken as well."""
        asked: Coroutine[Any, Any, Deliberation] = self._client.query(question.system_prompt, question.folded())
        return asked


def as_client(client: Any) -> AnyClient:
    """A client as it is, or with its adapter: of `tickmind.llm`, or one whose `query` is an `async def`.

    Raises `ConfigError` for a class and for what can't be asked.
    """
    if isinstance(client, type):
        raise ConfigError(f"a client is an object and not a class; register {client.__name__}(...)")
    if isinstance(client, GatewayClient | SyncGatewayClient):
        from tickmind.strategy.clients.adapters import GatewayAnswers

        return GatewayAnswers(client)
    if isinstance(client, ModelClient):
        return ModelAnswers(client)
    if isinstance(client, SyncModelClient):
        return SyncModelAnswers(client)
    if isinstance(client, ToolAgent):
        return ToolAgentAnswers(lambda entity_id: client.twin(agent_id=f"{client.agent_id}-{entity_id}"))
    if answers_on_loop(client):
        return cast("AnyClient", client)
    if _takes(client, "query", "system_prompt", "user_message"):
        return AsyncQueryAnswers(client) if inspect.iscoroutinefunction(client.query) else cast("AnyClient", client)
    raise ConfigError(
        "a client has query(system_prompt, user_message) or answer(question), or is a client of tickmind.llm; "
        f"a {type(client).__name__} is none of these"
    )


def answers_on_loop(client: Any) -> bool:
    """Whether a client is asked by `answer(question)`; one that has a `query` too only if its `answer` is async."""
    if not _takes(client, "answer", "question"):
        return False
    return inspect.iscoroutinefunction(client.answer) or not _takes(client, "query", "system_prompt", "user_message")


def _takes(client: Any, name: str, *arguments: str) -> bool:
    """Whether a client has a method that can be called with so many arguments."""
    method = getattr(client, name, None)
    if not callable(method):
        return False
    try:
        inspect.signature(method).bind(*arguments)
    except TypeError:
        return False
    except ValueError:
        return True  # a built-in that does not say what it takes
    return True


Responses: TypeAlias = Mapping[tuple[str, str], str] | Callable[[str, str], str]


class MockClient:
    """Answers without a model, for tests and demonstrations. Threads may share it.

    `responses` maps (system prompt, user message) to replies, or is a function of both; what is not there is answered
    with `{}`. Each call takes `latency` seconds, or a random time between two of them; `error_rate` of the calls raise
    `error_exception`; both by the chance of `seed`.
    """

    def __init__(
        self,
        responses: Responses | None = None,
        latency: float | tuple[float, float] = 0.0,
        error_rate: float = 0.0,
        error_exception: type[BaseException] | BaseException = LLMError,
        *,
        seed: int = 0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._responses = responses if responses is not None else {}
        self._shortest, self._longest = latency if isinstance(latency, tuple) else (latency, latency)
        if not 0 <= self._shortest <= self._longest:
            raise ConfigError(f"a latency is 0 seconds or more, and a range goes upwards, not {latency!r}")
        self._error_rate = error_rate
        self._error_exception = error_exception
        self._random = random.Random(seed)
        self._sleep = sleep
        self._lock = threading.Lock()
        self.calls = 0

    def query(self, system_prompt: str, user_message: str) -> str:
        """Answer, late or never if so told."""
        with self._lock:
            self.calls += 1
            fails = self._random.random() < self._error_rate
            latency = self._shortest
            if self._longest > latency:
                latency = self._random.uniform(latency, self._longest)
        if latency > 0:
            self._sleep(latency)
        if fails:
            error = self._error_exception
            raise error if isinstance(error, BaseException) else error("the mock was told to fail")
        if callable(self._responses):
            return self._responses(system_prompt, user_message)
        return self._responses.get((system_prompt, user_message), "{}")
