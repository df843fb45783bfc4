"""`LLMConfig`: limits and options of a strategic layer."""

from dataclasses import dataclass

from tickmind.base import ConfigError


@dataclass(frozen=True, slots=True)
class LLMConfig:
    """Limits and options of one strategic layer. Everything beyond limits is off by default.

    Raises `ConfigError` for a value out of its range, or `lockstep` without `reply_ticks`.
    """

    max_queries_per_tick: int = 1
    max_queries_per_second: int | None = 5  # in any second of the clock; None: no such limit
    thread_pool_size: int = 4  # blocking calls at once
    query_timeout: float | None = 30.0  # seconds, from the dispatch on; None: learnt from answers
    max_stuck_threads: int = 64  # threads abandoned because their client never returned
    max_in_flight: int | None = 1024
    """Queries under way, async ones included; None: as many as each client works on and about one more, learnt"""
    skip_unchanged: bool = False  # do not ask again with the same prompt
    stagger: bool = False  # spread the first questions of agents over their interval
    conversation_turns: int = 0  # so many earlier questions and answers go along
    token_budget: int | None = None  # tokens of a whole prompt; sections of low priority are dropped
    batch_size: int = 1  # so many entities of one role may share a call
    stream_fields: bool = False  # fields go to the Blackboard as they arrive
    trigger_gap: int = 20  # least ticks between two questions of an agent with a trigger
    priority_aging_ticks: int | None = 100
    """Ticks of waiting that weigh as much as one step of priority, so that no agent starves; None: strict priority"""
    reply_ticks: int | None = None
    """A reply takes effect exactly so many ticks after its question, 0 in the same tick; None: when it arrives"""
    lockstep: bool = False
    """Wait for replies that are due, and let neither limits nor the machine's clock hold a question back"""

    def __post_init__(self) -> None:
        for name in (
            "max_queries_per_tick",
            "thread_pool_size",
            "batch_size",
        ):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.lockstep and self.reply_ticks is None:
            raise ConfigError("in lockstep a reply takes effect in a tick of its own; set reply_ticks")
        if self.reply_ticks is not None and (self.reply_ticks < 0 or self.stream_fields):
            raise ConfigError(
                "reply_ticks must not be negative, and no field arrives before them: leave stream_fields off"
            )
        for name in ("max_stuck_threads", "conversation_turns", "trigger_gap"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} must be 0 or more, not {getattr(self, name)}")
        for name in ("max_queries_per_second", "priority_aging_ticks", "max_in_flight"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} must be at least 1, or None, not {value}")
        if self.query_timeout is not None and not self.query_timeout > 0:
            raise ConfigError(f"query_timeout must be more than 0 seconds, not {self.query_timeout}")
        if self.token_budget is not None and self.token_budget < 1:
            raise ConfigError(f"token_budget must be at least 1 token, not {self.token_budget}")
