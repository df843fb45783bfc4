"""`LLMClient` and `AsyncLLMClient`: the protocols of clients, with the `Question` they get and their reply."""

import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from tickmind.llm import Message, SessionCooldown
from tickmind.protocol.thought import ServedUsage


@runtime_checkable
class LLMClient(Protocol):
    """Answer a prompt. The call may block: it runs in a thread of its own, never in the tick."""

    def query(self, system_prompt: str, user_message: str) -> str:
        """Ask and return the text of the reply; raise what went wrong."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """One query with all its options."""

    system_prompt: str
    user_message: str
    turns: tuple[tuple[str, str], ...] = ()  # earlier questions and answers, oldest first
    entity_id: int = 0
    schema: Mapping[str, Any] | None = None  # the form that the reply should have
    timeout_s: float = 30.0
    on_field: Callable[[str, Any], None] | None = None  # called from another thread as fields arrive
    priority: int = 0  # of the agent; one step higher if the question presses
    on_retry: Callable[[], None] | None = None  # called when what came so far can't be used and is asked for again
    waits: bool = False  # for its turn at a shared client, where it would else be refused
    one_line: bool = False  # the reply is one short line; without a schema only
    choices: tuple[str, ...] = ()  # the reply is one of these texts; without a schema only

    def folded(self) -> str:
        """Return the user message with the earlier turns in front, for clients without conversations."""
        return folded(self.user_message, self.turns)

    def size(self, *, folds: bool) -> int:
        """Return the length of the whole prompt in characters; `folds` means that the client gets a single message."""
        size = len(self.system_prompt)
        if folds:
            return size + len(self.folded())
        return size + len(self.user_message) + sum(len(said) + len(answered) for said, answered in self.turns)

    def messages(self) -> list[Message]:
        """Return the whole conversation."""
        talk = [Message.system(self.system_prompt)]
        for said, answered in self.turns:
            talk += [Message.user(said), Message.assistant(answered)]
        return [*talk, Message.user(self.user_message)]


def folded(user_message: str, turns: Sequence[tuple[str, str]]) -> str:
    """Return a message with the earlier turns in front."""
    if not turns:
        return user_message
    earlier = "\n\n".join(f"Earlier you were told:\n{said}\n\nYou answered:\n{answered}" for said, answered in turns)
    return f"{earlier}\n\nNow:\n{user_message}"


@dataclass(frozen=True, slots=True)
class Deliberation(ServedUsage):
    """A reply with its usage, wait and provider."""

    text: str  # as the model wrote it
    thinking: str = ""
    wait_s: float = 0.0  # before the next question, as the endpoint requested
    data: Mapping[str, Any] | None = None  # the object that the text means, if the question had a schema


@runtime_checkable
class AsyncLLMClient(Protocol):
    """Answer on an event loop, so that a query can really be cancelled.

    If it has `aclose()`, which returns a coroutine too, the system's shutdown closes it on that loop.
    """

    def answer(self, question: Question) -> Coroutine[Any, Any, Deliberation]:
        """Make the coroutine that asks."""
        ...


AnyClient: TypeAlias = LLMClient | AsyncLLMClient


@runtime_checkable
class SharedClient(Protocol):
    """A client that knows beforehand when it would be refused; until then no query goes out through it.

    `ready_in_s` and `cooldown` are called in the tick, so they must not wait.
    """

    def ready_in_s(self) -> float:
        """Return the time in seconds until our turn, as far as known; 0 if it is now."""
        ...

    def cooldown(self) -> SessionCooldown | None:
        """Return the last reported cooldown, for display."""
        ...

    def defer(self, entity_id: int, duration_s: float) -> Coroutine[Any, Any, None]:
        """Make the coroutine that notifies the gateway that an entity waits."""
        ...


@dataclass(frozen=True, slots=True)
class ClientStatistics:
    """The state of a shared client."""

    ready_in_s: float
    cooldown: SessionCooldown | None = None  # as the gateway last reported


def answers_on_loop(client: Any) -> bool:
    """Return whether a client is called by `answer(question)`; if it has a `query` too, only if `answer` is async."""
    if not takes(client, "answer", "question"):
        return False
    return inspect.iscoroutinefunction(client.answer) or not takes(client, "query", "system_prompt", "user_message")


def takes(client: Any, name: str, *arguments: str) -> bool:
    """Return whether a client has a method that can be called with so many arguments."""
    method = getattr(client, name, None)
    if not callable(method):
        return False
    try:
        inspect.signature(method).bind(*arguments)
    except TypeError:
        return False
    except ValueError:
        return True  # a built-in without a signature
    return True
