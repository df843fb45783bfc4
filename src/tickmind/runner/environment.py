"""The environment of agents: the part of the runner's own that is passed on."""

from collections.abc import Mapping

_PASSED_ON = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "NUMBA_CACHE_DIR",
)  # fmt: skip


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what agents get of the runner's environment: what programs need to run, and no keys."""
    return {name: value for name, value in environment.items() if name in _PASSED_ON or name.startswith("LC_")}
