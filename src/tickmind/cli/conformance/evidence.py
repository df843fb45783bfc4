"""What a trial of an agent brought to light, and the times it was given."""

from collections import Counter
from dataclasses import dataclass, field

from tickmind.protocol import Reason


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """How an agent is tried. The defaults suit agents whose start takes seconds and machines with other work."""

    tick_ms: int = 200
    ticks: int = 30  # in which it is watched before anything goes wrong
    refused_ticks: int = 5
    lease_ttl_ms: int = 3_000
    start_s: float = 60.0  # until it is in control
    back_s: float = 20.0  # until it is in control again
    away_s: float = 1.0  # for which the world is gone
    tls: bool = False  # whether its world is behind TLS and exchanges the token
    grace_s: float = 5.0  # from SIGTERM until it is killed
    least_answered: float = 0.8  # of the ticks under control
    most_late: float = 0.2  # of the ticks under control: intents for ticks that are over

    @property
    def quiet_s(self) -> float:
        """How long the world stands still: longer than a lease lasts."""
        return 1.5 * self.lease_ttl_ms / 1000


@dataclass(slots=True)
class Evidence:
    """What was seen of an agent. None stands for what could not be tried."""

    plan: TrialPlan = field(default_factory=TrialPlan)
    took_control: bool = False
    early_end: str = ""  # how it ended before it was asked to
    last_output: str = ""  # its last error, or else its last line
    controlled_ticks: int = 0
    answered_ticks: int = 0
    refused: Counter[Reason] = field(default_factory=Counter)  # apart from those on purpose
    examples: list[str] = field(default_factory=list)  # of refused intents
    answers_after_refusals: int | None = None  # in as many ticks as were refused
    kept_lease: bool | None = None
    back_after_drop_s: float | None = None
    had_to_wait_for_lease: bool = False
    tried_drop: bool = False
    back_after_restart_s: float | None = None
    tried_restart: bool = False
    back_after_exchange_s: float | None = None
    tried_exchange: bool = False
    ending: str = ""  # how it ended after SIGTERM
    ended_in_time: bool | None = None
    exit_code: int | None = None
    released: bool | None = None  # whether its character was free at once
    left_processes: int | None = None
    leaked: list[str] = field(default_factory=list)  # what it printed, in words

    @property
    def acts(self) -> bool:
        """Whether it did anything that the world accepted."""
        return self.answered_ticks > 0
