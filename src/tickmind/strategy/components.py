"""The component that lets an entity deliberate."""

from dataclasses import dataclass, field


@dataclass
class LLMAgent:
    """Asks a model now and then, and has the answer put on the entity's Blackboard.

    The names refer to definitions in the `LLMManager`. The agent needs a `Blackboard` beside it. What the system keeps
    here is plain data, so a snapshot holds it; a query that is in flight is lost with a restore.
    """

    role: str
    personality: str
    context: str
    parser: str = ""  # empty: the default JSON parser
    query_interval: int = 100  # ticks
    priority: int = 0  # higher is asked first when not all can be
    last_query_tick: int = 0  # kept by the system, as are the next two
    pending: bool = False
    consecutive_errors: int = 0
    max_retries: int = 3
    cooldown_ticks: int = 200
    cooldown_until: int = 0  # kept by the system: after failures, or because a shared client asks to wait
    client: str = ""  # a named client; empty: the router's choice, or the default one
    trigger: str = ""  # a named condition that asks before the interval is over
    deferred_until: int = 0  # somebody chose to let it wait
    prompt_hash: str = ""  # of the last prompt that was answered
    turns: list[tuple[str, str]] = field(default_factory=list)  # what it was told and answered, newest last
