"""The components of the tactical layer, at most one of each kind per entity. Definitions live in the `AIManager`."""

from dataclasses import dataclass, field

from tickmind.ai.trees.nodes import Status


@dataclass
class BehaviorTree:
    """Run the tree of this name. The system keeps everything else.

    `traced` switches on the record of each node's last status, for drawing; it costs a little.
    """

    tree_name: str
    status: Status | None = None  # what the tree returned last tick
    memory: dict[int, int] = field(default_factory=dict)  # node number -> its state; negative keys survive a halt
    shape: str = ""  # which version of the tree the memory belongs to
    traced: bool = False
    trace: dict[int, Status] = field(default_factory=dict)  # node number -> last status, if traced


@dataclass
class UtilityAgent:
    """Pick an action by the utility selector of this name."""

    selector_name: str
    selected_action: str = ""
    score: float = 0.0


@dataclass
class StateMachine:
    """Run the machine of this name; the empty state means that it has yet to start."""

    machine_name: str
    state: str = ""
    entered_tick: int = 0
