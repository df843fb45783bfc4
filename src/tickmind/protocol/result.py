"""`Ack` and `ActionResult`: whether an intent was received, and what it did."""

from dataclasses import dataclass

from tickmind.protocol.intent import ActionType
from tickmind.protocol.reason import Reason


@dataclass(frozen=True, slots=True)
class Ack:
    """Whether an intent was received in time and may be tried; a refusal is a value, with its reason."""

    accepted: bool
    reason: Reason = Reason.NONE


@dataclass(frozen=True, slots=True)
class Effect:
    """One number that an action changed: `inventory.berries` by +1, `hunger` by -300, `work_remaining` to 2.

    An action that was refused has changed nothing. Its effects say how many items are missing (`missing.wood`), or at
    which minute of the day it can be done (`opens_at`).
    """

    name: str
    value: int


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The effects of an intent. Work that takes several ticks shows as one result for each of them."""

    actor_id: str
    action_type: ActionType
    ok: bool
    reason: Reason = Reason.NONE
    target_id: str = ""
    effects: tuple[Effect, ...] = ()
