"""`MockClient`: a client without a model, for tests and demonstrations."""

import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import TypeAlias

from tickmind.base import ConfigError
from tickmind.llm import LLMError

Responses: TypeAlias = Mapping[tuple[str, str], str] | Callable[[str, str], str]


class MockClient:
    """Answer without a model, for tests and demonstrations. Threads may share it.

    `responses` maps (system prompt, user message) to replies, or is a function of both; an unknown prompt is answered
    with `{}`. Each call takes `latency` seconds, or a random time between two of them; `error_rate` of the calls raise
    `error_exception`; `seed` seeds both. Raises `ConfigError` if the latency is negative, or its range descends.

        >>> MockClient().query("You are a wolf.", "You are hungry.")
        '{}'
    """

    def __init__(
        self,
        responses: Responses | None = None,
        latency: float | tuple[float, float] = 0.0,
        error_rate: float = 0.0,
        error_exception: type[BaseException] | BaseException = LLMError,
        *,
        seed: int = 0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._responses = responses if responses is not None else {}
        self._shortest, self._longest = latency if isinstance(latency, tuple) else (latency, latency)
        if not 0 <= self._shortest <= self._longest:
            raise ConfigError(f"latency must be 0 or more seconds, or an ascending range of such, not {latency!r}")
        self._error_rate = error_rate
        self._error_exception = error_exception
        self._random = random.Random(seed)
        self._sleep = sleep
        self._lock = threading.Lock()
        self.calls = 0

    def query(self, system_prompt: str, user_message: str) -> str:
        """Answer after the latency, or raise."""
        with self._lock:
            self.calls += 1
            fails = self._random.random() < self._error_rate
            latency = self._shortest
            if self._longest > latency:
                latency = self._random.uniform(latency, self._longest)
        if latency > 0:
            self._sleep(latency)
        if fails:
            error = self._error_exception
            raise error if isinstance(error, BaseException) else error("the mock failed, by its error_rate")
        if callable(self._responses):
            return self._responses(system_prompt, user_message)
        return self._responses.get((system_prompt, user_message), "{}")
