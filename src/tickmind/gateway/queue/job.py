"""One request on its way through the queue: what it asks for, where it may go, and what became of each attempt."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, NamedTuple, Protocol

from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.refusal import Refusal
from tickmind.gateway.routing.plan import Plan, Target

new_tuple = tuple.__new__  # makes an `Attempt` or `Outcome` from all of its fields in a third of the usual time


class Priority(IntEnum):
    """Who goes first within a session; waiting counts, so nobody starves."""

    HIGH = 0
    NORMAL = 1
    LOW = 2


class Result(Enum):
    """How an attempt ended."""

    __hash__ = object.__hash__  # each is there once, and the usual one is slow

    OK = "ok"
    RATE_LIMITED = "rate_limited"  # 429 and the like: wait, or go elsewhere
    ACCOUNT = "account"  # the key is refused, banned or out of money: waiting does not help
    REJECTED = "rejected"  # the provider says that the request itself is wrong
    DECLINED = "declined"  # it does not take this request (its size, its price), others it does; elsewhere it may go
    FAILED = "failed"  # 5xx
    BROKEN = "broken"  # no connection, or it broke, or unreadable
    DEADLINE = "deadline"
    CANCELLED = "cancelled"  # the caller went away


_LIMITED = Result.RATE_LIMITED


class Outcome(NamedTuple):
    """What came of one attempt, as far as the queue must know. `begun`: bytes have already gone to the caller.

    It is a tuple, as `Attempt` is, because every request makes one of each.
    """

    result: Result
    status: int = 0
    retry_after_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    begun: bool = False
    message: str = ""


class Attempt(NamedTuple):
    """One try at one provider, as replies and statistics show it."""

    provider: str
    key_id: str
    model: str
    result: Result
    status: int
    waited_s: float  # in the queue, before it
    took_s: float


class JobState(Enum):
    """Where a job is. It goes from new to queued and sent, back to queued after a 429, and to done once."""

    NEW = "new"
    HELD = "held"  # its agent has deferred
    QUEUED = "queued"
    SENT = "sent"
    DONE = "done"


class Carrier(Protocol):
    """Who brings a job to its provider and hears its end: the HTTP side, or a double in tests.

    `send` puts the job on the wire of the lane's target and reports later by `Dispatcher.ended`. `refuse` is the end.
    Exactly one of `refuse` and a final `ended` comes for each submitted job, and nothing after a `cancel`. The job is
    the `Ticket` that was submitted, which stands above this module.
    """

    def send(self, job: Any, target: Target) -> None:
        """Send it now."""
        ...

    def refuse(self, job: Any, refusal: Refusal) -> None:
        """Tell the caller that it was not served."""
        ...


@dataclass(slots=True, eq=False)
class Job:
    """The facts of one request, and below them where it is; `Ticket` adds what the dispatcher holds for it."""

    plan: Plan
    session: Session
    carrier: Carrier
    deadline_s: float  # monotonic; the total
    agent: str = ""
    priority: Priority = Priority.NORMAL
    tokens: int = 0  # estimated: the prompt's and what the reply may take
    replace_older: bool = False
    drop_after_s: float | None = None  # monotonic: of no use after this
    prompt_tokens: int = 0  # of `tokens`, those of the prompt

    state: JobState = JobState.NEW
    arrived_s: float = field(init=False, repr=False)  # those without a value get one by `submit`
    queued_s: float = field(init=False, repr=False)
    sent_s: float = 0.0
    target: Target | None = None
    rounds: int = 0
    attempts: tuple[Attempt, ...] = ()
    number: int = field(init=False, repr=False)  # in the order of arrival
    expires_s: float = 0.0  # monotonic: when it stops waiting
    backlog: object | None = None  # that it waits in, while it is queued
    charged: float = 0.0

    def untried(self) -> tuple[Target, ...]:
        """The targets of the chain at which it has not failed yet; a rate limit is no failure."""
        failed = {(one.provider, one.key_id, one.model) for one in self.attempts if one.result is not _LIMITED}
        targets = self.plan.targets
        return tuple(one for one in targets if (one.provider.name, one.key.id, one.model) not in failed)

    def note(self, result: Result, status: int, now: float) -> None:
        """The attempt that is under way is over."""
        target, sent_s = self.target, self.sent_s
        assert target is not None, "a job that was sent has a target"
        name, waited_s = target.provider.name, sent_s - self.queued_s
        attempt = new_tuple(Attempt, (name, target.key.id, target.model, result, status, waited_s, now - sent_s))
        self.attempts = (*self.attempts, attempt) if self.attempts else (attempt,)


class Handle(Protocol):
    """A timer that can be called off."""

    def cancel(self) -> None:
        """Call it off."""
        ...


Timers = Callable[[float, Callable[[], None]], Handle]  # (monotonic time, what to do) -> handle; `loop.call_at` is one
