"""Explains a gateway's settings as tables: never a key, only its source."""

from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tickmind.gateway.routing.router import Router
from tickmind.gateway.settings.base_url import parse_base_url
from tickmind.gateway.settings.config import GatewayConfig, Limits, Provider, Route
from tickmind.llm.safety import is_loopback

_RATES: Final = (
    ("requests_per_second", "/s"),
    ("requests_per_minute", "/min"),
    ("requests_per_day", "/day"),
    ("tokens_per_minute", " tokens/min"),
    ("tokens_per_day", " tokens/day"),
)


def show_config(config: GatewayConfig, source: str, console: Console | None = None, *, has_tls: bool = False) -> None:
    """Print the settings as understood: providers, keys, limits, routes, sharing, callers."""
    console = console or Console()

    def say(text: str) -> None:
        console.print(text, soft_wrap=True, markup=False, highlight=False)

    say(f"The settings of {source} are valid.\n")
    rows = map(_provider, config.providers.values())
    console.print(_table(("provider", "address", "takes of each key", "key"), rows))
    say(_key_sources(config))
    routes = [(name, _chain(config, route)) for name, route in (*config.exact.items(), *config.patterns)]
    console.print(_table(("model", "goes to"), routes))
    router = Router(config)
    default = router.default_model or "refused; no provider has a key"
    say(f"\nOther names go by provider/model. No name: {default}.")
    say(f"Listens on {config.host}:{config.port}; {_callers(config)}.")
    say(f"Sessions share by {config.sharing.mode} mode; {config.queue.capacity} may wait in each queue.")
    named = (*config.allowed_base_urls, *config.private_base_urls)
    say(f"Callers may name, with their own keys: {', '.join(('the providers', *named))}.")
    if config.redis_url:
        say("State is shared through Redis.")
    for note in _notes(config, has_tls=has_tls):
        say(f"Note: {note}")


def _table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _provider(provider: Provider) -> tuple[str, ...]:
    limits = [_limits(provider.limits), *(f"{model}: {_limits(own)}" for model, own in provider.model_limits.items())]
    limits += [f"{key.source}: {_limits(key.limits)}" for key in provider.keys if key.limits is not None]
    count = len(provider.keys)
    key = "not set" if not count else "none" if not provider.keys[0].secret else "set" if count == 1 else f"{count} set"
    return provider.name, provider.base_url, "\n".join(limits), key


def _key_sources(config: GatewayConfig) -> str:
    sources = [key.source for provider in config.providers.values() for key in provider.keys if key.secret]
    missing = [name for provider in config.providers.values() for name in provider.missing_keys]
    lines = [f"{word}: {', '.join(names)}." for word, names in (("Keys from", sources), ("Not set", missing)) if names]
    return "\n".join(("", *lines, ""))


def _limits(limits: Limits) -> str:
    parts = [f"{getattr(limits, name):,g}{unit}" for name, unit in _RATES if getattr(limits, name) is not None]
    if parts:
        parts.append(f"burst {limits.burst}")
    if limits.concurrency is not None:
        parts.append(f"{limits.concurrency} at once")
    return ", ".join(parts) or "none"


def _chain(config: GatewayConfig, route: Route) -> str:
    steps = []
    for name, model in route.targets:
        able = "" if config.providers[name].keys else " (no key)"
        steps.append(f"{name}/{model or '*'}{able}")
    return ", then ".join(steps)


def _callers(config: GatewayConfig) -> str:
    if not config.callers:
        return "every program on this machine may use it, without a key"
    names = (f"{caller.name} (admin)" if caller.admin else caller.name for caller in config.callers)
    return f"callers with keys: {', '.join(names)}"


def _notes(config: GatewayConfig, *, has_tls: bool) -> Iterable[str]:
    """Iterate over settings that work, but may not be intended."""
    for provider in config.providers.values():
        url = parse_base_url(provider.base_url)
        secret = provider.secret_headers or any(key.secret for key in provider.keys)
        if url.scheme == "http" and secret and not is_loopback(url.host):
            yield f"the key of {provider.name} goes over the network in the clear; https:// would protect it"
    if not is_loopback(config.host) and not has_tls:
        yield "callers' keys and prompts leave this machine in the clear, as `plaintext` says; --tls would protect them"
