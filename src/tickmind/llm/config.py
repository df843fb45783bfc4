"""Settings of an endpoint (`ModelConfig`), of one purpose (`CallConfig`), and how they merge (`EffectiveCall`).

Both are frozen. Only `merge_config` fills in defaults, and it asks `is None`: 0.0 is a temperature.
"""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

from tickmind.base import Limit, Secret
from tickmind.base.access.tls_files import TlsFiles
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.safety import is_loopback
from tickmind.llm.tokens import context_tokens
from tickmind.llm.transport import Capabilities, GrammarLimits

Api = Literal["chat", "responses", "anthropic", "embeddings"]
ThinkTags = Literal["auto", "opened", "off"]

DEFAULT_BASE_URL = "https://api.openai.com/v1"
ANTHROPIC_BASE_URL = "https://api.anthropic.com/v1"
DEFAULT_MODEL = "gpt-4o-mini"
DEFAULT_TIMEOUT_S = 120.0
DEFAULT_ATTEMPTS = 3  # at a remote endpoint
MAX_REPLY_BYTES = Limit("size of a model's decoded reply", 8 * 1024 * 1024, "bytes")
MAX_CONNECTIONS = Limit("number of connections to one endpoint", 1024)

MAX_TEMPERATURES: dict[Api, float] = {"chat": 2.0, "responses": 2.0, "anthropic": 1.0}  # the greatest that each takes

_APIS = ("chat", "responses", "anthropic", "embeddings")
# host -> variable that holds its key; a provider's own key is sent to that provider only
_PROVIDER_KEYS = {
    "api.openai.com": "OPENAI_API_KEY",
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "api.groq.com": "GROQ_API_KEY",
    "api.cerebras.ai": "CEREBRAS_API_KEY",
}


def _check_temperature(name: str, value: float | None) -> None:
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise LLMConfigError(f"{name} must be 0.0 or more, not {value!r}")


def _check_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise LLMConfigError(f"{name} must be greater than 0, not {value!r}")


def check_headers(headers: Mapping[str, str | Secret]) -> None:
    """Raise `LLMConfigError` for a name or value that is not exactly one valid header."""
    for name, given_value in headers.items():
        value = given_value.reveal() if isinstance(given_value, Secret) else given_value
        if not (name + value).isascii() or not (name + value).isprintable() or ":" in name or " " in name or not name:
            raise LLMConfigError(f"the extra header {name!r} is no valid header; use printable ASCII")


def parse_base_url(url: str) -> SplitResult:
    """Split an endpoint's address; raises `LLMConfigError` for anything but a plain http(s) address."""
    if any(letter.isspace() or not letter.isprintable() for letter in url):
        raise LLMConfigError("the base URL has blanks or control characters in it; check LLM_BASE_URL")
    try:
        parts = urlsplit(url)
        _ = parts.port  # reading it validates it
    except ValueError as exc:
        raise LLMConfigError(f"the base URL can't be read ({exc}); expected something like {DEFAULT_BASE_URL}") from exc
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise LLMConfigError(f"the base URL must be http://host or https://host, such as {DEFAULT_BASE_URL}")
    if "@" in parts.netloc:
        raise LLMConfigError("the base URL must not carry a user or password; give the key as LLM_API_KEY")
    if parts.query or parts.fragment:
        raise LLMConfigError("the base URL must not have a query or fragment; remove what follows ? or #")
    return parts


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """One endpoint and model. One instance per game or run; a client belongs to it.

    `timeout_s` is the total for a call, however the reply drips. `think_tags` says how `<think>` in the content is
    read: `auto`, `opened` for models whose prompt template already opened it, or `off`. Raises `LLMConfigError` for a
    setting that can't be used.
    """

    base_url: str = DEFAULT_BASE_URL
    api_key: Secret = field(default_factory=lambda: Secret(""))
    model: str = DEFAULT_MODEL
    default_temperature: float | None = 1.0  # None: not sent
    default_max_tokens: int = 900
    context_limit: int = 0  # tokens of prompt and reply; 0 is what is known of the model, else 8192
    timeout_s: float = DEFAULT_TIMEOUT_S
    max_reply_bytes: int = int(MAX_REPLY_BYTES.maximum)
    max_connections: int = int(MAX_CONNECTIONS.maximum)
    api: Api = "chat"
    capabilities: Capabilities = field(default_factory=Capabilities)
    think_tags: ThinkTags = "auto"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] | None = None  # None: by the endpoint's address
    trust_proxy_env: bool = False
    tls: TlsFiles | None = None  # a CA of one's own for https, besides those of the system
    max_attempts: int | None = None  # at a call that breaks or is refused for a while; None: see `attempts`
    headers: Mapping[str, str | Secret] = field(default_factory=dict, repr=False)  # sent as they are

    def __post_init__(self) -> None:
        given: object = self.api_key
        if isinstance(given, str):  # so that a key written as plain text is not shown either
            object.__setattr__(self, "api_key", Secret(given.strip()))
        key = self.api_key.reveal()
        if not key.isascii() or any(not letter.isprintable() or letter == " " for letter in key):
            raise LLMConfigError("the API key has blanks, control or non-ASCII characters in it; copy it again")
        parse_base_url(self.base_url)
        object.__setattr__(self, "base_url", self.base_url.rstrip("/"))
        if self.api not in _APIS:
            raise LLMConfigError(f"api must be one of {', '.join(_APIS)}, not {self.api!r}")
        if not self.model:
            raise LLMConfigError("no model is named; set LLM_MODEL or pass model=...")
        _check_temperature("default_temperature", self.default_temperature)
        if self.context_limit == 0:
            object.__setattr__(self, "context_limit", context_tokens(self.model))
        for name in ("default_max_tokens", "context_limit", "max_reply_bytes", "max_connections"):
            _check_positive(name, getattr(self, name))
        _check_positive("timeout_s", self.timeout_s)
        if self.max_attempts is not None:
            _check_positive("max_attempts", self.max_attempts)
        check_headers(self.headers)

    @property
    def attempts(self) -> int:
        """How often a call is tried: 3 times at a remote endpoint, once on this machine, unless `max_attempts` is set.

        What listens on this machine is a model of our own, which has no quota, or a gateway, which retries itself.
        """
        if self.max_attempts is not None:
            return self.max_attempts
        return 1 if self.is_local else DEFAULT_ATTEMPTS

    @property
    def host(self) -> str:
        """The endpoint's host."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_local(self) -> bool:
        """Whether the endpoint is on this machine, so that no key is needed."""
        return is_loopback(self.host)


@dataclass(frozen=True, slots=True)
class CallConfig:
    """The settings of one purpose; the `ModelConfig` fills in what is None.

    Raises `LLMConfigError` for a value out of its range.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    max_retries: int = 2  # for replies that can't be read; ModelConfig.max_attempts is for broken connections
    retry_temperature_bump: float = 0.1
    timeout_s: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)  # fields for this provider only, sent as they are
    headers: Mapping[str, str] = field(default_factory=dict)  # of these calls alone, sent as they are
    grammar_limits: GrammarLimits | None = None  # of objects from a local model; None: the usual ones

    def __post_init__(self) -> None:
        check_headers(self.headers)
        _check_temperature("temperature", self.temperature)
        if self.max_tokens is not None:
            _check_positive("max_tokens", self.max_tokens)
        if self.timeout_s is not None:
            _check_positive("timeout_s", self.timeout_s)
        if self.max_retries < 0:
            raise LLMConfigError(f"max_retries must be 0 or more, not {self.max_retries}")


@dataclass(frozen=True, slots=True)
class EffectiveCall:
    """The settings of one call as sent: the result of `merge_config`."""

    temperature: float | None
    max_tokens: int
    timeout_s: float
    max_retries: int = 2
    retry_temperature_bump: float = 0.1
    max_temperature: float = MAX_TEMPERATURES["chat"]  # of a retry
    stop: tuple[str, ...] = ()
    seed: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    grammar_limits: GrammarLimits | None = None

    def temperature_for(self, attempt: int) -> float | None:
        """Return the temperature of attempt n (from 1): each retry is a little higher, up to `max_temperature`."""
        if self.temperature is None or attempt == 1:
            return self.temperature
        bumped = self.temperature + self.retry_temperature_bump * (attempt - 1)
        return max(0.0, min(bumped, max(self.max_temperature, self.temperature)))


def merge_config(config: ModelConfig, call: CallConfig | None = None) -> EffectiveCall:
    """Fill what a call leaves open from the model's defaults."""
    call = call or CallConfig()
    return EffectiveCall(
        temperature=config.default_temperature if call.temperature is None else call.temperature,
        max_tokens=config.default_max_tokens if call.max_tokens is None else call.max_tokens,
        timeout_s=config.timeout_s if call.timeout_s is None else call.timeout_s,
        max_retries=call.max_retries,
        retry_temperature_bump=call.retry_temperature_bump,
        max_temperature=MAX_TEMPERATURES[config.api],
        stop=call.stop,
        seed=call.seed,
        extra=call.extra,
        headers=call.headers,
        grammar_limits=call.grammar_limits,
    )


# Budgets include the thinking, which many models take from max_tokens before they answer.
NARRATOR = CallConfig(temperature=1.0, max_tokens=2000)
CHARACTER = CallConfig(temperature=1.0, max_tokens=1500)
MEMORY_UPDATE = CallConfig(temperature=0.3, max_tokens=1500)
GAME_STATE = CallConfig(temperature=0.2, max_tokens=800)
SUMMARIZER = CallConfig(temperature=0.3, max_tokens=1000)


def load_model_config(
    *,
    base_url: str | None = None,
    api_key: str | Secret | None = None,
    model: str | None = None,
    env: Mapping[str, str] | None = None,
    dotenv_path: str | Path | None = None,
    **settings: Any,
) -> ModelConfig:
    """Read a config: arguments first, then the environment, then the nearest `.env`, which is read and never loaded.

    `LLM_BASE_URL`, `LLM_API_KEY`, `LLM_MODEL` and `LLM_API` are looked up; a known provider's own variable
    (`OPENAI_API_KEY` and the like) stands in for the key at that provider's address only. Further settings are fields
    of `ModelConfig`. A loopback endpoint needs no key. Raises `LLMConfigError` if another endpoint lacks its key, or a
    setting is unknown or can't be used.
    """
    look_up = setting_lookup(env, dotenv_path=dotenv_path)
    api = settings.setdefault("api", look_up("LLM_API") or "chat")
    url = base_url or look_up("LLM_BASE_URL") or default_base_url(api)
    host = parse_base_url(url).hostname or ""
    own_name = _PROVIDER_KEYS.get(host)
    key: str | Secret | None = api_key or look_up("LLM_API_KEY") or (look_up(own_name) if own_name else None)
    if not key and not is_loopback(host):
        names = f"LLM_API_KEY (or {own_name})" if own_name else "LLM_API_KEY"
        raise LLMConfigError(
            f"no API key for {host}: set {names} in the environment or in a .env file, or pass api_key=...; "
            "an endpoint on this machine (LLM_BASE_URL=http://127.0.0.1:...) needs none"
        )
    secret = key if isinstance(key, Secret) else Secret((key or "").strip())
    try:
        return ModelConfig(
            base_url=url, api_key=secret, model=model or look_up("LLM_MODEL") or DEFAULT_MODEL, **settings
        )
    except TypeError as exc:
        raise LLMConfigError(f"unknown setting: {exc}; further settings are fields of ModelConfig") from exc


def setting_lookup(
    env: Mapping[str, str] | None = None, *, dotenv_path: str | Path | None = None
) -> Callable[[str], str | None]:
    """Return a lookup of variables: the environment first, then the nearest `.env`; blank values count as not set."""
    environment = os.environ if env is None else env
    from_file = _read_dotenv(dotenv_path)

    def look_up(name: str) -> str | None:
        return environment.get(name, "").strip() or (from_file.get(name) or "").strip() or None

    return look_up


def default_base_url(api: str) -> str:
    """Return the default address of an API."""
    return ANTHROPIC_BASE_URL if api == "anthropic" else DEFAULT_BASE_URL


def _read_dotenv(path: str | Path | None) -> dict[str, str | None]:
    from dotenv import dotenv_values, find_dotenv

    dotenv = str(path) if path is not None else find_dotenv(usecwd=True)
    return dotenv_values(dotenv, interpolate=False) if dotenv else {}
