"""Spans of thoughts for OpenTelemetry, by the GenAI conventions (extra `otel`).

`tracer` is what `TICKMIND_TRACER` names; it imports the SDK only if the standard variables configure an exporter.
"""

from tickmind.adapters.telemetry.loading import announce, tracer

__all__ = ["announce", "tracer"]
