"""The tactical layer: what an entity does each tick, by behaviour trees, utility and state machines."""

from tickmind.ai import curves
from tickmind.ai.blackboard import Access, Blackboard, BlackboardView
from tickmind.ai.boards import BoardAccessError, BoardError, BoardManager, Post, UnknownBoardError
from tickmind.ai.components import BehaviorTree, StateMachine, UtilityAgent
from tickmind.ai.draw import draw_tree
from tickmind.ai.errors import AIError, BlackboardAccessError, TreeError, TreeFileError, UnknownNameError
from tickmind.ai.machine import State
from tickmind.ai.manager import AIManager
from tickmind.ai.nodes import (
    Action,
    AlwaysFail,
    Condition,
    Cooldown,
    Inverter,
    Node,
    Parallel,
    Repeater,
    Selector,
    Sequence,
    Status,
    SubTree,
    Succeeder,
    Timeout,
    UtilitySelector,
)
from tickmind.ai.systems import make_bt_system, make_state_system, make_utility_system
from tickmind.ai.utility import Consideration
from tickmind.ai.xml_reader import read_trees
from tickmind.ai.xml_writer import write_trees

__all__ = [
    "AIError",
    "AIManager",
    "Access",
    "Action",
    "AlwaysFail",
    "BehaviorTree",
    "Blackboard",
    "BlackboardAccessError",
    "BlackboardView",
    "BoardAccessError",
    "BoardError",
    "BoardManager",
    "Condition",
    "Consideration",
    "Cooldown",
    "Inverter",
    "Node",
    "Parallel",
    "Post",
    "Repeater",
    "Selector",
    "Sequence",
    "State",
    "StateMachine",
    "Status",
    "SubTree",
    "Succeeder",
    "Timeout",
    "TreeError",
    "TreeFileError",
    "UnknownBoardError",
    "UnknownNameError",
    "UtilityAgent",
    "UtilitySelector",
    "curves",
    "draw_tree",
    "make_bt_system",
    "make_state_system",
    "make_utility_system",
    "read_trees",
    "write_trees",
]
