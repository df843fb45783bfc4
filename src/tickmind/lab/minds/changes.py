"""Changes of a branch that concern a mind: memories planted or removed, and fields of a persona."""

from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

from tickmind.agent.character.body import Body
from tickmind.base import ConfigError
from tickmind.mind.memory import EntryKind
from tickmind.record import RunChange

PLANTED_IMPORTANCE: Final = 0.6
TEXT_FIELDS: Final = ("backstory", "voice", "home", "work")
LIST_FIELDS: Final = ("traits",)  # values are separated by commas
PERSONA_FIELDS: Final = (*TEXT_FIELDS, *LIST_FIELDS, "age")


class ChangeKind(StrEnum):
    """What can be changed where a run branches."""

    SAY = "say"  # an actor says a sentence in the next tick, in place of what it decides
    REMOVE = "remove"  # an actor leaves the world with the next tick
    REMEMBER = "remember"  # a mind has one memory more
    FORGET = "forget"  # a mind has one memory less
    PERSONA = "persona"  # a mind has another persona
    MODEL = "model"  # another model is asked from the next tick on
    ITEM = "item"  # an actor has so many items of a kind after the next tick
    STATE = "state"  # an object is in a state after the next tick
    RULE = "rule"  # a rule of the world is another from the next tick on


OF_MINDS: Final = frozenset({ChangeKind.REMEMBER, ChangeKind.FORGET, ChangeKind.PERSONA})


def change_mind(character: Body, change: RunChange) -> None:
    """Apply a change to a mind after its tick; raises `ConfigError` if it can't be changed in that way."""
    match change.kind:
        case ChangeKind.REMEMBER:
            kind, text = EntryKind.HEARD, change.value
            character.memory.note(change.tick_id, text, kind=kind, importance=PLANTED_IMPORTANCE)
        case ChangeKind.FORGET:
            if not character.memory.forget(int(change.value)):
                raise ConfigError(
                    f"{change.who} has no memory {change.value} after tick {change.tick_id}; "
                    f"`tickmind mind ... {change.who} --tick {change.tick_id} --json` lists them with their numbers"
                )
        case ChangeKind.PERSONA:
            if change.what in ("home", "work") and character.setting.zone(change.value) is None:
                raise ConfigError(f"there is no zone {change.value!r} that could be the {change.what} of {change.who}")
            values: dict[str, Any] = {change.what: persona_value(change.what, change.value)}
            character.persona = replace(character.persona, **values)


def persona_value(field: str, text: str) -> str | int | tuple[str, ...]:
    """Return the value of a field of a persona; raises `ConfigError` for a field that can't be changed."""
    if field in TEXT_FIELDS:
        return text
    if field in LIST_FIELDS:
        return tuple(part for part in map(str.strip, text.split(",")) if part)
    if field == "age" and text.isascii() and text.isdigit():
        return int(text)
    if field == "age":
        raise ConfigError(f"an age is a whole number, not {text!r}")
    raise ConfigError(f"persona.{field} can't be changed in a branch; {', '.join(sorted(PERSONA_FIELDS))} can")
