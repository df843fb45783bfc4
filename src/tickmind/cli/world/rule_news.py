"""Lines about goals reached, rules of the user's own and orders of operators, while a world runs."""

from collections.abc import Iterator, Sequence

from tickmind.cli.screen import harmless
from tickmind.protocol import Placement, RuleEvent

MOST_LINES = 100  # of one run; ends and errors are always said
_MOST_NAMES = 5


class RuleNews:
    """Makes the lines about each tick; after many, only those about ends and errors."""

    def __init__(self) -> None:
        self._said = 0

    def lines(self, tick_id: int, events: Sequence[RuleEvent]) -> Iterator[str]:
        """Yield a line for each event of a tick that is worth one."""
        for event in events:
            if event.effects:
                continue  # items that changed hands: the record has them
            if event.ends or (event.own and not event.score):
                yield rule_event_line(tick_id, event)
                continue
            self._said += 1
            if self._said <= MOST_LINES:
                yield rule_event_line(tick_id, event)
            elif self._said == MOST_LINES + 1:
                yield "Further goals and scores are in the record only."


def rule_event_line(tick_id: int, event: RuleEvent) -> str:
    """Return an event as a sentence, such as `Goal both_out reached in tick 37 by mira: the run is over`."""
    by = _names(event.actor_ids)
    each = " each" if len(event.actor_ids) > 1 else ""
    score = f" (score {event.score}{each})" if event.score else ""
    end = ": the run is over" if event.ends else ""
    if event.own:
        to = f" for {by}" if by else ""
        return harmless(f"Rule {event.name} in tick {tick_id:,}{to}: {event.text}{score}{end}.")
    return harmless(f"Goal {event.name} reached in tick {tick_id:,}{f' by {by}' if by else ''}{score}{end}.")


def placement_line(tick_id: int, order: Placement) -> str:
    """Return an order that was carried out as a sentence."""
    what = "left the world" if order.leaves else f"came into the world at ({order.x}, {order.y})"
    return harmless(f"{order.actor_id} {what} in tick {tick_id:,}, by an operator's order.")


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown
