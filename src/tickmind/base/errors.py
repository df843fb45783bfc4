"""The root of every error that tickmind raises.

    TickmindError
    ├── ConfigError            something a person wrote is wrong: a file, an argument, a variable
    ├── LimitExceededError     a named limit was reached; the message says which and how to raise it
    ├── protocol.IntentError   an intent with a field of the wrong type
    ├── tick.TickError         the engine: dead entities, failing systems, snapshots
    ├── ai.AIError             the tactical layer: trees, their files, unknown names
    ├── llm.LLMError           a model call that failed: connection, rate limit, reply, deadline
    ├── world.WorldError       the tile world: scenarios, snapshots
    ├── wire.WireError         talking to a world: addresses, messages, calls, leases
    ├── server.ServerError     the authority: addresses, exposure, checkpoints, replay
    ├── agent.AgentError       a character's process: what it was started with
    ├── record.RecordError     the record of a run: ids, locks, disk faults, damage
    ├── runner.RunnerError     keeping processes: the warden, a folder that is in use
    └── viewer.ViewerError     the page and its server: addresses, tokens, frames

Each package adds its own branch in its `errors` module.
"""

MAX_ERROR_TEXT_CHARS = 2_000


class TickmindError(Exception):
    """The base of every error that tickmind raises on purpose; catch it to catch all of them."""


class ConfigError(TickmindError, ValueError):
    """Something a person wrote can't be used; the message says where and what is expected."""


class LimitExceededError(TickmindError):
    """A named limit was reached. Nothing was changed."""

    def __init__(self, name: str, value: int | float, maximum: int | float, unit: str = "") -> None:
        self.name = name
        self.value = value
        self.maximum = maximum
        self.unit = unit
        suffix = f" {unit}" if unit else ""
        super().__init__(f"{name} is {value:,}{suffix}, more than the limit of {maximum:,}")


def error_text(error: BaseException) -> str:
    """Return the type and the text of an error, cut to a bounded length; never raise, whatever its `__str__` does."""
    name = type(error).__name__
    try:
        text = str(error)[:MAX_ERROR_TEXT_CHARS]
    except Exception:  # noqa: BLE001  the text of an error is user code too
        return f"{name}, whose text can't be shown"
    return f"{name}: {text}"


def is_survivable(error: BaseException) -> bool:
    """Return whether a loop that runs supplied code may report this error and go on.

    True for every `Exception` and for asyncio's `CancelledError`, which supplied code can raise by itself. False for
    Ctrl-C and `SystemExit`, and for what test runners use to end a test.
    """
    return isinstance(error, Exception) or type(error).__name__ == "CancelledError"
