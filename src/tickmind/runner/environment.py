"""The environment of agents: the part of the runner's own that is passed on."""

from collections.abc import Mapping

_PASSED_ON = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "NUMBA_CACHE_DIR",
)  # fmt: skip


_TELEMETRY = (  # without `OTEL_EXPORTER_OTLP_HEADERS`, which may hold a key
    "TICKMIND_TRACER", "OTEL_SDK_DISABLED", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_EXPORTER",
    "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG", "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_TIMEOUT",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
)  # fmt: skip


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what agents get of the runner's environment: what programs need to run, and no keys."""
    return {
        name: value
        for name, value in environment.items()
        if name in _PASSED_ON or name in _TELEMETRY or name.startswith("LC_")
    }
