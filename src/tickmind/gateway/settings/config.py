"""The gateway's configuration: providers, their limits, routes, and how sessions share.

These are the checked, frozen types; `file` reads them from YAML.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tickmind.base import Secret

Surface = Literal["chat", "responses", "embeddings"]
Sharing = Literal["fair", "strict"]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one provider, key or model takes; None is no limit of that kind. All of them hold together.

    `burst` is how many requests may be sent at once after a pause, before the rates hold. From two on it is kept for
    owners that don't ask for more than their share; the others are sent in between, one at a time.
    """

    requests_per_second: float | None = None
    requests_per_minute: float | None = None
    requests_per_day: float | None = None
    tokens_per_minute: float | None = None
    tokens_per_day: float | None = None
    burst: int = 1
    concurrency: int | None = None


UNKNOWN_LIMITS = Limits(requests_per_minute=12, burst=1, concurrency=1)  # for an endpoint without stated limits
OWN_LIMITS = Limits(concurrency=4)  # for an endpoint of the own network: no quota, but limited power


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key of ours, or of a caller. `id` is its keyed hash, shortened: the only part that is ever shown."""

    id: str
    secret: Secret = field(repr=False)
    limits: Limits | None = None  # of this key alone, beside the provider's
    source: str = ""  # where it comes from, for people: a variable's or a file's name


@dataclass(frozen=True, slots=True)
class Provider:
    """An OpenAI-compatible endpoint. `limits` hold for each of its keys, `model_limits` for each key and model."""

    name: str
    base_url: str  # http(s)://host[:port]/path, checked
    keys: tuple[ApiKey, ...] = ()
    limits: Limits = UNKNOWN_LIMITS
    model_limits: Mapping[str, Limits] = field(default_factory=dict)  # exact model name -> limits
    default_model: str = ""
    surfaces: tuple[Surface, ...] = ("chat", "embeddings")
    headers: Mapping[str, str] = field(default_factory=dict)
    adaptive_concurrency: bool = False
    fall_back_on_errors: bool = True  # 5xx and broken connections move on to the next provider, too
    stream_usage: bool = False  # it supports `stream_options.include_usage`, which adds token counts to a stream
    # pattern of models -> field of a request -> the name that they take instead, None: they refuse it
    request_fields: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    secret_headers: Mapping[str, Secret] = field(default_factory=dict, repr=False)  # also sent, but only with our keys
    fallback: tuple[tuple[str, str], ...] = ()  # (provider, model), for models without a route of their own
    missing_keys: tuple[str, ...] = ()  # variables named for a key, but not set


@dataclass(frozen=True, slots=True)
class Route:
    """Where a model goes: `targets` are (provider, model), best first, the whole chain; no model: the caller's name."""

    targets: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a session may use in all, or per day; None is no limit."""

    requests: int | None = None
    tokens: int | None = None
    usd: float | None = None
    per_day: bool = True


@dataclass(frozen=True, slots=True)
class Caller:
    """A client of the gateway. `key_hash` is the hash of its random key (see `caller_keys`), which is stored nowhere.

    It sees its own sessions and costs, an `admin` those of all.
    """

    name: str
    key_hash: str
    weight: float = 1.0
    budget: Budget = Budget()
    admin: bool = False


@dataclass(frozen=True, slots=True)
class QueueConfig:
    """How long and how many may wait."""

    capacity: int = 100  # per chain and key
    max_wait_s: float = 60.0
    priority_age_s: float = 10.0  # waiting this long counts as one priority step
    max_rounds: int = 3  # of waiting for the earliest provider when all are limited
    replace_older: bool = False  # a newer request of an agent replaces its queued one by default
    learn_service_times: bool = True  # and refuse at once what can't be answered in time; else all requests wait


@dataclass(frozen=True, slots=True)
class SharingConfig:
    """How sessions share a key. `window_s`: an owner that used less than its share within it goes first."""

    mode: Sharing = "fair"
    session_timeout_s: float = 60.0
    max_sessions: int = 10_000
    window_s: float = 60.0
    default_weight: float = 1.0
    weights: Mapping[str, float] = field(default_factory=dict)  # session -> weight
    budget: Budget = Budget()  # of each session, where its caller has none


@dataclass(frozen=True, slots=True)
class CircuitConfig:
    """When a failing provider is paused, and for how long."""

    failures: int = 5  # in a row
    open_s: float = 15.0  # doubled with each failed probe, up to max_open_s
    max_open_s: float = 300.0
    account_pause_s: float = 300.0  # after a refused or banned account


@dataclass(frozen=True, slots=True)
class RetryConfig:
    """The budget for attempts beyond the first of a request."""

    ratio: float = 0.1  # retries earned by each request
    reserve: float = 10.0  # retries available at the start, and at most
    default_wait_s: float = 1.0  # after a 429 that does not say how long
    max_wait_s: float = 3600.0  # what a provider may ask for at most
    ramp_s: float = 10.0  # how long the rate takes to come back after a limit


@dataclass(frozen=True, slots=True)
class WireConfig:
    """Sizes and times of requests and replies."""

    max_request_bytes: int = 4 * 1024 * 1024
    max_reply_bytes: int = 4 * 1024 * 1024  # of a collected reply; it takes up to four times this in memory
    max_stream_bytes: int = 64 * 1024 * 1024  # of a streamed reply
    max_header_bytes: int = 32 * 1024
    header_timeout_s: float = 10.0
    body_timeout_s: float = 60.0
    idle_timeout_s: float = 75.0
    default_timeout_s: float = 120.0
    max_timeout_s: float = 600.0
    max_connections: int = 4096
    max_upstream_connections: int = 1024  # per provider


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """Sharing of identical requests; off by default, because it changes what a model would say."""

    deduplicate: bool = False
    keep_s: float = 0.0  # 0: replies are not kept
    max_entries: int = 10_000
    max_bytes: int = 64 * 1024 * 1024
    across_callers: bool = False  # callers with different keys share as well


@dataclass(frozen=True, slots=True)
class GatewayConfig:
    """All settings of the gateway."""

    providers: Mapping[str, Provider] = field(default_factory=dict)
    exact: Mapping[str, Route] = field(default_factory=dict)  # model -> route
    patterns: tuple[tuple[str, Route], ...] = ()  # glob pattern -> route, the first match wins
    default_model: str = ""
    host: str = "127.0.0.1"
    port: int = 8766
    plaintext: bool = False  # beyond this machine without TLS, because something else protects the network
    callers: tuple[Caller, ...] = ()
    allowed_origins: tuple[str, ...] = ()  # whose pages may use the gateway, besides its own
    allowed_base_urls: tuple[str, ...] = ()  # origins that callers' own configurations may name
    private_base_urls: tuple[str, ...] = ()  # the same, for origins inside the operator's own network
    queue: QueueConfig = QueueConfig()
    sharing: SharingConfig = SharingConfig()
    circuit: CircuitConfig = CircuitConfig()
    retry: RetryConfig = RetryConfig()
    wire: WireConfig = WireConfig()
    cache: CacheConfig = CacheConfig()
    redis_url: Secret = field(default_factory=lambda: Secret(""), repr=False)
    key_id_secret: Secret = field(default_factory=lambda: Secret(""), repr=False)  # empty: new for each router
