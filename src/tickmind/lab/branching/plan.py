"""Checks of the changes at which a run branches, and the scenario of its world with them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tickmind.base import ConfigError
from tickmind.lab.minds.changes import ChangeKind, persona_value
from tickmind.mind.memory.memory import MAX_ENTRY_CHARS
from tickmind.world import MAX_TEXT_CHARS
from tickmind.world.scenario.scenario import Intervention
from tickmind.world.scenario.scenario_reader import with_interventions

if TYPE_CHECKING:
    from tickmind.record import RunChange, RunReader

_NAMED = 12  # actors that a message names


def check_changes(run: "RunReader", changes: "Sequence[RunChange]") -> None:
    """Raise `ConfigError` for the first change of an actor who is not in the run, or that says nothing to do."""
    names = [actor.entity_id for actor in run.info.actors]
    for change in changes:
        if change.kind in (ChangeKind.STATE, ChangeKind.MODEL, ChangeKind.RULE):  # the scenario knows objects and rules
            continue
        if change.who not in names:
            more = ", ..." if len(names) > _NAMED else ""
            raise ConfigError(
                f"run {run.run_id} has no actor {change.who!r}; it has {', '.join(sorted(names)[:_NAMED])}{more}"
            )
        present = run.state_at(change.tick_id).present if change.tick_id else None
        if present is not None and not present[names.index(change.who)]:
            raise ConfigError(f"{change.who} is not in the world after tick {change.tick_id}; choose another tick")
        _check(change)
    for kind in (ChangeKind.SAY, ChangeKind.REMOVE):
        who = [change.who for change in changes if change.kind == kind]
        if len(set(who)) < len(who):
            raise ConfigError(f"--{kind} names an actor twice; an actor says one sentence in a tick, and leaves once")


def _check(change: "RunChange") -> None:
    match change.kind:
        case ChangeKind.SAY:
            if not change.value.strip() or not MAX_TEXT_CHARS.allows(len(change.value)):
                raise ConfigError(f"what {change.who} is to say must have 1 to {MAX_TEXT_CHARS.maximum} characters")
        case ChangeKind.REMEMBER:
            if not change.value.strip() or not MAX_ENTRY_CHARS.allows(len(change.value)):
                raise ConfigError(f"a memory must have 1 to {MAX_ENTRY_CHARS.maximum} characters")
        case ChangeKind.FORGET:
            if not (change.value.isascii() and change.value.isdigit()):
                raise ConfigError(
                    f"--forget takes the number of a memory, not {change.value!r}; "
                    f"`tickmind mind RUN {change.who} --tick {change.tick_id} --json` lists them"
                )
        case ChangeKind.ITEM:
            _amount(change)
        case ChangeKind.PERSONA:
            persona_value(change.what, change.value)


def with_changes(
    text: str, own: Sequence[Intervention], changes: "Sequence[RunChange]", dropped: "Sequence[RunChange]" = ()
) -> str:
    """Return the text of a scenario whose world is changed in the tick after each change.

    `own` are the interventions of the parent's scenario; those of its `dropped` changes, which come after the branch,
    are left out.
    """
    not_kept = set(filter(None, map(_intervention, dropped)))
    wanted = [
        *(intervention for intervention in own if intervention not in not_kept),
        *filter(None, map(_intervention, changes)),
    ]
    return text if wanted == list(own) else with_interventions(text, wanted)


def _intervention(change: "RunChange") -> Intervention | None:
    if change.kind == ChangeKind.ITEM:
        return Intervention(change.tick_id + 1, change.who, change.what, _amount(change))
    if change.kind == ChangeKind.STATE:
        return Intervention(change.tick_id + 1, object_id=change.who, state=change.value)
    if change.kind == ChangeKind.RULE:
        return Intervention(change.tick_id + 1, rule=change.what, value=_amount(change))
    return None


def _amount(change: "RunChange") -> int:
    if change.value.isascii() and change.value.isdigit():
        return int(change.value)
    path = f"rules.{change.what}" if change.kind == ChangeKind.RULE else f"{change.who}.inventory.{change.what}"
    raise ConfigError(f"{path} takes a whole number, not {change.value!r}")
