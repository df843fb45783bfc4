"""Step codes: what one actor did in one tick, in one byte.

Most actors of a crowd walk, wait, or bump into others. Each of these is one code, for the new place, the facing and the
result of the intent:

    0       nothing is new, and there was no intent
    1-8     went one tile in direction code - 1, and faces that way: Move, all well
    9-72    tried to go in direction (code - 9) % 8, faces that way, and stayed: Move, for MOVE_REASONS[(code - 9) // 8]
    73      waited on purpose: Wait, all well
    255     anything else: the place is in a section of its own, and so is the result, if there is one

An actor with any other result has a code for its place and an entry in the list of results. The place of one that is
away is -1, -1; no step leads there or back.
"""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import ACTION_CODES, REASON_CODES, ActionType, ActorColumns, Reason, ResultColumns

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, UInt8

NOTHING = 0
FIRST_STEP = 1
FIRST_FAILED = 9
WAITED = 73
OTHER = 255
MOVE_REASONS = (
    Reason.OUT_OF_BOUNDS,
    Reason.NOT_WALKABLE,
    Reason.ILLEGAL_DIAGONAL,
    Reason.TILE_CONTESTED,
    Reason.SWAP,
    Reason.CYCLE,
    Reason.OCCUPIED,
    Reason.BLOCKED_BY_FAILED_MOVE,
)

_MOVE = ACTION_CODES[ActionType.MOVE]
_WAIT = ACTION_CODES[ActionType.WAIT]
_NONE = 255  # no result
RARE = 15  # the number of all codes that have none of their own
# (dy + 1) * 3 + dx + 1 -> direction; the middle is none
_WAY = np.array([7, 0, 1, 6, 255, 2, 5, 4, 3], dtype=np.uint8)
# code of a reason -> first step code of moves that failed for it; 0 if there is none
_FAILED = np.zeros(256, dtype=np.uint8)
for _at, _reason in enumerate(MOVE_REASONS):
    _FAILED[REASON_CODES[_reason]] = FIRST_FAILED + 8 * _at


def step_codes(old: ActorColumns, new: ActorColumns, results: ResultColumns) -> "tuple[UInt8, Bool]":
    """Return actor row -> step code; and place in `results` -> whether a step code covers that result."""
    count = len(new.x)
    action = np.full(count, _NONE, dtype=np.uint8)
    reason = np.zeros(count, dtype=np.uint8)
    action[results.actor] = results.action
    reason[results.actor] = results.reason

    dx, dy = new.x - old.x, new.y - old.y
    stayed = (dx == 0) & (dy == 0)
    near = (np.abs(dx) <= 1) & (np.abs(dy) <= 1) & ~stayed & old.present & new.present
    way = np.where(near, _WAY[np.where(near, (dy + 1) * 3 + dx + 1, 4)], OTHER)
    same_facing = new.facing == old.facing
    facing = new.facing.astype(np.uint8)

    code = np.where(stayed & same_facing, NOTHING, OTHER).astype(np.uint8)
    went = near & (facing == way) & (action == _MOVE) & (reason == 0)
    code[went] = FIRST_STEP + way[went]
    failed_from = _FAILED[reason]
    failed = stayed & (action == _MOVE) & (failed_from > 0) & (facing < 8)
    code[failed] = failed_from[failed] + facing[failed]
    waited = stayed & same_facing & (action == _WAIT) & (reason == 0)
    code[waited] = WAITED
    return code, (went | failed | waited)[results.actor]


def pack_steps(codes: "UInt8") -> tuple[bytes, bytes]:
    """Pack all codes in half a byte each: the numbers of the 15 most common codes, and the other codes."""
    common = np.argsort(-np.bincount(codes, minlength=256), kind="stable")[:RARE].astype(np.uint8)
    numbers = np.full(256, RARE, dtype=np.uint8)
    numbers[common] = np.arange(RARE, dtype=np.uint8)
    numbered = numbers[codes]
    even = np.zeros(len(codes) + len(codes) % 2, dtype=np.uint8)
    even[: len(codes)] = numbered
    table = np.zeros(16, dtype=np.uint8)
    table[:RARE] = common
    return table.tobytes() + (even[0::2] | even[1::2] << 4).tobytes(), codes[numbered == RARE].tobytes()
