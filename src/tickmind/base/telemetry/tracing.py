"""`Tracer`: the port for spans of one thought, from its deliberation to the provider.

Without a tracer, `installed_tracer()` is None, and a call pays for no more. An adapter brings one: a process loads
it by name from its environment, so no lower part knows the adapter.
"""

import importlib
import os
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from typing import Protocol, TypeAlias

from tickmind.base.errors import ConfigError

TRACER = "TICKMIND_TRACER"
"""The variable that names a tracer's factory, as `module:function`; it gets the environment and the service's name."""
TRACEPARENT = "traceparent"
"""The header by which W3C Trace Context joins the spans of several processes."""


class SpanField(StrEnum):
    """What spans say; a tracer maps these to the names of its convention."""

    OPERATION = "operation"
    AGENT = "agent"
    TICK = "tick"
    FACULTY = "faculty"
    SESSION = "session"
    MODEL = "model"
    RESPONSE_MODEL = "response_model"
    PROVIDER = "provider"
    PROMPT_TOKENS = "prompt_tokens"
    COMPLETION_TOKENS = "completion_tokens"
    SERVER = "server"
    STATUS = "status"
    ATTEMPT = "attempt"
    PROMPT = "prompt"  # only for a tracer that `shows_texts`
    REPLY = "reply"  # as above


class SpanKind(StrEnum):
    """The role of a span in its trace."""

    INTERNAL = "internal"
    CLIENT = "client"
    SERVER = "server"


SpanValue: TypeAlias = str | int | float | bool


class TraceSpan(Protocol):
    """A piece of work under way; it ends once."""

    @property
    def traceparent(self) -> str:
        """The value of the header that makes spans of other processes its children."""
        ...

    def note(self, field: SpanField, value: SpanValue) -> None:
        """Add what has become known."""
        ...

    def end(self, error: str = "") -> None:
        """End it; `error` is the type of what went wrong."""
        ...


class Tracer(Protocol):
    """Begins spans; it raises nothing."""

    @property
    def shows_texts(self) -> bool:
        """Whether prompts and replies may be in spans."""
        ...

    def begin(self, name: str, kind: SpanKind, parent: str, fields: Mapping[SpanField, SpanValue]) -> TraceSpan:
        """Begin a span; `parent` is a traceparent, empty for the first span of a trace."""
        ...


_installed: list[Tracer] = []  # at most one
_parent: ContextVar[str] = ContextVar("traceparent", default="")


def install_tracer(tracer: Tracer | None) -> None:
    """Use a tracer in this process, or none any more."""
    _installed[:] = [] if tracer is None else [tracer]


def installed_tracer() -> Tracer | None:
    """Return the tracer of this process, if it has one."""
    return _installed[0] if _installed else None


def current_traceparent() -> str:
    """Return the traceparent of the span around this code; empty if there is none."""
    return _parent.get()


@contextmanager
def span(
    tracer: Tracer, name: str, kind: SpanKind = SpanKind.INTERNAL, fields: Mapping[SpanField, SpanValue] | None = None
) -> Iterator[TraceSpan]:
    """Begin a span under the current one, and make it the current one; an error ends it with the error's type."""
    begun = tracer.begin(name, kind, _parent.get(), fields or {})
    token = _parent.set(begun.traceparent)
    try:
        yield begun
    except BaseException as error:
        begun.end(type(error).__name__)
        raise
    else:
        begun.end()
    finally:
        _parent.reset(token)


def load_tracer(service: str, environment: MutableMapping[str, str] | None = None) -> None:
    """Install the tracer that the environment names, if it names one; raises `ConfigError` for a wrong name."""
    given = os.environ if environment is None else environment
    name = given.get(TRACER, "")
    if not name:
        return
    module, _, function = name.partition(":")
    try:
        factory = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{TRACER} is {name!r}, which can't be imported: {error}") from None
    install_tracer(factory(given, service))
