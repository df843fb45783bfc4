"""`TickEvent`: the beginning of a tick, as agents receive it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TickEvent:
    """A tick began; intents for it count until the deadline. Times are the server's, in ms since 1970."""

    tick_id: int
    tick_start_server_time_ms: int
    intent_deadline_server_time_ms: int
    tick_duration_ms: int
    world_version: str = ""
