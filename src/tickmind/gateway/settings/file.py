"""Reads the operator's settings into a `GatewayConfig`: a commented YAML file, or the environment alone.

All errors are reported at once, by line and column. What the file leaves out keeps its default; `gateway.yaml` beside
this module has every setting, commented.
"""

import os
import secrets
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints
from urllib.parse import urlsplit

from tickmind.base import Secret, get_logger
from tickmind.base.problems import DocumentReader, read_config
from tickmind.base.secret_sources import SecretSources, SourceError, has_reference
from tickmind.base.yaml_source import Document
from tickmind.gateway.settings.addresses import forbidden_kind
from tickmind.gateway.settings.base_url import BaseUrl, BaseUrlError, parse_base_url
from tickmind.gateway.settings.config import (
    Budget,
    CacheConfig,
    Caller,
    CircuitConfig,
    GatewayConfig,
    Limits,
    Provider,
    QueueConfig,
    RetryConfig,
    Route,
    SharingConfig,
    WireConfig,
)
from tickmind.gateway.settings.form import config_form
from tickmind.gateway.settings.key_ids import KeyIds
from tickmind.gateway.settings.providers import ProviderReader, read_routes
from tickmind.llm.config import setting_lookup
from tickmind.llm.safety import is_loopback

_log = get_logger(__name__)
_Section = TypeVar(
    "_Section", Budget, CacheConfig, CircuitConfig, Limits, QueueConfig, RetryConfig, SharingConfig, WireConfig
)
_HINT = "`tickmind gateway --print-default-config` writes one to start from"
_ENVIRONMENT = "the environment"  # stands for the file's name in messages


def load_config(
    path: str | Path | None = None,
    *,
    env: Mapping[str, str] | None = None,
    host: str | None = None,
    port: int | None = None,
    key_id_secret: Secret | None = None,
) -> GatewayConfig:
    """Read the operator's file, or the environment if there is none; raises `ConfigFileError`.

    `env` replaces the environment (and then no `.env` is read); `host` and `port` override the file's.
    """
    name = _ENVIRONMENT if path is None else str(path)
    document = Document({}) if path is None else read_config(Path(path), hint=_HINT)
    config_form().check(document, name)
    look_up = setting_lookup(env, dotenv_path=None if env is None else os.devnull)
    folder = Path() if path is None else Path(path).parent
    return _Reader(name, document, SecretSources(look_up, folder), key_id_secret).read(host, port)


def default_config_text() -> str:
    """Return the file with every setting at its default, commented, as a start."""
    return files("tickmind.gateway.settings").joinpath("gateway.yaml").read_text(encoding="utf-8")


def _kinds(kind: type) -> Mapping[str, type]:
    """Return field -> int or float, for number fields."""
    kinds = {}
    for name, hint in get_type_hints(kind).items():
        for plain in (int, float):
            if hint is plain or plain in get_args(hint):
                kinds[name] = plain
    return kinds


def section(base: _Section, given: Mapping[str, Any], **ready: Any) -> _Section:
    """Return a frozen section with the given values laid over it; the schema has checked the values."""
    numbers = _kinds(type(base))
    known = {item.name for item in fields(base)} - ready.keys()
    values = {
        name: numbers[name](value) if name in numbers and value is not None else value
        for name, value in given.items()
        if name in known
    }
    return replace(base, **values, **ready)


class _Reader(DocumentReader):
    """Turns a checked document into a config, and collects errors that the schema can't find."""

    def __init__(self, name: str, document: Document, sources: SecretSources, key_id_secret: Secret | None) -> None:
        super().__init__(name, document)
        self._sources = sources
        self._key_id_secret = key_id_secret

    def read(self, host: str | None, port: int | None) -> GatewayConfig:
        listen, defaults = self._said.get("listen", {}), GatewayConfig()
        host = host if host is not None else str(listen.get("host", defaults.host))
        port = port if port is not None else int(listen.get("port", defaults.port))
        key_secret = self._key_secret()
        reader = ProviderReader(self._document, self._sources, KeyIds(key_secret), self._wrong, section)
        providers = reader.read()
        env_route: dict[str, Route] = {}
        if self._said.get("llm_variables", True):
            env_route = self._add_env_provider(reader, providers, host, port)
        providers = reader.with_fallbacks(providers)
        exact, patterns = read_routes(self._said, providers, reader.names, self._wrong)
        for provider in providers.values():
            if _is_own_address(parse_base_url(provider.base_url), host, port):
                path = ("providers", provider.name, "base_url")
                self._wrong(path, f"this is the gateway's own address; requests would go in a circle (port {port})")
        config = GatewayConfig(
            providers=providers,
            exact={**exact, **env_route},
            patterns=patterns,
            default_model=self._said.get("default_model") or next(iter(env_route), ""),
            host=host,
            port=port,
            plaintext=bool(listen.get("plaintext", defaults.plaintext)),
            callers=self._callers(),
            allowed_origins=self._origins(),
            allowed_base_urls=self._base_urls("allowed_base_urls", private=False),
            private_base_urls=self._base_urls("private_base_urls", private=True),
            queue=section(QueueConfig(), self._said.get("queue", {})),
            sharing=self._sharing(),
            circuit=section(CircuitConfig(), self._said.get("circuit", {})),
            retry=section(RetryConfig(), self._said.get("retry", {})),
            wire=section(WireConfig(), self._said.get("wire", {})),
            cache=section(CacheConfig(), self._said.get("cache", {})),
            redis_url=self._redis_url(),
            key_id_secret=key_secret,
        )
        self._check_pairs(config)
        self._raise_if_wrong()
        return config

    def _key_secret(self) -> Secret:
        if self._key_id_secret is not None:
            return self._key_id_secret
        reference = self._said.get("key_id_secret", "")
        try:
            return Secret(self._sources.key(reference) if reference else secrets.token_hex(32), lasting=True)
        except SourceError as error:
            self._wrong(("key_id_secret",), str(error))
            return Secret("")

    def _add_env_provider(
        self, reader: ProviderReader, providers: dict[str, Provider], host: str, port: int
    ) -> dict[str, Route]:
        """Apply the LLM_ variables; return the route of LLM_MODEL, if that is set."""
        settings = reader.from_environment(providers, is_own=lambda url: _is_own_address(url, host, port))
        if settings.ignored:
            _log.warning(settings.ignored)
        if settings.provider is None:
            return {}
        providers[settings.provider.name] = settings.provider
        return {settings.model: Route(((settings.provider.name, settings.model),))} if settings.model else {}

    def _sharing(self) -> SharingConfig:
        said = self._said.get("sharing", {})
        weights = {name: float(weight) for name, weight in said.get("weights", {}).items()}
        return section(SharingConfig(), said, weights=weights, budget=section(Budget(), said.get("budget", {})))

    def _callers(self) -> tuple[Caller, ...]:
        callers: list[Caller] = []
        for index, said in enumerate(self._said.get("callers", [])):
            budget = section(Budget(), said.get("budget", {}))
            weight, admin = float(said.get("weight", 1.0)), bool(said.get("admin", False))
            caller = Caller(said["name"], said["key_hash"], weight, budget, admin)
            for earlier in callers:
                if earlier.name == caller.name:
                    self._wrong(("callers", index, "name"), f"there are two callers named {caller.name!r}; rename one")
                elif earlier.key_hash == caller.key_hash:
                    message = f"{earlier.name!r} has the same key; make another: tickmind gateway key {caller.name}"
                    self._wrong(("callers", index, "key_hash"), message)
            callers.append(caller)
        return tuple(callers)

    def _origins(self) -> tuple[str, ...]:
        origins = []
        for index, said in enumerate(self._said.get("allowed_origins", [])):
            try:
                url = parse_base_url(said)
            except BaseUrlError:
                url = None
            if url is None or url.path:
                self._wrong(("allowed_origins", index), "expected scheme://host[:port], such as https://game.example")
            else:
                origins.append(str(url))  # as browsers write it
        return tuple(origins)

    def _base_urls(self, setting: str, *, private: bool) -> tuple[str, ...]:
        urls = []
        for index, said in enumerate(self._said.get(setting, [])):
            try:
                url = parse_base_url(said)
            except BaseUrlError as error:
                self._wrong((setting, index), str(error))
                continue
            kind = forbidden_kind(url.address, private=private) if url.address else ""
            if kind:
                hint = "" if private else "; an endpoint of your own network belongs under private_base_urls"
                self._wrong((setting, index), f"{url.host} is {kind}{hint}")
            urls.append(str(url))
        return tuple(urls)

    def _redis_url(self) -> Secret:
        said = self._said.get("redis_url", "")
        login = said.partition("://")[2].rpartition("@")[0]
        if login and not has_reference(login.partition(":")[2]):
            self._wrong(("redis_url",), "don't write a password into the file; write redis://:${REDIS_PASSWORD}@host")
        try:
            url = self._sources.expand(said)
            if url and urlsplit(url).scheme not in ("redis", "rediss", "unix"):
                self._wrong(("redis_url",), "expected redis://, rediss:// or unix:// and an address")
            elif not _is_whole(url):
                words = "a password's / ? # @ and % must be percent-encoded in an address, as %2F for /"
                self._wrong(("redis_url",), words)
        except (SourceError, ValueError) as error:
            self._wrong(("redis_url",), str(error) if isinstance(error, SourceError) else "it is no valid address")
            url = ""
        return Secret(url, lasting=True)

    def _check_pairs(self, config: GatewayConfig) -> None:
        wire, circuit, retry = config.wire, config.circuit, config.retry
        for path, value, bound, maximum in (
            (("wire", "default_timeout_s"), wire.default_timeout_s, "max_timeout_s", wire.max_timeout_s),
            (("circuit", "open_s"), circuit.open_s, "max_open_s", circuit.max_open_s),
            (("retry", "default_wait_s"), retry.default_wait_s, "max_wait_s", retry.max_wait_s),
        ):
            if value > maximum:
                self._wrong(path, f"it is {value:g}, longer than {bound} ({maximum:g}); change one of them")
        if config.redis_url and not self._said.get("key_id_secret") and self._key_id_secret is None:
            message = "gateways that share state need the same key_id_secret; write `key_id_secret: ${NAME}`"
            self._wrong(("redis_url",), message)


def _is_whole(address: str) -> bool:
    """Whether an address is complete, and not cut off by special characters in its password."""
    parts = urlsplit(address)
    try:
        _ = parts.port
    except ValueError:
        return False
    return "@" not in parts.path + parts.query + parts.fragment and not parts.fragment


def _is_own_address(url: BaseUrl, host: str, port: int) -> bool:
    """Whether a provider's address is the gateway's own."""
    everywhere = host in ("", "0.0.0.0", "::")  # noqa: S104 - compared, not bound
    same_host = url.host == host.lower() or (is_loopback(url.host) and (everywhere or is_loopback(host)))
    return url.port == port and same_host
