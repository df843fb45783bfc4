"""The changes at which runs branch, as the options of `tickmind branch` that make them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
