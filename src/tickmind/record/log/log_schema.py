"""The tables of the live log. A number and its columns never change; a new table gets a new number.

The common case takes one byte per actor and tick: its step and facing, its intent, and the result. Whatever does not
fit into that byte is a row in a table of its own.
"""

from enum import IntEnum

import pyarrow as pa

_I8, _I16, _I32, _I64 = pa.int8(), pa.int16(), pa.int32(), pa.int64()
_U8, _TEXT = pa.uint8(), pa.string()


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns.items()])


class LogTable(IntEnum):
    """The numbers of the tables."""

    TICK = 1  # one row
    KEYFRAME = 2  # all actors as they are
    STEPS = 3  # all actors: step * 8 + facing
    SOME_STEPS = 4  # the same, of changed actors
    PLACED = 5  # actors whose change is no step
    INTENTS = 6  # a code for each intent, left out if all move ahead; TICK.askers says whose
    SOME_INTENTS = 7  # the same, with the actors' rows
    INTENT_DETAILS = 8  # intents without a code
    INTENT_TEXTS = 9
    RESULTS = 10  # actor and action, where they are not those of the intents
    REASONS = 11  # a reason for each result
    SOME_REASONS = 12  # the same, of failed results
    TARGETS = 13
    EFFECTS = 14
    UTTERANCES = 15
    OBJECT_DELTAS = 16
    THOUGHTS = 17
    STATUSES = 18
    INSIGHTS = 19
    NEEDS = 20  # those that changed
    STATUS_DETAILS = 21  # what most statuses have not
    LATE_THOUGHTS = 22
    LEFT_OUT = 23  # one row, if reports could not be kept
    INTENT_WISHES = 24  # what offers are for
    RULE_EVENTS = 25  # goals reached, and what rules of the user's own did
    OWN_NEEDS = 26  # those that the scenario declares: all of the first row of NEEDS, then all of the next
    PLACEMENTS = 27  # orders of operators
    THOUGHT_KINDS = 28
    CACHED_TOKENS = 29  # of thoughts whose endpoint counts them


SCHEMAS: dict[int, pa.Schema] = {
    LogTable.TICK: pa.schema(
        [
            pa.field("tick_id", _I64, nullable=False),
            pa.field("sim_time_ms", _I64, nullable=False),
            pa.field("world_version", _TEXT, nullable=False),
            pa.field("state_hash", pa.binary(), nullable=False),
            pa.field("intents", _I32, nullable=False),
            pa.field("results", _I32, nullable=False),
            pa.field("askers", pa.binary()),  # actor row -> bit: whether it has an intent; null: all, or SOME_INTENTS
            pa.field("controlled", pa.binary()),  # actor row -> bit; null: all
        ]
    ),
    LogTable.KEYFRAME: _schema(x=_I32, y=_I32, status_bits=_I32, facing=_I8),
    LogTable.STEPS: _schema(code=_U8),
    LogTable.SOME_STEPS: _schema(row=_I32, code=_U8),
    LogTable.PLACED: _schema(row=_I32, x=_I32, y=_I32, status_bits=_I32, facing=_I8),
    LogTable.INTENTS: _schema(code=_U8),
    LogTable.SOME_INTENTS: _schema(row=_I32, code=_U8),
    LogTable.INTENT_DETAILS: _schema(place=_I32, action=_U8, direction=_I8, kind=_I32, amount=_I32, target=_I32),
    LogTable.INTENT_TEXTS: _schema(place=_I32, channel=_TEXT, text=_TEXT),
    LogTable.INTENT_WISHES: _schema(place=_I32, kind=_I32, amount=_I32),
    LogTable.RESULTS: _schema(row=_I32, action=_U8),
    LogTable.REASONS: _schema(reason=_U8),
    LogTable.SOME_REASONS: _schema(place=_I32, reason=_U8),
    LogTable.TARGETS: _schema(place=_I32, target_id=_TEXT),
    LogTable.EFFECTS: _schema(place=_I32, name=_TEXT, value=_I64),
    LogTable.UTTERANCES: _schema(actor_id=_TEXT, channel=_TEXT, text=_TEXT, x=_I32, y=_I32),
    LogTable.OBJECT_DELTAS: pa.schema(
        [
            pa.field("object_id", _TEXT, nullable=False),
            pa.field("field", _TEXT, nullable=False),
            pa.field("number", _I64),  # either this
            pa.field("text", _TEXT),  # or this
        ]
    ),
    LogTable.THOUGHTS: pa.schema(
        [
            pa.field("entity_id", _TEXT, nullable=False),
            pa.field("tick_id", _I64, nullable=False),
            pa.field("own_entity_id", _I64, nullable=False),  # the agent's number for it
            pa.field("asked_tick", _I64, nullable=False),
            pa.field("answered_tick", _I64, nullable=False),
            pa.field("system_prompt", _TEXT, nullable=False),
            pa.field("user_message", _TEXT, nullable=False),
            pa.field("reply", _TEXT, nullable=False),
            pa.field("thinking", _TEXT, nullable=False),
            pa.field("directives_json", _TEXT, nullable=False),
            pa.field("client", _TEXT, nullable=False),
            pa.field("model", _TEXT, nullable=False),
            pa.field("prompt_tokens", _I64),
            pa.field("completion_tokens", _I64),
            pa.field("latency_s", pa.float64(), nullable=False),
            pa.field("cost_usd", pa.float64()),
            pa.field("error_type", _TEXT, nullable=False),
            pa.field("error", _TEXT, nullable=False),
            pa.field("provider", _TEXT, nullable=False),
            pa.field("attempts", _I64, nullable=False),
            pa.field("queued_s", pa.float64()),
        ]
    ),
    LogTable.STATUSES: _schema(
        entity_id=_TEXT,
        tick_id=_I64,
        state=_TEXT,
        detail=_TEXT,
        observations=_I64,
        intents=_I64,
        refused=_I64,
        thoughts=_I64,
        failed_thoughts=_I64,
    ),
    LogTable.INSIGHTS: pa.schema(
        [
            pa.field("entity_id", _TEXT, nullable=False),
            pa.field("tick_id", _I64, nullable=False),
            pa.field("whole", pa.bool_(), nullable=False),
            pa.field("tree_json", _TEXT),
            pa.field("node_statuses", pa.binary()),
            pa.field("board_json", _TEXT),
            pa.field("gone_keys_json", _TEXT),
            pa.field("memories_json", _TEXT),
        ]
    ),
    LogTable.STATUS_DETAILS: _schema(  # the place of the status in its table
        place=_I32, turns=_TEXT, dropped_reports=_I64, program=_TEXT
    ),
    LogTable.LEFT_OUT: _schema(count=_I64),
    LogTable.LATE_THOUGHTS: _schema(place=_I32),  # the place of the thought in its table
    LogTable.THOUGHT_KINDS: _schema(place=_I32, kind=_TEXT),  # of thoughts that were not about a plan
    LogTable.CACHED_TOKENS: _schema(place=_I32, tokens=_I64),  # the place of the thought in its table
    LogTable.NEEDS: _schema(row=_I32, energy=_I16, hunger=_I16),
    LogTable.OWN_NEEDS: _schema(value=_I16),
    LogTable.RULE_EVENTS: _schema(
        name=_TEXT,
        actors=pa.binary(),  # their rows, as int32
        score=_I64,
        ends=pa.bool_(),
        own=pa.bool_(),
        text=_TEXT,
        effects_json=_TEXT,
    ),
    LogTable.PLACEMENTS: _schema(row=_I32, x=_I32, y=_I32, reason=_U8),  # reason: 0 if it happened
}
