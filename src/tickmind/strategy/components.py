"""`LLMAgent`: the component that lets an entity deliberate."""

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from tickmind.base import ConfigError

_NAMES = ("role", "personality", "context", "parser", "client", "trigger", "prompt_hash", "relevance")
_NUMBERS = ("priority", "last_query_tick", "cooldown_until", "deferred_until", "directive_tick")
_COUNTS = ("query_interval", "consecutive_errors", "max_retries", "cooldown_ticks")  # 0 or more
_LONGEST_SHOWN_CHARS = 60
_names_of, _numbers_of, _counts_of = attrgetter(*_NAMES), attrgetter(*_NUMBERS, *_COUNTS), attrgetter(*_COUNTS)
_TEXT, _WHOLE = {str}, {int}


@dataclass
class LLMAgent:
    """Ask a model at intervals, and have the answer put on the entity's Blackboard.

    The names refer to definitions in the `LLMManager`. The agent needs a `Blackboard` beside it. Its state
    is plain data, so a snapshot holds it; a query that is in flight is lost with a restore.

    Raises `ConfigError` if a field is invalid, such as `query_interval="5 s"`.

        world.attach(wolf, Blackboard())
        world.attach(wolf, LLMAgent("wolf", "bold", "den", query_interval=200))
    """

    role: str
    personality: str
    context: str
    parser: str = ""  # empty, or not registered: the default JSON parser
    query_interval: int = 100  # ticks
    priority: int = 0  # higher goes first when not all can be asked
    last_query_tick: int = 0  # kept by the system, as are the next two
    pending: bool = False
    consecutive_errors: int = 0
    max_retries: int = 3
    cooldown_ticks: int = 200
    cooldown_until: int = 0  # kept by the system: after failures, or because a shared client requires a wait
    client: str = ""  # a named client; empty: the router's choice, or the default one
    trigger: str = ""  # a named condition that starts a query before the interval is over
    deferred_until: int = 0  # the tick until which `LLMManager.defer` lets it wait
    prompt_hash: str = ""  # of the last prompt that was answered
    turns: list[tuple[str, str]] = field(default_factory=list)  # earlier questions and answers, newest last
    streamed: dict[str, list[list[Any]]] = field(default_factory=dict)
    """Blackboard key -> what a streamed field replaced and what it wrote, each a list of one, or empty for no value.

    A snapshot taken in the middle of a reply holds it, so that a restore can put back what was there before.
    """
    relevance: str = ""  # a named rule that may refuse a late answer; empty: none is refused
    directive_tick: int = 0  # kept by the system: the tick of the last question with an accepted answer

    def __post_init__(self) -> None:
        if problem := flaw(self):
            raise ConfigError(f"LLMAgent: {problem}")


def flaw(agent: LLMAgent) -> str:
    """Return what is wrong with an agent's fields; empty if all are valid. Fields can be changed at any time."""
    if (
        set(map(type, _names_of(agent))) == _TEXT
        and set(map(type, _numbers_of(agent))) == _WHOLE
        and min(_counts_of(agent)) >= 0
        and type(agent.turns) is list
        and type(agent.streamed) is dict
    ):
        return ""  # the common case, for worlds with many agents
    for name in _NAMES:
        if not isinstance(value := getattr(agent, name), str):
            return f"{name} must be a text, not {_shown(value)}"
    for name in (*_NUMBERS, *_COUNTS):
        value = getattr(agent, name)
        if not isinstance(value, int) or isinstance(value, bool):
            return f"{name} must be a whole number, not {_shown(value)}"
    for name in _COUNTS:
        if (value := getattr(agent, name)) < 0:
            return f"{name} must be 0 or more, not {value}"
    for name, kind in (("turns", list), ("streamed", dict)):
        if not isinstance(value := getattr(agent, name), kind):
            return f"{name} must be a {kind.__name__}, not {_shown(value)}"
    return ""


def _shown(value: Any) -> str:
    try:
        return repr(value)[:_LONGEST_SHOWN_CHARS]
    except Exception:  # noqa: BLE001  a value's repr is user code
        return f"a {type(value).__name__}"
