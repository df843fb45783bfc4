"""`OtlpTracer`: spans as OpenTelemetry's SDK makes, samples, batches and exports them."""

import atexit
from collections.abc import Mapping

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span as OtelSpan
from opentelemetry.trace import SpanKind as OtelKind
from opentelemetry.trace import StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

import tickmind
from tickmind.adapters.telemetry.conventions import ATTRIBUTES, ERROR_TYPE, SCHEMA_URL
from tickmind.base import Limit, redact
from tickmind.base.telemetry.tracing import TRACEPARENT, SpanField, SpanKind, SpanValue

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
MAX_TEXT_CHARS = Limit("length of a text in a span", 8000, "characters")
_KINDS = {SpanKind.INTERNAL: OtelKind.INTERNAL, SpanKind.CLIENT: OtelKind.CLIENT, SpanKind.SERVER: OtelKind.SERVER}
_CONTEXT = TraceContextTextMapPropagator()


class OtlpSpan:
    """A span of the SDK."""

    def __init__(self, span: OtelSpan) -> None:
        self._span = span
        carrier: dict[str, str] = {}
        _CONTEXT.inject(carrier, set_span_in_context(span))
        self._traceparent = carrier.get(TRACEPARENT, "")

    @property
    def traceparent(self) -> str:
        """The header's value for its children."""
        return self._traceparent

    def note(self, field: SpanField, value: SpanValue) -> None:
        """Set an attribute; secrets are masked, and long texts cut."""
        self._span.set_attribute(ATTRIBUTES[field], _shown(value))

    def end(self, error: str = "") -> None:
        """End it, with the error's type if there is one."""
        if error:
            self._span.set_attribute(ERROR_TYPE, error)
            self._span.set_status(StatusCode.ERROR)
        self._span.end()


class OtlpTracer:
    """Begins spans of one service. Use `from_environment`; the variables of the SDK hold for it."""

    def __init__(self, processor: SpanProcessor, service: str, *, shows_texts: bool = False) -> None:
        resource = Resource.create({SERVICE_NAME: service})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("tickmind", tickmind.__version__, schema_url=SCHEMA_URL)
        self._shows_texts = shows_texts

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], service: str) -> "OtlpTracer":
        """Return a tracer that sends batches to the configured endpoint, and what is left when the process exits."""
        name = environment.get("OTEL_SERVICE_NAME") or service
        shows_texts = environment.get(CAPTURE, "").strip().lower() == "true"
        made = cls(BatchSpanProcessor(OTLPSpanExporter()), name, shows_texts=shows_texts)
        atexit.register(made.close)
        return made

    @property
    def shows_texts(self) -> bool:
        """Whether prompts and replies are exported: only if the environment says so."""
        return self._shows_texts

    def begin(self, name: str, kind: SpanKind, parent: str, fields: Mapping[SpanField, SpanValue]) -> OtlpSpan:
        """Begin a span; a parent that is not well-formed begins a new trace."""
        context = _CONTEXT.extract({TRACEPARENT: parent}) if parent else None
        attributes = {ATTRIBUTES[field]: _shown(value) for field, value in fields.items()}
        return OtlpSpan(self._tracer.start_span(name, context, _KINDS[kind], attributes))

    def flush(self) -> None:
        """Send what has ended."""
        self._provider.force_flush()

    def close(self) -> None:
        """Send what has ended, and stop."""
        self._provider.shutdown()


def _shown(value: SpanValue) -> SpanValue:
    return redact(value)[: int(MAX_TEXT_CHARS.maximum)] if isinstance(value, str) else value
