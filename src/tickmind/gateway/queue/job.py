"""A job: one request on its way through the queue, where it may go, and the result of each attempt."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, NamedTuple, Protocol

from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.refusal import Refusal
from tickmind.gateway.routing.plan import Plan, Target

new_tuple = tuple.__new__  # makes an `Attempt` or `Outcome` from all of its fields in a third of the usual time


class Priority(IntEnum):
    """The order within a session; waiting time counts, so no request starves."""

    HIGH = 0
    NORMAL = 1
    LOW = 2


class Result(Enum):
    """How an attempt ended."""

    __hash__ = object.__hash__  # members are singletons, and the default hash of an enum is slow

    OK = "ok"
    RATE_LIMITED = "rate_limited"  # 429 and the like: wait, or go elsewhere
    ACCOUNT = "account"  # the key is refused, banned or out of money: waiting does not help
    REJECTED = "rejected"  # the provider says that the request itself is wrong
    DECLINED = "declined"  # it does not take this request (size, price); another target may
    FAILED = "failed"  # 5xx
    BROKEN = "broken"  # no connection, or it broke, or unreadable
    DEADLINE = "deadline"
    CANCELLED = "cancelled"  # the caller went away


_LIMITED = Result.RATE_LIMITED


class Outcome(NamedTuple):
    """The result of one attempt, as far as the queue needs it. `begun`: bytes have already gone to the caller.

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
    """Sends a job to its provider and reports its end: the HTTP side, or a double in tests.

    `send` puts the job on the wire of the lane's target and reports later by `Dispatcher.ended`. `refuse` is the end.
    Exactly one of `refuse` and a final `ended` comes for each submitted job, and nothing after a `cancel`. The job is
    the `Ticket` that was submitted, which stands above this module.
    """

    def send(self, job: Any, target: Target) -> None:
        """Send the job now."""
        ...

    def refuse(self, job: Any, refusal: Refusal) -> None:
        """Send the caller the refusal."""
        ...


@dataclass(slots=True, eq=False)
class Job:
    """The facts of one request, and below them its state; `Ticket` adds what the dispatcher holds for it."""

    plan: Plan
    session: Session
    carrier: Carrier
    deadline_s: float  # monotonic; the total
    agent: str = ""
    priority: Priority = Priority.NORMAL
    tokens: int = 0  # estimated: the prompt's and what the reply may take
    replace_older: bool = False
    drop_after_s: float | None = None  # monotonic: the caller has no use for the reply after this
    prompt_tokens: int = 0  # of `tokens`, those of the prompt

    state: JobState = JobState.NEW
    arrived_s: float = field(init=False, repr=False)  # fields without a value are set by `submit`
    queued_s: float = field(init=False, repr=False)
    sent_s: float = 0.0
    target: Target | None = None
    rounds: int = 0
    attempts: tuple[Attempt, ...] = ()
    number: int = field(init=False, repr=False)  # in the order of arrival
    expires_s: float = 0.0  # monotonic: when it stops waiting
    backlog: object | None = None  # that it waits in, while it is queued
    charged: float = field(init=False, repr=False)  # for the attempt in flight

    def untried(self) -> tuple[Target, ...]:
        """Return the targets of the chain at which it has not failed yet; a rate limit is no failure."""
        failed = {
            (attempt.provider, attempt.key_id, attempt.model)
            for attempt in self.attempts
            if attempt.result is not _LIMITED
        }
        targets = self.plan.targets
        return tuple(target for target in targets if (target.provider.name, target.key.id, target.model) not in failed)

    def note(self, result: Result, status: int, now: float) -> None:
        """Record the end of the current attempt."""
        target, sent_s = self.target, self.sent_s
        assert target is not None, "a job that was sent has a target"
        name, waited_s = target.provider.name, sent_s - self.queued_s
        attempt = new_tuple(Attempt, (name, target.key.id, target.model, result, status, waited_s, now - sent_s))
        self.attempts = (*self.attempts, attempt) if self.attempts else (attempt,)


class Handle(Protocol):
    """A timer that can be cancelled."""

    def cancel(self) -> None:
        """Cancel it."""
        ...


Timers = Callable[[float, Callable[[], None]], Handle]  # (monotonic time, what to do) -> handle; `loop.call_at` is one
