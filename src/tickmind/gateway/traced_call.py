"""`TracedCall`: a call whose way through the gateway is a span, and each attempt at a provider one below it."""

from tickmind.base.telemetry.tracing import (
    TRACEPARENT,
    SpanField,
    SpanKind,
    SpanValue,
    Tracer,
    TraceSpan,
    installed_tracer,
)
from tickmind.gateway.call import Call
from tickmind.gateway.call_host import CallHost
from tickmind.gateway.http.exchange import Request, Responder
from tickmind.gateway.queue.job import Outcome, Result
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.refusal import Refusal
from tickmind.gateway.reply_sharing.cache import Kept
from tickmind.gateway.routing.plan import Target
from tickmind.gateway.surface_format import SurfaceFormat

_HEADER = TRACEPARENT.encode()


def new_call(
    gateway: "CallHost[Call]",
    request: Request,
    responder: Responder,
    form: SurfaceFormat,
    body: bytes,
    model: str,
    streamed: bool,
    extra_headers: bytes,
) -> Call:
    """Return a call for a request; a traced one if this process has a tracer."""
    tracer = installed_tracer()
    if tracer is None:
        return Call(gateway, responder, form, body, model, streamed, extra_headers)
    parent = request.headers.get(_HEADER, b"").decode("latin-1")
    return TracedCall(tracer, parent, gateway, responder, form, body, model, streamed, extra_headers)


class TracedCall(Call):
    """A call with spans; they end with the attempt and with the call, however those end."""

    __slots__ = ("_attempt_span", "_attempts", "_operation", "_parent", "_span", "_tracer", "trace_header")

    def __init__(
        self,
        tracer: Tracer,
        parent: str,
        gateway: "CallHost[Call]",
        responder: Responder,
        form: SurfaceFormat,
        body: bytes,
        model: str,
        streamed: bool,
        extra_headers: bytes = b"",
    ) -> None:
        super().__init__(gateway, responder, form, body, model, streamed, extra_headers)
        self._tracer = tracer
        self._operation = "embeddings" if form.name == "embeddings" else "chat"  # as the conventions call it
        fields = {SpanField.OPERATION: self._operation, SpanField.MODEL: model}
        self._span: TraceSpan | None = tracer.begin(f"gateway {model}", SpanKind.SERVER, parent, fields)
        self._parent = self._span.traceparent
        self._attempt_span: TraceSpan | None = None
        self._attempts = 0

    def send(self, job: Ticket, target: Target) -> None:
        """Send the request to the provider, under a span of its own."""
        self._attempts += 1
        fields: dict[SpanField, SpanValue] = {
            SpanField.OPERATION: self._operation,
            SpanField.MODEL: target.model,
            SpanField.PROVIDER: target.provider.name,
            SpanField.ATTEMPT: self._attempts,
        }
        name = f"{self._operation} {target.model}"
        self._attempt_span = span = self._tracer.begin(name, SpanKind.CLIENT, self._parent, fields)
        self.trace_header = b"%b: %b\r\n" % (_HEADER, span.traceparent.encode()) if span.traceparent else b""
        super().send(job, target)

    def refuse(self, job: Ticket, refusal: Refusal) -> None:
        """Send the refusal to the caller and end the call."""
        super().refuse(job, refusal)
        self.close_span(refusal.code)

    def shared(self, reply: Kept) -> None:
        """Answer with the reply to an identical request."""
        super().shared(reply)
        self.close_span("")

    def overdue(self) -> None:
        """End the call: its total deadline has passed."""
        waits_for_another = self._exchange is None
        super().overdue()
        if waits_for_another:
            self.close_span(Result.DEADLINE.value)

    def abandon(self) -> None:
        """Stop: no call waits for the reply any more."""
        super().abandon()
        self._close_attempt(Result.CANCELLED.value)
        self.close_span(Result.CANCELLED.value)

    def close_span(self, error: str) -> None:
        """End the call's span, once; `error` is empty for an answer."""
        span, self._span = self._span, None
        if span is not None:
            span.end(error)

    def _end(self, job: Ticket, target: Target, outcome: Outcome, *, used: bool) -> bool:
        self._close_attempt(outcome.result.value, outcome)  # before the next attempt begins
        over = super()._end(job, target, outcome, used=used)
        if over:
            self.close_span(outcome.result.value)
        return over

    def _answer(self, job: Ticket, status: int, body: bytes, outcome: Outcome) -> None:
        super()._answer(job, status, body, outcome)
        self._answered(outcome)

    def _end_stream(self, last: bytes, outcome: Outcome | None) -> None:
        super()._end_stream(last, outcome)
        if outcome is not None:
            self._answered(outcome)

    def _was_streamed(self) -> None:
        super()._was_streamed()
        self.close_span("")

    def _answered(self, outcome: Outcome) -> None:
        error = "" if outcome.result is Result.OK else outcome.result.value
        self._close_attempt(error, outcome)
        self.close_span(error)

    def _close_attempt(self, error: str, outcome: Outcome | None = None) -> None:
        span, self._attempt_span = self._attempt_span, None
        if span is None:
            return
        if outcome is not None:
            for field, value in (
                (SpanField.STATUS, outcome.status or None),
                (SpanField.PROMPT_TOKENS, outcome.prompt_tokens),
                (SpanField.COMPLETION_TOKENS, outcome.completion_tokens),
            ):
                if value is not None:
                    span.note(field, value)
        span.end(error)
