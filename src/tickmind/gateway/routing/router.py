"""Where a model goes: by exact names, then by patterns, then as `provider/model`, else a refusal that helps."""

import difflib
import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from tickmind.base import Clock, ConfigError, Secret, SystemClock
from tickmind.gateway.refusal import Code, Refusal, RefusedError
from tickmind.gateway.routing.origins import Origins, Resolver, read_custom_url, resolve_by_system
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.base_url import BaseUrl, parse_base_url
from tickmind.gateway.settings.config import UNKNOWN_LIMITS, ApiKey, GatewayConfig, Provider, Route, Surface
from tickmind.gateway.settings.header_rules import problem_of_name, problem_of_value
from tickmind.gateway.settings.key_ids import KeyIds
from tickmind.llm.gateway_contract import MAX_MODEL_CHARS, is_name

MAX_KEY_CHARS: Final = 4096  # of a caller's own key, and of its own headers
MAX_CALLER_HEADERS: Final = 16
DEFAULT: Final = "default"  # asks for whatever the default model is, unless a model has this name
_MOST_NEAR: Final = 5
_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model that callers may name, for a list of models."""

    id: str
    provider: str


class Router:
    """Turns a model's name into a plan. Plans are kept, so that equal requests share one.

    Plans of exact names are kept for good; of others, which callers may invent, the `max_plans` last used ones.
    `custom_plan` is for endpoints that callers name themselves; their lanes are as many as `max_custom_plans`.
    """

    def __init__(
        self,
        config: GatewayConfig,
        *,
        clock: Clock | None = None,
        resolver: Resolver = resolve_by_system,
        max_plans: int = 1024,
        max_custom_plans: int = 256,
    ) -> None:
        self._config = config
        self._key_ids = KeyIds(config.key_id_secret)
        self._patterns = tuple((compile_pattern(pattern), route) for pattern, route in config.patterns)
        self._exact_plans: dict[tuple[str, Surface], Plan] = {}
        self._other_plans: dict[tuple[str, Surface], Plan] = {}  # the least recently used first, as below
        self._custom_plans: dict[tuple[str, str, str, Surface], Plan] = {}  # (URL, key id, model, surface) -> plan
        self._max_plans = max_plans
        self._max_custom_plans = max_custom_plans
        self._provider_urls = {name: parse_base_url(one.base_url) for name, one in config.providers.items()}
        self._origins = Origins(config, clock=clock or SystemClock(), resolver=resolver)
        self.default_model = config.default_model or _first_model(config)
        for route in (*config.exact.values(), *(route for _, route in config.patterns)):
            for name, _ in route.targets:
                if name not in config.providers:
                    raise ConfigError(f"a route leads to {name!r}, which is not among the providers")

    def plan(self, model: str, surface: Surface = "chat") -> Plan:
        """The chain of targets for a model; no model, or `default`, is the default one. Raises `RefusedError`."""
        asked = (model, surface)
        found = self._exact_plans.get(asked)
        if found is not None:
            return found
        if self.default_model and (not model or (model == DEFAULT and DEFAULT not in self._config.exact)):
            return self.plan(self.default_model, surface)
        found = self._other_plans.pop(asked, None)
        if found is None:
            _check_model(model)
            found = Plan(self._targets(self._route(model), model, surface), model, surface)
        if model in self._config.exact:
            self._exact_plans[asked] = found
        else:
            _keep(self._other_plans, asked, found, self._max_plans)
        return found

    def models(self) -> tuple[ModelEntry, ...]:
        """What can be asked now: the exact names, and each provider's own as `provider/model`."""
        found: dict[str, str] = {}  # model -> provider that answers first
        for name, route in self._config.exact.items():
            able = (provider for provider, _ in route.targets if self._config.providers[provider].keys)
            first = next(able, None)
            if first is not None:
                found[name] = first
        for provider in self._config.providers.values():
            if provider.keys:
                for model in (provider.default_model, *provider.model_limits):
                    if model:
                        found.setdefault(f"{provider.name}/{model}", provider.name)
        return tuple(ModelEntry(name, provider) for name, provider in found.items())

    async def custom_plan(
        self,
        base_url: str,
        api_key: str,
        model: str,
        surface: Surface = "chat",
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Plan:
        """The plan for an endpoint that the caller names, with its own key and headers and never with ours.

        One of a provider's own URLs joins that provider's lanes; others must be allowed by the operator, are looked
        up, checked and pinned. Neither key nor headers are needed where the endpoint needs none. Raises `RefusedError`.
        """
        _check_model(model)
        _check_caller_key(api_key)
        _check_caller_headers(headers)
        url = read_custom_url(base_url)
        provider = self._provider_at(url)
        if provider is not None and not api_key and not headers and any(key.secret for key in provider.keys):
            message = f"{provider.name} needs a key: bring your own apiKey; the gateway's keys stay here"
            raise RefusedError(Refusal(Code.FORBIDDEN_URL, message))
        pin = None if provider is not None else await self._origins.pin(url)
        # Whoever brings other headers has another lane: what these are refused for is not held against others.
        key_id = self._key_ids.of("\n".join((api_key, *(f"{name}: {value}" for name, value in headers))))
        cached = (str(url), key_id, model, surface)
        found = self._custom_plans.pop(cached, None)
        if found is None:
            key = ApiKey(cached[1], Secret(api_key), source="the caller's own")
            if provider is None:
                provider = Provider(f"custom:{url}", str(url), limits=UNKNOWN_LIMITS, surfaces=(surface,))
            elif surface not in provider.surfaces:
                raise RefusedError(Refusal(Code.UNKNOWN_MODEL, f"{provider.name} has no {surface} API"))
            provider = replace(provider, keys=(key,), secret_headers={}, fallback=(), missing_keys=())
            own = tuple((name, Secret(value)) for name, value in headers)
            found = Plan((Target(provider, key, model, custom=True, pin=pin, headers=own),), model, surface)
        _keep(self._custom_plans, cached, found, self._max_custom_plans)
        return found

    def _provider_at(self, url: BaseUrl) -> Provider | None:
        """The provider whose base URL it is, to the letter."""
        return next((self._config.providers[name] for name, own in self._provider_urls.items() if own == url), None)

    def _route(self, model: str) -> Route:
        found = self._config.exact.get(model)
        if found is not None:
            return found
        for fits, route in self._patterns:
            if fits(model):
                return route
        name, _, inner = model.partition("/")
        provider = self._config.providers.get(name)
        if provider is None or not (inner or provider.default_model) or model.endswith("/"):
            raise RefusedError(Refusal(Code.UNKNOWN_MODEL, self._unknown(model)))
        first = (name, inner or provider.default_model)
        return Route((first, *(target for target in provider.fallback if target != first)))

    def _targets(self, route: Route, model: str, surface: Surface) -> tuple[Target, ...]:
        chain = [(self._config.providers[name], inner or model) for name, inner in route.targets]
        found = tuple(
            Target(provider, key, inner)
            for provider, inner in chain
            if surface in provider.surfaces
            for key in provider.keys
        )
        if not found:
            raise RefusedError(Refusal(Code.UNKNOWN_MODEL, _nobody(model, surface, [one for one, _ in chain])))
        return found

    def _unknown(self, model: str) -> str:
        known = [entry.id for entry in self.models()]
        near = difflib.get_close_matches(model, known, n=_MOST_NEAR, cutoff=0.5)
        shown = ", ".join(near or known[:_MOST_NEAR]) or "none; no provider has a key"
        word = "near it are" if near else "there are"
        return f"no provider is known for the model {model!r}; {word}: {shown}; a provider/model name works too"


def compile_pattern(pattern: str) -> Callable[[str], object]:
    """Tells whether a whole name fits: `*` is anything but a slash, `**` is anything, `?` one character but a slash.

    The slash is left out so that `*llama*` does not take `ollama/qwen3:4b` away from its provider.
    """
    parts = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*+|\*|\?)", pattern)
    made = "".join(parts.get(piece[:2], re.escape(piece)) for piece in pieces)
    return re.compile(made, re.DOTALL).fullmatch


def _first_model(config: GatewayConfig) -> str:
    """The default model of the first provider that has a key, by its bare name if that leads there."""
    for provider in config.providers.values():
        model = provider.default_model
        if provider.keys and model:
            leads_there = model in config.exact and config.exact[model].targets[0][0] == provider.name
            return model if leads_there else f"{provider.name}/{model}"
    return ""


def _check_model(model: str) -> None:
    if not model:
        raise RefusedError(Refusal(Code.UNKNOWN_MODEL, "no model is named, and there is no default; name one"))
    if len(model) > MAX_MODEL_CHARS or not is_name(model) or model != model.strip():
        message = f"a model's name has at most {MAX_MODEL_CHARS} printable characters and no blanks around it"
        raise RefusedError(Refusal(Code.UNKNOWN_MODEL, message))


def _check_caller_headers(headers: tuple[tuple[str, str], ...]) -> None:
    if len(headers) > MAX_CALLER_HEADERS or sum(len(name) + len(value) for name, value in headers) > MAX_KEY_CHARS:
        message = f"there are at most {MAX_CALLER_HEADERS} customHeaders with {MAX_KEY_CHARS:,} characters in all"
        raise RefusedError(Refusal(Code.BAD_REQUEST, message))
    for name, value in headers:
        problem = problem_of_name(name, keys_under="apiKey") or problem_of_value(value)
        if problem:
            shown = "" if problem_of_value(name) else f" {name[:100]!r}"
            raise RefusedError(Refusal(Code.BAD_REQUEST, f"customHeaders{shown}: {problem}"))
    if len({name.lower() for name, _ in headers}) < len(headers):
        raise RefusedError(Refusal(Code.BAD_REQUEST, "customHeaders name a header twice"))


def _check_caller_key(key: str) -> None:
    if len(key) > MAX_KEY_CHARS or not key.isascii() or not key.isprintable() or " " in key:
        raise RefusedError(Refusal(Code.BAD_REQUEST, "the apiKey has blanks, control or non-ASCII characters in it"))


def _nobody(model: str, surface: Surface, chain: list[Provider]) -> str:
    able = [one for one in chain if surface in one.surfaces]
    if not able:
        names = ", ".join(dict.fromkeys(one.name for one in chain))
        return f"the model {model!r} can't be asked by the {surface} API: {names} has it not; use another API or model"
    missing = ", ".join(dict.fromkeys(name for one in able for name in one.missing_keys))
    hint = f"; the operator can set {missing}" if missing else ""
    return f"no provider of the model {model!r} has a key{hint}"


def _keep(plans: dict[_Key, Plan], key: _Key, plan: Plan, maximum: int) -> None:
    plans[key] = plan
    if len(plans) > maximum:
        del plans[next(iter(plans))]
