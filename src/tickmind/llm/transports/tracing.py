"""`begin_call`: the span of one request to an endpoint, if this process has a tracer."""

from tickmind.base.telemetry.tracing import (
    TRACEPARENT,
    SpanField,
    SpanKind,
    Tracer,
    TraceSpan,
    current_traceparent,
    installed_tracer,
)
from tickmind.llm.transport import ModelReply, ModelRequest, Usage


class CallSpan:
    """The span of one request; its header joins the spans of a gateway to it."""

    __slots__ = ("_span", "_tracer", "headers")

    def __init__(self, tracer: Tracer, span: TraceSpan) -> None:
        self._tracer = tracer
        self._span = span
        self.headers = {TRACEPARENT: span.traceparent} if span.traceparent else {}

    def reply(self, reply: ModelReply) -> None:
        """End it with a whole reply."""
        self.usage(reply.model, reply.usage)
        if self._tracer.shows_texts:
            self._span.note(SpanField.REPLY, reply.content)
        self._span.end()

    def usage(self, model: str, usage: Usage | None) -> None:
        """Note what answered, and the tokens that it counted."""
        if model:
            self._span.note(SpanField.RESPONSE_MODEL, model)
        if usage is not None and usage.prompt_tokens is not None:
            self._span.note(SpanField.PROMPT_TOKENS, usage.prompt_tokens)
        if usage is not None and usage.completion_tokens is not None:
            self._span.note(SpanField.COMPLETION_TOKENS, usage.completion_tokens)

    def end(self, error: BaseException | None = None) -> None:
        """End it without a whole reply."""
        self._span.end("" if error is None else type(error).__name__)


def begin_call(request: ModelRequest, server: str) -> CallSpan | None:
    """Begin the span of a request; None without a tracer."""
    tracer = installed_tracer()
    if tracer is None:
        return None
    fields = {SpanField.OPERATION: "chat", SpanField.MODEL: request.model, SpanField.SERVER: server}
    span = tracer.begin(f"chat {request.model}", SpanKind.CLIENT, current_traceparent(), fields)
    if tracer.shows_texts:
        span.note(SpanField.PROMPT, "\n\n".join(f"{message.role}: {message.text}" for message in request.messages))
    return CallSpan(tracer, span)
