"""The router: finds the targets of a model by exact name, then by pattern, then as `provider/model`."""

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
DEFAULT: Final = "default"  # means the default model, unless a model has this name
_MOST_NEAR: Final = 5
_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model that callers may name, for a list of models."""

    id: str
    provider: str


class Router:
    """Turns a model's name into a plan. Plans are kept, so that equal requests share them.

    Plans of exact names are kept for good; of other names, which callers may invent, the `max_plans` last used.
    `custom_plan` is for endpoints that callers name; there are at most `max_custom_plans` of them.
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
        self._provider_urls = {name: parse_base_url(provider.base_url) for name, provider in config.providers.items()}
        self._origins = Origins(config, clock=clock or SystemClock(), resolver=resolver)
        self.default_model = config.default_model or _first_model(config)
        for route in (*config.exact.values(), *(route for _, route in config.patterns)):
            for name, _ in route.targets:
                if name not in config.providers:
                    raise ConfigError(f"a route leads to {name!r}, which is no provider; add it under `providers`")

    def plan(self, model: str, surface: Surface = "chat") -> Plan:
        """Return the chain of targets for a model; empty or `default` is the default model. Raises `RefusedError`."""
        name = (model, surface)
        plan = self._exact_plans.get(name)
        if plan is not None:
            return plan
        if (
            surface != "embeddings"
            and self.default_model
            and (not model or (model == DEFAULT and DEFAULT not in self._config.exact))
        ):
            return self.plan(self.default_model, surface)
        plan = self._other_plans.pop(name, None)
        if plan is None:
            _check_model(model)
            plan = Plan(self._targets(self._route(model), model, surface), model, surface)
        if model in self._config.exact:
            self._exact_plans[name] = plan
        else:
            _keep(self._other_plans, name, plan, self._max_plans)
        return plan

    def models(self) -> tuple[ModelEntry, ...]:
        """List the models that callers can name: the exact names, and each provider's own as `provider/model`."""
        owners: dict[str, str] = {}  # model -> provider that answers first
        for name, route in self._config.exact.items():
            able = (provider for provider, _ in route.targets if self._config.providers[provider].keys)
            first = next(able, None)
            if first is not None:
                owners[name] = first
        for provider in self._config.providers.values():
            if provider.keys:
                for model in (provider.default_model, *provider.model_limits):
                    if model:
                        owners.setdefault(f"{provider.name}/{model}", provider.name)
        return tuple(ModelEntry(name, provider) for name, provider in owners.items())

    async def custom_plan(
        self,
        base_url: str,
        api_key: str,
        model: str,
        surface: Surface = "chat",
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Plan:
        """Return the plan for an endpoint that the caller names, with its own key and headers and never with ours.

        A provider's own URL joins that provider's lanes; other URLs must be allowed by the operator, are resolved,
        checked and pinned. Key and headers are optional where the endpoint needs none. Raises `RefusedError`.
        """
        _check_model(model)
        _check_caller_key(api_key)
        _check_caller_headers(headers)
        url = read_custom_url(base_url)
        provider = self._provider_at(url)
        if provider is not None and not api_key and not headers and any(key.secret for key in provider.keys):
            message = f"{provider.name} needs a key: send your own apiKey; the gateway does not lend its keys"
            raise RefusedError(Refusal(Code.FORBIDDEN_URL, message))
        pin = None if provider is not None else await self._origins.pin(url)
        # Other headers mean another lane: errors that they cause are not held against other callers.
        key_id = self._key_ids.of("\n".join((api_key, *(f"{name}: {value}" for name, value in headers))))
        cached = (str(url), key_id, model, surface)
        plan = self._custom_plans.pop(cached, None)
        if plan is None:
            key = ApiKey(cached[1], Secret(api_key), source="the caller's own")
            if provider is None:
                provider = Provider(f"custom:{url}", str(url), limits=UNKNOWN_LIMITS, surfaces=(surface,))
            elif surface not in provider.surfaces:
                raise RefusedError(Refusal(Code.UNKNOWN_MODEL, f"{provider.name} has no {surface} API"))
            provider = replace(provider, keys=(key,), secret_headers={}, fallback=(), missing_keys=())
            own = tuple((name, Secret(value)) for name, value in headers)
            fields = _request_fields(provider, model)
            target = Target(provider, key, model, custom=True, pin=pin, headers=own, request_fields=fields)
            plan = Plan((target,), model, surface)
        _keep(self._custom_plans, cached, plan, self._max_custom_plans)
        return plan

    def _provider_at(self, url: BaseUrl) -> Provider | None:
        """Return the provider with exactly this base URL."""
        return next((self._config.providers[name] for name, own in self._provider_urls.items() if own == url), None)

    def _route(self, model: str) -> Route:
        route = self._config.exact.get(model)
        if route is not None:
            return route
        for fits, route in self._patterns:
            if fits(model):
                return route
        name, _, inner = model.partition("/")
        provider = self._config.providers.get(name)
        if provider is None and model.strip("/") == model and (only := self._only_with_key()):
            return Route(((only.name, model),))  # which knows its models better
        if provider is None or not (inner or provider.default_model) or model.endswith("/"):
            raise RefusedError(Refusal(Code.UNKNOWN_MODEL, self._unknown(model)))
        first = (name, inner or provider.default_model)
        return Route((first, *(target for target in provider.fallback if target != first)))

    def _only_with_key(self) -> Provider | None:
        """Return the provider that has a key, if it is the only one."""
        able = [provider for provider in self._config.providers.values() if any(key.secret for key in provider.keys)]
        return able[0] if len(able) == 1 else None

    def _targets(self, route: Route, model: str, surface: Surface) -> tuple[Target, ...]:
        chain = [(self._config.providers[name], inner or model) for name, inner in route.targets]
        if surface == "embeddings":  # vectors of another model are no substitute
            chain = [one for one in chain if _bare(one[1]) == _bare(chain[0][1])]
        targets = tuple(
            Target(provider, key, inner, request_fields=_request_fields(provider, inner))
            for provider, inner in chain
            if surface in provider.surfaces
            for key in provider.keys
        )
        if not targets:
            raise RefusedError(
                Refusal(Code.UNKNOWN_MODEL, _not_served(model, surface, [provider for provider, _ in chain]))
            )
        return targets

    def _unknown(self, model: str) -> str:
        known = [entry.id for entry in self.models()]
        near = difflib.get_close_matches(model, known, n=_MOST_NEAR, cutoff=0.5)
        shown = ", ".join(near or known[:_MOST_NEAR]) or "none, as no provider has a key"
        word = "similar names" if near else "known models"
        return f"no provider is known for the model {model!r}; {word}: {shown}; or name it as provider/model"


def compile_pattern(pattern: str) -> Callable[[str], object]:
    """Return a matcher of whole names: `*` is anything but a slash, `**` anything, `?` one character but a slash.

    The slash is excluded so that `*llama*` does not take `ollama/qwen3:4b` away from its provider.
    """
    parts = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*+|\*|\?)", pattern)
    made = "".join(parts.get(piece[:2], re.escape(piece)) for piece in pieces)
    return re.compile(made, re.DOTALL).fullmatch


def _request_fields(provider: Provider, model: str) -> tuple[tuple[str, str | None], ...]:
    """Return what a provider's model takes under another name, or not at all."""
    fields: dict[str, str | None] = {}
    for pattern, changes in provider.request_fields.items():
        if compile_pattern(pattern)(model):
            fields.update(changes)
    return tuple(fields.items())


def _first_model(config: GatewayConfig) -> str:
    """Return the default model of the first provider with a key, by its bare name if that leads there."""
    for provider in config.providers.values():
        model = provider.default_model
        if provider.keys and model:
            leads_there = model in config.exact and config.exact[model].targets[0][0] == provider.name
            return model if leads_there else f"{provider.name}/{model}"
    return ""


def _check_model(model: str) -> None:
    if not model:
        raise RefusedError(Refusal(Code.UNKNOWN_MODEL, "no model is named, and there is no default model; name one"))
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


def _not_served(model: str, surface: Surface, chain: list[Provider]) -> str:
    able = [provider for provider in chain if surface in provider.surfaces]
    if not able:
        names = ", ".join(dict.fromkeys(provider.name for provider in chain))
        return f"the model {model!r} is not available by the {surface} API of {names}; use another API or model"
    missing = ", ".join(dict.fromkeys(name for provider in able for name in provider.missing_keys))
    hint = f"; the operator can set {missing}" if missing else ""
    return f"no provider of the model {model!r} has a key{hint}"


def _bare(model: str) -> str:
    """Return a model's name without the maker that some providers put before it."""
    return model.rpartition("/")[2]


def _keep(plans: dict[_Key, Plan], key: _Key, plan: Plan, maximum: int) -> None:
    plans[key] = plan
    if len(plans) > maximum:
        del plans[next(iter(plans))]
