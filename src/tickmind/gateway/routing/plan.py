"""The chain of targets of a request: providers, keys and models, best first."""

from dataclasses import dataclass

from tickmind.base import Secret
from tickmind.gateway.routing.origins import Pin
from tickmind.gateway.settings.config import ApiKey, Provider, Surface


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """One provider, key and model for a request. `base_url` is checked; `custom`: the caller named it.

    Targets and plans are keys of tables, each equal only to itself, because they are looked up with every request.
    """

    provider: Provider
    key: ApiKey
    model: str  # the provider's name of it
    custom: bool = False
    pin: Pin | None = None  # the only addresses to connect to; only where the caller named the endpoint
    headers: tuple[tuple[str, Secret], ...] = ()  # the caller's own; only where it named the endpoint
    request_fields: tuple[tuple[str, str | None], ...] = ()  # (field, its other name), None: it is left out


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The chain of targets of a request, best first. Plans with the same targets wait in one queue; each is kept."""

    targets: tuple[Target, ...]
    model: str  # as the caller named it
    surface: Surface = "chat"
