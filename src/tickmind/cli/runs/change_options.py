"""The changes at which runs branch: as the options of `tickmind branch` that make them, and in words."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tickmind.record import RunChange


def change_option(change: "RunChange") -> tuple[str, str]:
    """Return the option of `tickmind branch` that makes a change, and its value."""
    match change.kind:
        case "item":
            return "--set", f"{change.who}.inventory.{change.what}={change.value}"
        case "persona":
            return "--set", f"{change.who}.persona.{change.what}={change.value}"
        case "state":
            return "--set", f"{change.who}.state={change.value}"
        case "rule":
            return "--set", f"rules.{change.what}={change.value}"
        case "remove":
            return "--remove", change.who
        case _:
            return f"--{change.kind}", f"{change.who}{'=' if change.who else ''}{change.value}"


def change_text(change: "RunChange") -> str:
    """Return a change with its tick, for people."""
    return f"after tick {change.tick_id:,}: {' '.join(change_option(change))}"


def change_sentence(change: "RunChange", names: "Mapping[str, str]") -> str:
    """Return a change with its tick in words, without options; `names` are those of actors by their ids.

    >>> from tickmind.record import RunChange
    >>> change_sentence(RunChange(12, "item", who="ada", what="rye_bread", value="3"), {"ada": "Ada"})
    'after tick 12: Ada has 3 rye bread'
    """
    who, what, value = names.get(change.who, change.who), change.what.replace("_", " "), change.value
    match change.kind:
        case "say":
            said = f"{who} says “{value}”"
        case "item":
            said = f"{who} has {value} {what}"
        case "persona":
            said = f"the {what} of {who} is “{value}”"
        case "state":
            said = f"{who} is {value.replace('_', ' ')}"
        case "rule":
            said = f"the rule {what} is {value}"
        case "remove":
            said = f"{who} leaves the world"
        case "remember":
            said = f"{who} remembers “{value}”"
        case "forget":
            said = f"{who} forgets the memory {value}"
        case "model":
            said = f"{value} is the model"
        case _:
            return change_text(change)
    return f"after tick {change.tick_id:,}: {said}"
