"""Settings of a call through a gateway: the agent, the priority, and after how long the answer expires."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tickmind.base import Secret
from tickmind.llm.config import CallConfig, ModelConfig, check_headers, setting_lookup
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.gateway_contract import (
    AGENT_HEADER,
    DEFAULT_MODEL,
    DROP_AFTER_HEADER,
    MAX_MS,
    MAX_NAME_CHARS,
    PRIORITIES,
    PRIORITY_HEADER,
    REPLACE_HEADER,
    SESSION_IN_WORDS,
    gateway_share_s,
    is_session,
)
from tickmind.llm.served import Served

Priority = Literal["high", "normal", "low"]

DEFAULT_GATEWAY_URL = "http://127.0.0.1:8766"


def load_gateway_config(
    *,
    url: str | None = None,
    api_key: str | Secret | None = None,
    model: str | None = None,
    env: Mapping[str, str] | None = None,
    dotenv_path: str | Path | None = None,
    **settings: Any,
) -> ModelConfig:
    """Return where the gateway is: arguments first, then the environment, then the nearest `.env`.

    `LLM_GATEWAY_URL` (else `http://127.0.0.1:8766`), `LLM_GATEWAY_KEY`, which only a gateway that asks callers for keys
    needs, and `LLM_MODEL` (else the gateway's default model) are looked up. Providers' keys are the gateway's business
    and are not sent. Raises `LLMConfigError` if a setting is unknown or can't be used.
    """
    look_up = setting_lookup(env, dotenv_path=dotenv_path)
    key = api_key or look_up("LLM_GATEWAY_KEY") or ""
    try:
        return ModelConfig(
            base_url=url or look_up("LLM_GATEWAY_URL") or DEFAULT_GATEWAY_URL,
            api_key=key if isinstance(key, Secret) else Secret(key.strip()),
            model=model or look_up("LLM_MODEL") or DEFAULT_MODEL,
            **settings,
        )
    except TypeError as exc:
        raise LLMConfigError(f"unknown setting: {exc}; further settings are fields of ModelConfig") from exc


def gateway_call(
    base: CallConfig | None = None,
    *,
    agent: str = "",
    priority: Priority | None = None,
    replace_older: bool | None = None,
    drop_after_s: float | None = None,
) -> CallConfig:
    """Return the config of a call that names its agent to the gateway; any client of a gateway takes it.

    `replace_older` replaces the agent's own request that still waits, `drop_after_s` says after how long the answer
    expires. The gateway's settings fill in what is None. Raises `LLMConfigError` for a value that can't be sent.
    """
    headers: dict[str, str] = {}
    if agent:
        headers[AGENT_HEADER] = checked_name("an agent's name", agent)
    if priority is not None:
        if priority not in PRIORITIES:
            raise LLMConfigError(f"priority must be one of {', '.join(PRIORITIES)}, not {priority!r}")
        headers[PRIORITY_HEADER] = priority
    if replace_older is not None:
        headers[REPLACE_HEADER] = "1" if replace_older else "0"
    if drop_after_s is not None:
        headers[DROP_AFTER_HEADER] = str(millis("drop_after_s", drop_after_s))
    base = base or CallConfig()
    return replace(base, headers={**base.headers, **headers})


def checked_name(what: str, name: str) -> str:
    """Return a name unchanged if a header can carry it; else raise `LLMConfigError`."""
    if not name or name != name.strip() or not MAX_NAME_CHARS.allows(len(name)):
        raise LLMConfigError(
            f"{what} must have 1 to {MAX_NAME_CHARS.maximum:g} characters and no blanks around it, not {name!r}"
        )
    try:
        check_headers({"x": name})
    except LLMConfigError:
        raise LLMConfigError(f"{what} must be plain ASCII, not {name!r}") from None
    return name


def checked_session(name: str) -> str:
    """Return a session's name unchanged if gateways accept it; else raise `LLMConfigError`."""
    if not is_session(name):
        raise LLMConfigError(f"a session's name has {SESSION_IN_WORDS}, not {name!r}")
    return name


def millis(what: str, seconds: float) -> int:
    """Return a duration in whole milliseconds, at least one and at most what a header may say."""
    if not (math.isfinite(seconds) and seconds > 0):
        raise LLMConfigError(f"{what} must be greater than 0, not {seconds!r}")
    return min(max(1, int(seconds * 1000)), MAX_MS)


def told_timeout(left_s: float) -> str:
    """Return the value of the timeout header for the time that the gateway has."""
    return str(millis("timeout_s", gateway_share_s(left_s)))


@dataclass(frozen=True, slots=True)
class CustomModel:
    """An agent's own endpoint, which the gateway's operator must allow; its key goes there and nowhere else.

    Without a `model` the call's or the client's is asked for there. `headers` are sent to the endpoint and treated as
    secrets, as the key is; an endpoint that needs no key gets none.
    """

    base_url: str
    api_key: Secret = field(default=Secret(""), repr=False)
    model: str = ""
    headers: Mapping[str, Secret] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_headers(self.headers)

    def encode(self) -> dict[str, Any]:
        """Encode it as the gateway reads it."""
        said: dict[str, Any] = {"baseUrl": self.base_url}
        if self.api_key:
            said["apiKey"] = self.api_key.reveal()
        if self.model:
            said["model"] = self.model
        if self.headers:
            said["customHeaders"] = {name: value.reveal() for name, value in self.headers.items()}
        return said


@dataclass(frozen=True, slots=True)
class Generated:
    """The text that a gateway generated for one prompt."""

    text: str
    model: str
    tokens_used: int | None
    served: Served
    thinking: str = ""
    finish_reason: str = ""
