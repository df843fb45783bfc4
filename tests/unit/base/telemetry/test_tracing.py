"""The port for spans: nothing without a tracer, parents by context, and what it costs when off."""

import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from tickmind.base import ConfigError
from tickmind.base.telemetry.tracing import (
    TRACER,
    SpanField,
    SpanKind,
    current_traceparent,
    install_tracer,
    installed_tracer,
    load_tracer,
    span,
)
from tickmind.llm import Message
from tickmind.llm.transport import ModelRequest
from tickmind.llm.transports.tracing import begin_call

CALLS = 2000


@dataclass
class NotedSpan:
    name: str
    parent: str
    fields: dict[str, Any]
    error: str | None = None

    @property
    def traceparent(self):
        return f"child of {self.name}"

    def note(self, name, value):
        self.fields[name] = value

    def end(self, error=""):
        self.error = error


@dataclass
class NotingTracer:
    shows_texts: bool = False
    spans: list[NotedSpan] = field(default_factory=list)

    def begin(self, name, kind, parent, fields):
        self.spans.append(NotedSpan(name, parent, dict(fields)))
        return self.spans[-1]


def make(environment, service):  # named in an environment below
    return NotingTracer() if environment["KIND"] == service else None


@pytest.fixture(autouse=True)
def _no_tracer_afterwards():
    yield
    install_tracer(None)


def test_a_span_inside_another_one_is_its_child():
    tracer = NotingTracer()
    with span(tracer, "outer"), span(tracer, "inner", SpanKind.CLIENT, {SpanField.MODEL: "m"}):
        assert current_traceparent() == "child of inner"
    assert [(one.name, one.parent, one.error) for one in tracer.spans] == [
        ("outer", "", ""),
        ("inner", "child of outer", ""),
    ]
    assert current_traceparent() == ""


def test_an_error_ends_a_span_with_its_type_and_goes_on():
    tracer = NotingTracer()
    with pytest.raises(KeyError), span(tracer, "outer"):
        raise KeyError("x")
    assert tracer.spans[0].error == "KeyError"


def test_a_tracer_is_loaded_by_the_name_in_the_environment():
    load_tracer("game", {})
    assert installed_tracer() is None
    load_tracer("game", {TRACER: f"{__name__}:make", "KIND": "game"})
    assert isinstance(installed_tracer(), NotingTracer)
    with pytest.raises(ConfigError, match="can't be imported"):
        load_tracer("game", {TRACER: "tickmind.base:nothing"})


def test_without_a_tracer_a_call_pays_less_than_ten_microseconds():
    request = ModelRequest("m", (Message.user("Hi"),))
    costs_s = []
    for _ in range(5):
        began_s = time.thread_time()
        for _ in range(CALLS):
            assert begin_call(request, "http://127.0.0.1") is None
            assert installed_tracer() is None
        costs_s.append((time.thread_time() - began_s) / CALLS)
    assert min(costs_s) < 10e-6
