"""Behaviours: the steps that a fake provider can be scripted to take with a request, good or bad."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from tickmind.llm.scripted.pieces import Cut
from tickmind.llm.testing.wire import ThinkingForm
from tickmind.llm.transport import ModelReply

RetryAfter = int | float | datetime | str  # seconds, a date, or anything a provider may write there


@dataclass(frozen=True, slots=True)
class Respond:
    """Answer well; the provider's settings fill in what is None."""

    reply: str | ModelReply
    cut: Cut | None = None
    thinking: ThinkingForm | None = None
    usage: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with an error status, in the provider's own error form."""

    status: int
    message: str = "the fake provider refused this, as scripted"
    retry_after: RetryAfter | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EchoHeaders:
    """Answer with an error whose body repeats the request's headers, the key included."""

    status: int = 401


@dataclass(frozen=True, slots=True)
class Redirect:
    """Send the caller, and its key, somewhere else."""

    location: str
    status: int = 307


@dataclass(frozen=True, slots=True)
class BadJson:
    """Answer 200 with a body, or with a second event, that is not JSON."""


@dataclass(frozen=True, slots=True)
class BadUtf8:
    """Answer 200 with JSON whose text holds bytes that are not UTF-8."""


@dataclass(frozen=True, slots=True)
class HugeBody:
    """Answer 200 with this much content; gzipped, it is a bomb."""

    size_bytes: int = 100_000_000
    gzip: bool = False


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """Answer 200 with a web page, as a login or a proxy in between does."""


@dataclass(frozen=True, slots=True)
class WrongType:
    """Answer 200 with a whole reply of this content type, streamed or not; an empty one sends no type at all."""

    reply: str = "This is JSON."
    content_type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class UnframedError:
    """Answer 200 with an error object in place of an answer; in a stream it is no event, behind `events` good ones."""

    status: int = 500
    events: int = 0
    content_type: str | None = None  # None: as for an answer


@dataclass(frozen=True, slots=True)
class EmptyReply:
    """Answer 200 with nothing: an empty body, or a stream of so many events that say nothing yet."""

    events: int = 0


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """Answer 200 with an `error:` line, as llama.cpp does, behind `events` good events."""

    message: str = "the fake provider failed here, as scripted"
    events: int = 0


@dataclass(frozen=True, slots=True)
class ErrorBeside:
    """Answer 200 with an answer and an error of this status beside it, as routers do whose provider failed."""

    status: int = 502
    reply: str = "Half an ans"


@dataclass(frozen=True, slots=True)
class Hang:
    """Send nothing, not even headers, until the caller leaves or the server closes."""


@dataclass(frozen=True, slots=True)
class Late:
    """Do the step, but let the caller wait for the headers first."""

    step: "Step"
    headers_after_s: float


@dataclass(frozen=True, slots=True)
class Drip:
    """Do the step, but send its body in small pieces with a pause after each; no pause only cuts the bytes."""

    step: "Step"
    size_bytes: int = 1
    interval_s: float = 0.05


@dataclass(frozen=True, slots=True)
class Break:
    """Begin the step, then break off inside the event behind `events` (or in the middle of a whole body).

    The connection is closed, or reset, or stays open and silent, or the provider sends an error event.
    """

    step: "Step"
    events: int = 3
    ending: Literal["close", "reset", "hang", "error"] = "close"


Behaviour = (
    Respond
    | Refuse
    | EchoHeaders
    | Redirect
    | BadJson
    | BadUtf8
    | HugeBody
    | HtmlPage
    | WrongType
    | UnframedError
    | EmptyReply
    | ErrorLine
    | ErrorBeside
    | Hang
    | Late
    | Drip
    | Break
)
Step = str | ModelReply | Behaviour
