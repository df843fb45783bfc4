"""Events that an observer notices between two observations, and `TickEvent`, the beginning of a tick.

An entity out of sight is in none but `Heard`.
"""

from dataclasses import dataclass
from typing import TypeAlias

from tickmind.protocol.direction import Direction
from tickmind.protocol.result import ActionResult


@dataclass(frozen=True, slots=True)
class Entered:
    """An entity came into sight."""

    entity_id: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Left:
    """An entity went out of sight; the position is where it was last seen."""

    entity_id: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Moved:
    """An entity that was in sight and still is went to another tile; the position is the new one."""

    entity_id: str
    x: int
    y: int
    direction: Direction


@dataclass(frozen=True, slots=True)
class Acted:
    """An entity in sight did, or tried, an action other than moving, speaking and waiting."""

    result: ActionResult


@dataclass(frozen=True, slots=True)
class Heard:
    """An actor within hearing spoke, in sight or not; an actor does not hear itself."""

    speaker_id: str
    channel: str
    text: str
    x: int
    y: int


Event: TypeAlias = Entered | Left | Moved | Acted | Heard


@dataclass(frozen=True, slots=True)
class TickEvent:
    """A tick began; intents for it count until the deadline. Times are the server's, in ms since 1970."""

    tick_id: int
    tick_start_server_time_ms: int
    intent_deadline_server_time_ms: int
    tick_duration_ms: int
    world_version: str = ""
