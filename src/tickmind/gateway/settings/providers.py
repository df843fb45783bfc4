"""Reads the providers and routes of a configuration, each laid over the built-in ones."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tickmind.base import LimitExceededError, Secret, redact
from tickmind.base.problems import nearest
from tickmind.base.secret_sources import SecretSources, SourceError, has_reference
from tickmind.base.yaml_source import Document
from tickmind.base.yaml_source import Path as SettingPath
from tickmind.gateway.settings.addresses import is_own_network
from tickmind.gateway.settings.base_url import BaseUrl, BaseUrlError, parse_base_url
from tickmind.gateway.settings.config import OWN_LIMITS, UNKNOWN_LIMITS, ApiKey, Limits, Provider, Route
from tickmind.gateway.settings.defaults import (
    BUILT_IN_LIMITS,
    BUILT_IN_MODELS,
    BUILT_IN_PATTERNS,
    BUILT_IN_PROVIDERS,
    ENV_PROVIDER,
)
from tickmind.gateway.settings.header_rules import problem_of_name, problem_of_value
from tickmind.gateway.settings.key_ids import KeyIds
from tickmind.llm.safety import is_loopback

Wrong = Callable[[SettingPath, str], None]  # notes a problem
Chain = tuple[tuple[str, str], ...]

_COUNT = re.compile(r"[1-9][0-9]{0,5}")
_SECRET_HEADER = re.compile(r"auth|cookie|credential|key|passw|secret|token", re.IGNORECASE)


class LayOver(Protocol):
    """Lays limits over others."""

    def __call__(self, base: Limits, given: Mapping[str, Any], /) -> Limits:
        """Return the first limits, overridden by the second."""
        ...


@dataclass(frozen=True, slots=True)
class FromEnvironment:
    """The values of LLM_BASE_URL, LLM_API_KEY, LLM_MODEL and LLM_CONCURRENCY; `ignored` is why they are not used."""

    provider: Provider | None = None
    model: str = ""
    ignored: str = ""


class ProviderReader:
    """Reads `providers`; all problems are reported to `wrong`."""

    def __init__(
        self, document: Document, sources: SecretSources, key_ids: KeyIds, wrong: Wrong, lay_over: LayOver
    ) -> None:
        self._said: Mapping[str, Any] = document.value.get("providers", {})
        self._sources = sources
        self._key_ids = key_ids
        self._wrong = wrong
        self._lay_over = lay_over
        names = dict.fromkeys((*BUILT_IN_PROVIDERS, *self._said))
        self._settings = {name: {**BUILT_IN_PROVIDERS.get(name, {}), **self._said.get(name, {})} for name in names}

    @property
    def names(self) -> frozenset[str]:
        """Names that may be referred to; references to an absent provider (disabled, not set) are skipped."""
        return frozenset((*self._settings, ENV_PROVIDER))

    def read(self) -> dict[str, Provider]:
        """Return all enabled providers: the built-in ones first, then the file's others; without fallbacks yet."""
        enabled = {name: said for name, said in self._settings.items() if said.get("enabled", True)}
        return {name: provider for name, said in enabled.items() if (provider := self._provider(name, said))}

    def with_fallbacks(self, providers: Mapping[str, Provider]) -> dict[str, Provider]:
        """Return the providers with their fallback chains, now that all are known."""
        complete = {}
        for name, provider in providers.items():
            said = self._settings.get(name, {}).get("fallback", [])
            chain = read_chain(said, providers, self.names, ("providers", name, "fallback"), self._wrong)
            complete[name] = replace(provider, fallback=chain)
        return complete

    def from_environment(
        self, providers: Mapping[str, Provider], *, is_own: Callable[[BaseUrl], bool]
    ) -> FromEnvironment:
        """Return the endpoint of the LLM_ variables: a new provider, or a known provider with one more key."""
        try:
            address = self._sources.expand("${LLM_BASE_URL}")
        except SourceError:  # not set: a key alone is for OpenAI, as everywhere
            address = BUILT_IN_PROVIDERS["openai"]["base_url"] if self._variable("LLM_API_KEY") else ""
        if not address:
            return FromEnvironment()
        try:
            url = parse_base_url(address)
        except BaseUrlError as error:
            self._wrong((), f"LLM_BASE_URL can't be used: {error}")
            return FromEnvironment()
        if is_own(url):
            return FromEnvironment(ignored="LLM_BASE_URL is the address of this gateway itself, so it is not used")
        model = self._model_variable()
        known = next((one for one in providers.values() if parse_base_url(one.base_url) == url), None)
        base = known or Provider(ENV_PROVIDER, str(url), limits=_limits_of(ENV_PROVIDER, url, {}))
        if known is None and ENV_PROVIDER in providers:
            return FromEnvironment(ignored=f"the file has a provider {ENV_PROVIDER!r}, so LLM_BASE_URL is not used")
        key = self._variable("LLM_API_KEY")
        keys, missing = base.keys, base.missing_keys
        if key and all(one.secret.reveal() != key for one in keys):
            keys = (self._key(key, "LLM_API_KEY"), *(one for one in keys if one.secret))
        elif not keys and not key:
            keys = (self._key("", ""),) if is_loopback(url.host) else ()
            missing = (*missing, "LLM_API_KEY") if not keys else ()
        limits = self._concurrency(base.limits)
        provider = replace(
            base, keys=keys, missing_keys=missing, limits=limits, default_model=model or base.default_model
        )
        return FromEnvironment(provider, model)

    def _concurrency(self, limits: Limits) -> Limits:
        try:
            said = self._sources.expand("${LLM_CONCURRENCY}")
        except SourceError:  # not set
            return limits
        if _COUNT.fullmatch(said):
            return replace(limits, concurrency=int(said))
        self._wrong((), f"LLM_CONCURRENCY must be the number of requests in flight, such as 4, not {said[:40]!r}")
        return limits

    def _model_variable(self) -> str:
        try:
            return self._sources.expand("${LLM_MODEL}")
        except SourceError:  # not set
            return ""

    def _variable(self, name: str) -> str | None:
        try:
            return self._sources.variable(name)
        except SourceError as error:
            self._wrong((), str(error))
            return None

    def _provider(self, name: str, said: Mapping[str, Any]) -> Provider | None:
        path = ("providers", name)
        if "base_url" not in said:
            message = f"'base_url' is missing: {name!r} is not built in{nearest(name, BUILT_IN_PROVIDERS)}"
            self._wrong(path, f"{message}; write for example `base_url: https://api.example.com/v1`")
            return None
        try:
            url = parse_base_url(self._sources.expand(said["base_url"]))
        except (BaseUrlError, SourceError) as error:
            self._wrong((*path, "base_url"), str(error))
            return None
        keys, missing = self._keys(path, said, url)
        headers, secret_headers = self._headers((*path, "headers"), said.get("headers", {}))
        return Provider(
            name,
            str(url),
            keys=keys,
            missing_keys=missing,
            limits=self._lay_over(_limits_of(name, url, said), said.get("limits", {})),
            model_limits={
                model: self._lay_over(Limits(), limits) for model, limits in said.get("model_limits", {}).items()
            },
            default_model=said.get("default_model", ""),
            surfaces=tuple(said.get("surfaces", ("chat", "embeddings"))),
            headers=headers,
            secret_headers=secret_headers,
            adaptive_concurrency=said.get("adaptive_concurrency", False),
            stream_usage=said.get("stream_usage", name in BUILT_IN_PROVIDERS),
            fall_back_on_errors=said.get("fall_back_on_errors", True),
            request_fields=said.get("request_fields", {}),
        )

    def _keys(
        self, path: SettingPath, said: Mapping[str, Any], url: BaseUrl
    ) -> tuple[tuple[ApiKey, ...], tuple[str, ...]]:
        """Return the available keys, and the variables that are not set."""
        if "keys" not in said and not is_loopback(url.host):
            message = "'keys' is missing; write `keys: [{key_env: NAME_OF_A_VARIABLE}]`, or `keys: []` if it needs none"
            self._wrong(path, message)
            return (), ()
        if not said.get("keys"):
            return (self._key("", ""),), ()
        keys: list[ApiKey] = []
        missing: list[str] = []
        for index, entry in enumerate(said["keys"]):
            key_path = (*path, "keys", index)
            try:
                value, source = self._look_up(entry)
            except (SourceError, LimitExceededError) as error:
                self._wrong(key_path, str(error))
                continue
            if value is None:
                missing.append(source)
            elif any(earlier.secret.reveal() == value for earlier in keys):
                self._wrong(key_path, f"the key of {source} is listed twice, which would double its limit; remove one")
            else:
                limits = self._lay_over(Limits(), entry["limits"]) if "limits" in entry else None
                keys.append(replace(self._key(value, source), limits=limits))
        return tuple(keys), tuple(missing)

    def _look_up(self, said: Mapping[str, Any]) -> tuple[str | None, str]:
        if "key_env" in said:
            return self._sources.variable(said["key_env"]), said["key_env"]
        if "key_file" in said:
            return self._sources.file(said["key_file"]), said["key_file"]
        return self._sources.key(said["key"]), said["key"][2:-1]

    def _key(self, value: str, source: str) -> ApiKey:
        return ApiKey(self._key_ids.of(value), Secret(value, lasting=True), source=source)

    def _headers(self, path: SettingPath, said: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Secret]]:
        plain: dict[str, str] = {}
        secret: dict[str, Secret] = {}
        for name, value in said.items():
            if problem := problem_of_name(name, keys_under="keys"):
                self._wrong((*path, name), problem)
            elif not has_reference(value) and (_SECRET_HEADER.search(name) or redact(value) != value):
                self._wrong((*path, name), f"this looks like a secret; write a reference, `{name}: ${{NAME}}`")
            else:
                self._add_header((*path, name), value, plain, secret)
        return plain, secret

    def _add_header(self, path: SettingPath, value: str, plain: dict[str, str], secret: dict[str, Secret]) -> None:
        name = str(path[-1])
        try:
            expanded = self._sources.expand(value)
        except SourceError as error:
            self._wrong(path, str(error))
            return
        if problem := problem_of_value(expanded):
            self._wrong(path, problem)
        elif has_reference(value):
            secret[name] = Secret(expanded, lasting=True)
        else:
            plain[name] = expanded


def read_routes(
    said: Mapping[str, Any], providers: Mapping[str, Provider], names: Collection[str], wrong: Wrong
) -> tuple[dict[str, Route], tuple[tuple[str, Route], ...]]:
    """Return the exact table and the patterns, without routes to providers of `names` that are absent now."""
    exact: dict[str, Route] = {}
    for model, route in {**BUILT_IN_MODELS, **said.get("models", {})}.items():
        target = _route(route, model, providers, names, ("models", model), wrong)
        if target is not None:
            exact[model] = target
    patterns: list[tuple[str, Route]] = []
    for index, route in enumerate(said.get("patterns", BUILT_IN_PATTERNS)):
        target = _route(route, None, providers, names, ("patterns", index), wrong)
        if target is not None:
            patterns.append((route["match"], target))
    return exact, tuple(patterns)


def _route(
    said: Mapping[str, Any],
    model: str | None,
    providers: Mapping[str, Provider],
    names: Collection[str],
    path: SettingPath,
    wrong: Wrong,
) -> Route | None:
    name = said["provider"]
    if name not in providers:
        if name not in names:
            wrong((*path, "provider"), _no_such_provider(name, names))
        return None
    chain = providers[name].fallback
    if "fallback" in said:
        chain = read_chain(said["fallback"], providers, names, (*path, "fallback"), wrong)
    first = (name, said.get("model", model))
    return Route((first, *(target for target in chain if target != first)))


def read_chain(
    said: list[str], providers: Mapping[str, Provider], names: Collection[str], path: SettingPath, wrong: Wrong
) -> Chain:
    """Read a fallback list as (provider, model): `groq` is its default model, `groq/a-model` a certain one."""
    chain: list[tuple[str, str]] = []
    for index, entry in enumerate(said):
        name, _, model = entry.partition("/")
        if name not in names:
            wrong((*path, index), _no_such_provider(name, names))
        if name not in providers:
            continue
        model = model or providers[name].default_model
        if not model:
            wrong((*path, index), f"{name!r} has no default_model; write `{name}/MODEL`, or give it one")
        elif (name, model) not in chain:
            chain.append((name, model))
    return tuple(chain)


def _no_such_provider(name: str, names: Collection[str]) -> str:
    return f"there is no provider {name!r}{nearest(name, names)}; there are: {', '.join(sorted(names))}"


def _limits_of(name: str, url: BaseUrl, said: Mapping[str, Any]) -> Limits:
    """Return the limits of a provider whose settings state none."""
    built_in = BUILT_IN_LIMITS.get(name)
    if built_in is not None:
        return built_in
    if is_own_network(url.host):
        return OWN_LIMITS
    if "requests_per_second" in said.get("limits", {}):  # a rate is stated, so none is assumed
        return replace(UNKNOWN_LIMITS, requests_per_minute=None)
    return UNKNOWN_LIMITS
