"""`announce` and `tracer`: from the standard variables of OpenTelemetry to a tracer in every process that thinks."""

from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING

from tickmind.base import get_logger
from tickmind.base.telemetry.tracing import TRACER

if TYPE_CHECKING:
    from tickmind.base.telemetry.tracing import Tracer

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_log = get_logger(__name__)
FACTORY = "tickmind.adapters.telemetry:tracer"


def is_configured(environment: Mapping[str, str]) -> bool:
    """Return whether the standard variables name an exporter for traces, and do not turn it off."""
    off = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return not off and environment.get("OTEL_TRACES_EXPORTER") != "none" and any(map(environment.get, ENDPOINTS))


def announce(environment: MutableMapping[str, str]) -> None:
    """Name our tracer to this process and those that it starts, if an exporter is configured and no other is named."""
    if is_configured(environment):
        environment.setdefault(TRACER, FACTORY)


def tracer(environment: Mapping[str, str], service: str) -> "Tracer | None":
    """Return a tracer that exports by OTLP over HTTP; None if the standard variables configure none."""
    if not is_configured(environment):
        return None
    try:
        from tickmind.adapters.telemetry.otlp import OtlpTracer  # the SDK is slow to import
    except ModuleNotFoundError as error:
        _log.warning(f"no traces are sent, because {error.name} is not installed; `pip install 'tickmind[otel]'`")
        return None
    return OtlpTracer.from_environment(environment, service)
