"""The finished tables: their columns, and how each column is encoded.

The first five are public: within a schema version none of their columns changes, and a later minor version may add some
at the end, which files of earlier ones lack (`TableSpec.added`). `replay` holds what is needed to step a world again;
`thoughts`, `llm_calls`, `agent_statuses` and `insights` the reports of its agents; `needs` the needs of
actors whenever they changed; `inventories` which items were held; `gifts` each gift for both sides; `rule_events` goals
reached and what rules of the user's own did. Runs of earlier versions lack the last five.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import pyarrow as pa

_DELTA = "DELTA_BINARY_PACKED"
_I8, _I16, _I32, _I64 = pa.int8(), pa.int16(), pa.int32(), pa.int64()
_U8, _F64, _TEXT = pa.uint8(), pa.float64(), pa.string()


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table: its columns, and how each is encoded.

    `chunks` makes most columns of the two largest tables, in the same encodings.
    """

    name: str
    schema: pa.Schema
    delta: tuple[str, ...] = ()  # columns written as differences
    plain: tuple[str, ...] = ()  # columns written plain; all others have a dictionary
    added: tuple[str, ...] = ()  # columns that files of earlier versions lack; they read as nulls

    @property
    def file_name(self) -> str:
        """The name of its file."""
        return f"{self.name}.parquet"

    @property
    def dictionary(self) -> tuple[str, ...]:
        """The columns that have a dictionary."""
        return tuple(name for name in self.schema.names if name not in self.delta and name not in self.plain)

    def part(self, names: Iterable[str]) -> "TableSpec":
        """Return a table with some of its columns, in this order."""
        return replace(self, schema=pa.schema([self.schema.field(name) for name in names]))

    @property
    def written_schema(self) -> pa.Schema:
        """The columns as passed to the writer: texts as dictionaries where they are written so."""
        kind = pa.dictionary(_I32, _TEXT)
        return pa.schema(
            [
                column.with_type(kind) if column.type == _TEXT and column.name in self.dictionary else column
                for column in self.schema
            ]
        )


def _columns(needed: str, /, **kinds: pa.DataType) -> pa.Schema:
    """Return `run_id` and `tick_id`, with which all tables begin, then columns in order.

    The first two and those named in `needed` are never null.
    """
    names = {"run_id", "tick_id", *needed.split()}
    columns = {"run_id": _TEXT, "tick_id": _I64, **kinds}
    return pa.schema([pa.field(name, kind, nullable=name not in names) for name, kind in columns.items()])


TICKS = TableSpec(
    "ticks",
    _columns(
        "sim_time_ms world_version",
        sim_time_ms=_I64,
        world_version=_TEXT,
        left_out_reports=_I64,  # reports of agents that could not be kept
    ),
    delta=("tick_id", "sim_time_ms"),
    added=("left_out_reports",),
)
ACTOR_STATE = TableSpec(
    "actor_state",
    _columns(
        "actor_id x y status_bits",
        actor_id=_TEXT,
        x=_I32,
        y=_I32,
        status_bits=_I32,
        facing=_I8,
    ),
    delta=("tick_id", "x", "y"),
)
ACTION_RESULTS = TableSpec(
    "action_results",
    _columns(
        "actor_id action_type ok",
        actor_id=_TEXT,
        action_type=_TEXT,
        target_id=_TEXT,
        ok=pa.bool_(),
        reason=_TEXT,
        effects_json=_TEXT,
        verb=_TEXT,  # of the intent: Interact
        kind=_TEXT,  # of the intent; null if there is none, or it is of no known kind
        target=_TEXT,  # that the intent names: an object, or the actor of Give
        item=_TEXT,  # that the intent names
        amount=_I32,  # that the intent names, whatever came of it
    ),
    plain=("ok",),
    added=("verb", "kind", "target", "item", "amount"),
)
UTTERANCES = TableSpec(
    "utterances",
    _columns(
        "actor_id channel text x y",
        actor_id=_TEXT,
        channel=_TEXT,
        text=_TEXT,
        x=_I32,
        y=_I32,
    ),
    delta=("tick_id", "x", "y"),
    plain=("text",),
)
OBJECT_DELTAS = TableSpec(
    "object_deltas",
    _columns(
        "object_id field new_value_json",
        object_id=_TEXT,
        field=_TEXT,
        new_value_json=_TEXT,
    ),
    delta=("tick_id",),
)
REPLAY = TableSpec(
    "replay",
    _columns(
        "state_hash intents asked results_from results said_from said deltas_from deltas",
        state_hash=pa.binary(),
        controlled=pa.binary(),  # actor row -> bit; null: all
        intents=_I32,
        askers=pa.binary(),  # actor row -> bit
        asked=pa.binary(),  # the intents and the orders of operators, as in the log
        results_from=_I64,  # rows in action_results
        results=_I32,
        said_from=_I64,  # rows in utterances
        said=_I32,
        deltas_from=_I64,  # rows in object_deltas
        deltas=_I32,
    ),
    delta=("tick_id", "intents", "results_from", "results", "said_from", "said", "deltas_from", "deltas"),
    plain=("state_hash", "controlled", "askers", "asked"),
)
THOUGHTS = TableSpec(
    "thoughts",
    _columns(
        "actor_id thought",
        actor_id=_TEXT,
        thought=_I64,
        own_entity_id=_I64,
        asked_tick=_I64,
        answered_tick=_I64,
        system_prompt=_TEXT,
        user_message=_TEXT,
        thinking=_TEXT,
        reply=_TEXT,
        directives_json=_TEXT,
        error=_TEXT,
    ),
    delta=("tick_id", "thought", "asked_tick", "answered_tick", "own_entity_id"),
    plain=("user_message", "thinking", "reply", "directives_json", "error"),
)
LLM_CALLS = TableSpec(
    "llm_calls",
    _columns(
        "actor_id thought",
        actor_id=_TEXT,
        thought=_I64,
        client=_TEXT,
        model=_TEXT,
        provider=_TEXT,
        attempts=_I64,
        prompt_tokens=_I64,
        completion_tokens=_I64,
        latency_s=_F64,
        queued_s=_F64,
        cost_usd=_F64,
        error_type=_TEXT,
        late=pa.bool_(),  # whether the reply took more ticks than the world's rule gives a thought
        kind=_TEXT,  # the faculty that asked; empty: it asked for a plan
        cached_tokens=_I64,  # of the prompt, that the endpoint had read before
    ),
    delta=("tick_id", "thought", "attempts", "prompt_tokens", "completion_tokens", "cached_tokens"),
    plain=("latency_s", "queued_s", "cost_usd", "late"),
    added=("late", "kind", "cached_tokens"),
)
AGENT_STATUSES = TableSpec(
    "agent_statuses",
    _columns(
        "actor_id state",
        actor_id=_TEXT,
        state=_TEXT,
        detail=_TEXT,
        observations=_I64,
        intents=_I64,
        refused=_I64,
        thoughts=_I64,
        failed_thoughts=_I64,
        turns=_TEXT,  # what it did in each tick since the last status, up to and with tick_id
        dropped_reports=_I64,  # that its process could not send so far
        program=_TEXT,  # of its process, in the first status after a start
    ),
    delta=("tick_id", "observations", "intents", "refused", "thoughts", "failed_thoughts"),
    plain=("detail", "turns", "dropped_reports"),
    added=("turns", "dropped_reports", "program"),
)
INSIGHTS = TableSpec(
    "insights",
    _columns(
        "actor_id whole",
        actor_id=_TEXT,
        whole=pa.bool_(),
        tree_json=_TEXT,  # [[depth, text], ...]
        node_statuses=pa.binary(),  # node -> 0: did not run, 1: success, 2: failure, 3: running; null: as before
        board_json=_TEXT,  # {key: value}
        gone_keys_json=_TEXT,
        memories_json=_TEXT,  # [[tick, text, about, importance], ...]
    ),
    delta=("tick_id",),
    plain=("whole", "node_statuses", "board_json", "gone_keys_json", "memories_json"),
)
NEEDS = TableSpec(
    "needs",
    _columns(
        "actor_id energy hunger",
        actor_id=_TEXT,
        energy=_I16,
        hunger=_I16,
    ),
    delta=("tick_id",),
)


def needs_spec(own_needs: Sequence[str]) -> TableSpec:
    """Return the table of needs of a world, with a column for each need that its scenario declares."""
    own = [pa.field(f"own_{name}", _I16, nullable=False) for name in own_needs]
    return replace(NEEDS, schema=pa.schema([*NEEDS.schema, *own]))


INVENTORIES = TableSpec(
    "inventories",
    _columns(
        "holder_id item quantity",
        holder_id=_TEXT,  # an actor, an object with stock, or the ground of a tile
        item=_TEXT,
        quantity=_I64,  # after the tick
    ),
    delta=("tick_id", "quantity"),
)
GIFTS = TableSpec(
    "gifts",
    _columns(
        "actor_id side other_id item amount",
        actor_id=_TEXT,
        side=_TEXT,  # given, received
        other_id=_TEXT,
        item=_TEXT,
        amount=_I64,
    ),
    delta=("tick_id", "amount"),
)
RULE_EVENTS = TableSpec(
    "rule_events",
    _columns(
        "event name score ends own text",
        event=_I32,  # its number in the tick, from 0; each of its actors has a row
        name=_TEXT,  # of the goal, or of the rule
        actor_id=_TEXT,  # null: the world as a whole
        score=_I64,  # for this actor, or for the world
        ends=pa.bool_(),  # whether the run ended with it
        own=pa.bool_(),  # whether it is of a rule of the user's own, not a goal
        text=_TEXT,
        effects_json=_TEXT,
    ),
    delta=("tick_id", "event", "score"),
    plain=("ends", "own", "text"),
)
ADDED = frozenset(  # runs of earlier versions lack these
    spec.name for spec in (INSIGHTS, NEEDS, INVENTORIES, GIFTS, RULE_EVENTS)
)
FINISHED = MappingProxyType(
    {
        spec.name: spec
        for spec in (
            TICKS,
            ACTOR_STATE,
            ACTION_RESULTS,
            UTTERANCES,
            OBJECT_DELTAS,
            REPLAY,
            THOUGHTS,
            LLM_CALLS,
            AGENT_STATUSES,
            INSIGHTS,
            NEEDS,
            INVENTORIES,
            GIFTS,
            RULE_EVENTS,
        )
    }
)
ENCODING = _DELTA
