import subprocess
import sys
from dataclasses import FrozenInstanceError
from typing import get_args

import numpy as np
import pytest

from tickmind.base import Secret
from tickmind.protocol import (
    ACTION_CODES,
    ACTION_OF,
    ACTION_TYPES,
    REASON_CODES,
    REASONS,
    Ack,
    ActionType,
    ActorColumns,
    Direction,
    Effect,
    Intent,
    IntentColumns,
    Lease,
    Move,
    Reason,
    ResultColumns,
    TickRecord,
    VisibleTiles,
)
from tickmind.world.kernels.movement import STEP_X, STEP_Y

ACTIONS_EVER = "Wait Move Pickup Use Say Interact Drop Give Sleep Wake Put Take Buy Sell Offer Accept Decline Build"
REASONS_EVER = (
    " late_tick early_tick invalid_lease expired_lease duplicate_intent unknown_entity illegal_action text_too_long"
    " overloaded lease_held stopping out_of_bounds not_walkable illegal_diagonal tile_contested swap cycle occupied"
    " blocked_by_failed_move asleep incapacitated not_asleep too_tired unknown_kind unknown_target nothing_here"
    " not_in_inventory inventory_full not_usable too_far wrong_state missing_item target_occupied closed"
    " not_a_container not_owner container_full not_for_sale no_offer away still_walking already_there none_left played"
)


def test_importing_the_protocol_loads_no_numpy():
    code = "import sys, tickmind.protocol; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"


def test_a_refusal_is_a_value():
    ack = Ack(accepted=False, reason=Reason.LATE_TICK)
    assert (ack.accepted, ack.reason) == (False, "late_tick")
    assert Ack(accepted=True).reason == ""
    assert not Reason.NONE


def test_values_are_frozen():
    with pytest.raises(FrozenInstanceError):
        setattr(Move(Direction.N), "direction", Direction.S)  # noqa: B010 - an assignment would not pass mypy


def test_every_intent_has_its_action_type():
    assert set(ACTION_OF) == set(get_args(Intent))
    assert set(ACTION_OF.values()) == set(ActionType)
    assert all(kind.__name__ == action for kind, action in ACTION_OF.items())


def test_codes_in_columns_are_those_that_old_runs_have():
    assert " ".join(ACTION_TYPES) == ACTIONS_EVER
    assert " ".join(REASONS) == REASONS_EVER
    assert REASONS[0] is Reason.NONE
    assert all(REASONS[code] is reason for reason, code in REASON_CODES.items())
    assert all(ACTION_TYPES[code] is action for action, code in ACTION_CODES.items())


def test_directions_step_as_the_kernels_do():
    assert [(way.dx, way.dy) for way in Direction] == list(zip(STEP_X.tolist(), STEP_Y.tolist(), strict=True))
    assert [way.name for way in Direction if way.diagonal] == ["NE", "SE", "SW", "NW"]


def test_a_lease_does_not_show_its_id():
    lease = Lease(Secret("lease-of-nobody-else"), "entity:1", "me", 3, 10_000)
    assert "nobody" not in f"{lease!r} {lease}"
    assert lease.lease_id.reveal() == "lease-of-nobody-else"


def test_tiles_are_told_by_their_place_on_the_map():
    # the window of radius 1 around (5, 7): only the middle and its east
    tiles = VisibleTiles(1, 5, 7, visible=bytes([0b00110000, 0]), walkable=bytes([0b00100000, 0]))
    assert tiles.tiles() == [(5, 7), (6, 7)]
    assert tiles.sees(5, 7)
    assert not tiles.can_walk(5, 7)
    assert tiles.can_walk(6, 7)
    assert not tiles.sees(7, 7)
    assert not tiles.sees(4, 6)


def test_a_record_gives_its_results_names():
    numbers = np.zeros(2, dtype=np.int32)
    rows = np.array([0, 1], dtype=np.int32)
    codes = np.array([ACTION_CODES[ActionType.MOVE], ACTION_CODES[ActionType.USE]], dtype=np.uint8)
    ways = np.zeros(2, dtype=np.int8)
    record = TickRecord(
        tick_id=1,
        sim_time_ms=1000,
        world_version="1.0.0",
        state_hash=b"",
        actor_ids=("a", "b"),
        actor_state=ActorColumns(rows, rows, numbers, ways),
        results=ResultColumns(
            rows, codes, np.array([REASON_CODES[Reason.SWAP], 0], dtype=np.uint8), effects={1: (Effect("hunger", -5),)}
        ),
        utterances=(),
        object_deltas=(),
        intents=IntentColumns(rows, codes, ways, numbers, numbers, numbers, {}),
        controlled=None,
    )
    first, second = record.action_results()
    assert (first.actor_id, first.action_type, first.ok, first.reason) == ("a", ActionType.MOVE, False, Reason.SWAP)
    assert (second.ok, second.effects) == (True, (Effect("hunger", -5),))
    assert len(record.intents) == 2
