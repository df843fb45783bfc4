"""The ids of branches that were given no name."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tickmind.record import RunStore

_ID_CHARS = 60  # of the parent


def free_branch_id(store: "RunStore", parent: str, tick: int) -> str:
    """Return an id that no run has: the parent's, the tick, and a number if there are others."""
    number, name = 1, (wanted := f"{parent[:_ID_CHARS]}-at-{tick}")
    while store.folder(name).exists():
        number += 1
        name = f"{wanted}-{number}"
    return name
