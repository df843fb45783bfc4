from dataclasses import replace

import numpy as np
import pytest
from tests.kits.wire_sample_columns import BOUNDS, ColumnSamples

from tickmind.protocol import (
    ACTION_CODES,
    REASON_CODES,
    UNKNOWN,
    UNUSED,
    ActionType,
    IntentColumns,
    Reason,
    ResultDetail,
)
from tickmind.wire import MessageError, columns
from tickmind.wire.columns.intents import decode_intent_batch, encode_intent_batch, refused_rows

ILLEGAL, TOO_LONG = REASON_CODES[Reason.ILLEGAL_ACTION], REASON_CODES[Reason.TEXT_TOO_LONG]


def intents(rows, texts=None):
    """Columns of (action, direction, kind, amount, target), one for each actor from row 0 on."""
    table = np.array(rows, np.int64).reshape(len(rows), 5)
    return IntentColumns(
        actor=np.arange(len(rows), dtype=np.int32),
        action=table[:, 0].astype(np.uint8),
        direction=table[:, 1].astype(np.int8),
        kind=table[:, 2].astype(np.int32),
        amount=table[:, 3].astype(np.int32),
        target=table[:, 4].astype(np.int32),
        texts=texts or {},
    )


def code(action):
    return ACTION_CODES[action]


_ = UNUSED


@pytest.mark.parametrize(
    "row",
    [
        (code(ActionType.WAIT), _, _, _, _),
        (code(ActionType.MOVE), 7, _, _, _),
        (code(ActionType.PICKUP), _, 2, 1, _),
        (code(ActionType.USE), _, UNKNOWN, 5, _),
        (code(ActionType.INTERACT), _, 3, _, 19),
        (code(ActionType.GIVE), _, 0, 1, 49),
        (code(ActionType.GIVE), _, 0, 1, UNKNOWN),
        (code(ActionType.SLEEP), _, _, _, _),
    ],
)
def test_a_legal_intent_passes(row):
    batch = decode_intent_batch(encode_intent_batch(3, intents([row])), BOUNDS)
    assert (len(batch.intents), len(batch.refused)) == (1, 0)
    assert not len(refused_rows(intents([row]), BOUNDS))


@pytest.mark.parametrize(
    "row",
    [
        (10, _, _, _, _),
        (255, _, _, _, _),
        (code(ActionType.WAIT), 0, _, _, _),
        (code(ActionType.WAIT), _, 0, _, _),
        (code(ActionType.WAIT), _, _, 1, _),
        (code(ActionType.WAIT), _, _, _, UNKNOWN),
        (code(ActionType.MOVE), 8, _, _, _),
        (code(ActionType.MOVE), _, _, _, _),
        (code(ActionType.PICKUP), _, 3, 1, _),
        (code(ActionType.PICKUP), _, _, 1, _),
        (code(ActionType.PICKUP), _, 0, 0, _),
        (code(ActionType.PICKUP), _, 0, 2_000_000_001, _),
        (code(ActionType.INTERACT), _, 4, _, 0),
        (code(ActionType.INTERACT), _, 0, _, 20),
        (code(ActionType.INTERACT), _, 0, _, _),
        (code(ActionType.GIVE), _, 0, 1, 50),
        (code(ActionType.SAY), _, _, _, _),
    ],
)
def test_an_illegal_intent_is_refused_alone(row):
    wait = (code(ActionType.WAIT), _, _, _, _)
    sent = intents([wait, row, wait])
    batch = decode_intent_batch(encode_intent_batch(3, sent), BOUNDS)
    assert refused_rows(sent, BOUNDS).tolist() == [1]
    assert batch.intents.actor.tolist() == [0, 2]
    assert (batch.refused.tolist(), batch.refused_reason.tolist()) == ([1], [ILLEGAL])


@pytest.mark.parametrize("said", [("radio", "hi"), ("local", ""), ("local", " ")])
def test_speech_without_a_text_or_on_an_unknown_channel_is_refused(said):
    row = (code(ActionType.SAY), _, _, _, _)
    batch = decode_intent_batch(encode_intent_batch(3, intents([row], {0: said})), BOUNDS)
    assert (batch.intents.texts, batch.refused_reason.tolist()) == ({}, [ILLEGAL])


def test_texts_move_with_their_speakers_when_others_are_refused():
    say = (code(ActionType.SAY), _, _, _, _)
    texts = {0: ("local", "x" * 501), 1: ("local", "one"), 2: ("", "two"), 4: ("local", "four")}
    rows = [say, say, say, (99, _, _, _, _), say]
    sent = intents(rows, texts)
    batch = decode_intent_batch(encode_intent_batch(3, sent), BOUNDS)
    assert refused_rows(sent, BOUNDS).tolist() == [0, 2, 3]
    assert batch.intents.actor.tolist() == [1, 4]
    assert batch.intents.texts == {0: ("local", "one"), 1: ("local", "four")}
    assert batch.refused.tolist() == [0, 2, 3]
    assert batch.refused_reason.tolist() == [TOO_LONG, ILLEGAL, ILLEGAL]


@pytest.mark.parametrize("rows", [[1, 0], [0, 0], [-1, 0], [0, 50]])
def test_rows_that_do_not_ascend_or_do_not_exist_spoil_the_frame(rows):
    wait = (code(ActionType.WAIT), _, _, _, _)
    columns_of = replace(intents([wait, wait]), actor=np.array(rows, np.int32))
    with pytest.raises(MessageError, match="ascending rows"):
        decode_intent_batch(encode_intent_batch(3, columns_of), BOUNDS)


def test_a_text_for_somebody_who_does_not_speak_spoils_the_frame():
    message = encode_intent_batch(3, intents([(code(ActionType.WAIT), _, _, _, _)], {0: ("local", "hi")}))
    with pytest.raises(MessageError, match="those that speak"):
        decode_intent_batch(message, BOUNDS)


def test_columns_of_different_lengths_spoil_the_frame():
    message = encode_intent_batch(3, intents([(code(ActionType.WAIT), _, _, _, _)] * 2))
    message.intents.kind = message.intents.kind[:-1]
    with pytest.raises(MessageError, match="kind"):
        decode_intent_batch(message, BOUNDS)


def test_a_column_of_another_type_is_not_written():
    wrong = replace(ColumnSamples(1).observation_columns(3), x=np.zeros(3, np.int64))
    with pytest.raises(MessageError, match="int32"):
        columns.encode_observation_columns(wrong)


def test_columns_are_little_endian_bytes():
    sample = replace(intents([(code(ActionType.WAIT), _, _, _, _)] * 2), actor=np.array([1, 258], np.int32))
    assert encode_intent_batch(3, sample).intents.actor == b"\x01\x00\x00\x00\x02\x01\x00\x00"


@pytest.mark.parametrize(
    ("field", "index", "value"),
    [
        ("x", 0, 30),
        ("x", 0, -1),
        ("status_bits", 1, 8),
        ("facing", 2, 8),
        ("facing", 2, -1),
        ("energy", 0, 1001),
        ("result_reason", 0, 200),
        ("entity_offset", 0, 1),
        ("entity_offset", 1, 10_000),
        ("heard_offset", 3, 99),
        ("actor", 1, 0),
        ("actor", 2, 50),
    ],
)
def test_numbers_beyond_the_world_are_refused(field, index, value):
    sample = ColumnSamples(2).observation_columns(3)
    message = columns.encode_observation_columns(sample)
    assert columns.decode_observation_columns(message, BOUNDS)
    column = getattr(sample, field).copy()
    column[index] = value
    setattr(message, field, column.tobytes())
    with pytest.raises(MessageError, match=field):
        columns.decode_observation_columns(message, BOUNDS)


@pytest.mark.parametrize("rows", [[1, 0], [0, 0], [-1], [50]])
def test_details_of_actions_are_of_actors_of_the_world_in_their_order(rows):
    details = tuple(ResultDetail(row, "tree:1") for row in rows)
    sample = replace(ColumnSamples(2).observation_columns(3), details=details)
    with pytest.raises(MessageError, match="details"):
        columns.decode_observation_columns(columns.encode_observation_columns(sample), BOUNDS)


def test_masks_have_no_bits_beyond_the_window():
    sample = replace(ColumnSamples(2).observation_columns(1), radius=0, visible=np.array([[2]], np.uint64))
    with pytest.raises(MessageError, match="beyond the window"):
        columns.decode_observation_columns(columns.encode_observation_columns(sample), BOUNDS)


@pytest.mark.parametrize("places", [[(1, 0), (0, 0)], [(0, 1), (5, 0)], [(2, 2), (2, 2)]])
def test_entities_that_are_not_in_the_order_of_the_map_are_refused(places):
    seen = ColumnSamples(3).observation_columns(2)
    dx, dy = np.array(places, np.int8).T.copy()
    zeros = np.zeros(2, np.uint8)
    entities = {
        "entity": np.arange(2, dtype=np.int32),
        "entity_dx": dx,
        "entity_dy": dy,
        "entity_facing": zeros.view(np.int8),
        **dict.fromkeys(("entity_status", "entity_flags", "entity_action", "entity_reason"), zeros),
    }
    for offsets, refused in (([0, 2, 2], True), ([0, 1, 2], False)):
        message = columns.encode_observation_columns(
            replace(seen, entity_offset=np.array(offsets, np.int64), **entities)
        )
        if refused:
            with pytest.raises(MessageError, match="order of the map"):
                columns.decode_observation_columns(message, BOUNDS)
        else:
            columns.decode_observation_columns(message, BOUNDS)
