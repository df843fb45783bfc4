"""Random columns for a world of given bounds, all of them legal."""

import random
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.kits.wire_samples import Samples

from tickmind.protocol import (
    ACTION_CODES,
    ACTION_TYPES,
    REASONS,
    UNKNOWN,
    UNUSED,
    ActionType,
    ActorColumns,
    Effect,
    IntentColumns,
    NeedColumns,
    ObjectDelta,
    ObservationColumns,
    ResultColumns,
    ResultDetail,
    RuleEvent,
    Utterance,
)
from tickmind.protocol.intent import LOCAL
from tickmind.wire.columns.observations import mask_words
from tickmind.wire.columns.packing import ColumnBounds
from tickmind.wire.messages.frames import (
    AckBatch,
    BatchDown,
    BatchOpen,
    BatchOpened,
    BatchUp,
    Closed,
    IntentBatch,
    KeepAlive,
    LeasesLost,
    ObservationBatch,
    Release,
)
from tickmind.wire.messages.viewing import GroundColumns, ObjectColumns, ViewerEvent, ViewerSnapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tickmind.protocol.columns import Int8, Int32, Int64, UInt8

BOUNDS = ColumnBounds(actors=50, objects=20, item_kinds=3, verbs=4, kinds=6, states=5, width=30, height=40, own_needs=2)
CONTAINER_ACTIONS = (ActionType.PUT, ActionType.TAKE, ActionType.BUY, ActionType.SELL)
ACTOR_ACTIONS = (ActionType.GIVE, ActionType.OFFER, ActionType.ACCEPT, ActionType.DECLINE)
ITEM_ACTIONS = (
    ActionType.PICKUP,
    ActionType.USE,
    ActionType.DROP,
    ActionType.GIVE,
    *CONTAINER_ACTIONS,
    ActionType.OFFER,
)


class ColumnSamples(Samples):
    """Makes columns besides what `Samples` makes."""

    def __init__(self, seed: int | random.Random = 0, bounds: ColumnBounds = BOUNDS) -> None:
        super().__init__(seed)
        self.bounds = bounds
        self._np = np.random.default_rng(self.rng.getrandbits(64))

    def rows(self, bound: int, most: int = 12) -> "Int32":
        """Ascending rows."""
        size = min(self.rng.randint(0, most), bound)
        return np.sort(self._np.choice(bound, size, replace=False)).astype(np.int32)

    def numbers(self, dtype: Any, n: int, low: int, high: int) -> "NDArray[Any]":
        """Numbers from `low` up to, but not including, `high`."""
        return self._np.integers(low, high, n, dtype=dtype) if n else np.empty(0, dtype)

    def offsets(self, n: int, most: int = 6) -> "Int64":
        """Where the lists of n observers begin."""
        lengths = self._np.integers(0, most + 1, n) if n else np.empty(0, np.int64)
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    def utterance(self) -> Utterance:
        """Something that was said."""
        return Utterance(self.name(), self.name(), self.text(), self.side(), self.side())

    def reasons(self, n: int, low: int = 0) -> "UInt8":
        """Codes of reasons."""
        return self.numbers(np.uint8, n, low, len(REASONS))

    def observation_columns(self, n: int | None = None) -> ObservationColumns:
        """The observations of some actors, or of the first n."""
        bounds, radius = self.bounds, self.rng.choice((0, 1, 3, 12, 31))
        actor = self.rows(bounds.actors) if n is None else np.arange(n, dtype=np.int32)
        n = len(actor)
        tiles = (2 * radius + 1) ** 2
        words = mask_words(radius)
        visible = self.numbers(np.uint64, n * words, 0, 2**64 - 1).reshape(n, words)
        visible[:, -1] >>= np.uint64(64 * words - tiles)
        entity_offset, entity = self._lists(n, bounds.actors, min(6, tiles))
        entity_dx, entity_dy = self._places(entity_offset, radius)
        left_offset, left = self._lists(n, bounds.actors)
        object_offset, objects = self._lists(n, bounds.objects)
        ground_offset, heard_offset = self.offsets(n), self.offsets(n, 2)
        utterances = (self.utterance(), *self.several(self.utterance))
        seen, items = len(entity), int(ground_offset[-1])
        return ObservationColumns(
            tick_id=self.number(2**63 - 1),
            deadline_ms=self.number(86_400_000),
            radius=radius,
            actor=actor,
            x=self.numbers(np.int32, n, 0, bounds.width),
            y=self.numbers(np.int32, n, 0, bounds.height),
            status_bits=self.numbers(np.int32, n, 0, 8),
            facing=self.numbers(np.int8, n, 0, 8),
            energy=self.numbers(np.int32, n, 0, 1001),
            hunger=self.numbers(np.int32, n, 0, 1001),
            inventory=self.numbers(np.uint16, n * bounds.item_kinds, 0, 65_535).reshape(n, bounds.item_kinds),
            result_action=self.numbers(np.uint8, n, 0, len(ACTION_TYPES)),
            result_reason=self.reasons(n),
            visible=visible,
            entity_offset=entity_offset,
            entity=entity,
            entity_dx=entity_dx,
            entity_dy=entity_dy,
            entity_status=self.numbers(np.uint8, seen, 0, 8),
            entity_facing=self.numbers(np.int8, seen, 0, 8),
            entity_flags=self.numbers(np.uint8, seen, 0, 4),
            entity_action=self.numbers(np.uint8, seen, 0, len(ACTION_TYPES)),
            entity_reason=self.reasons(seen),
            left_offset=left_offset,
            left=left,
            object_offset=object_offset,
            object=objects,
            object_state=self.numbers(np.uint8, len(objects), 0, bounds.states),
            object_work=self.numbers(np.int32, len(objects), 0, 2**31 - 1),
            object_stock=self.numbers(np.int32, len(objects), 0, 2**31 - 1),
            ground_offset=ground_offset,
            ground_dx=self.numbers(np.int8, items, -31, 32),
            ground_dy=self.numbers(np.int8, items, -31, 32),
            ground_kind=self.numbers(np.uint16, items, 0, bounds.item_kinds),
            ground_amount=self.numbers(np.int64, items, 0, 2**63 - 1),
            heard_offset=heard_offset,
            heard=self.numbers(np.int32, int(heard_offset[-1]), 0, len(utterances)),
            utterances=utterances,
            offers=tuple((place, self.open_offer()) for place in range(n) if self.rng.random() < 0.3),
            own_needs=self._own_needs(np.int32, n),
            placed=tuple((row, row % bounds.width, row % bounds.height) for row in np.unique(objects).tolist()[:3]),
            details=tuple(
                ResultDetail(row, "tree:1" if row % 2 else "", (Effect("inventory.berries", row - 2),))
                for row in range(min(2, bounds.actors))
            ),
        )

    def _own_needs(self, dtype: Any, n: int) -> "NDArray[Any] | None":
        needs = self.bounds.own_needs
        return self.numbers(dtype, n * needs, 0, 1001).reshape(n, needs) if needs else None

    def _lists(self, n: int, bound: int, most: int = 6) -> "tuple[Int64, Int32]":
        lists = [self.rows(bound, most) for _ in range(n)]
        offsets = np.cumsum([0, *(len(rows) for rows in lists)]).astype(np.int64)
        return offsets, np.concatenate([np.empty(0, np.int32), *lists])

    def _places(self, offsets: "Int64", radius: int) -> "tuple[Int8, Int8]":
        """Tiles of a window in the order of the map, for lists that begin there."""
        side = 2 * radius + 1
        counts = np.diff(offsets).tolist()
        tiles = [np.sort(self._np.choice(side * side, count, replace=False)) for count in counts]
        dy, dx = np.divmod(np.concatenate([np.empty(0, np.int64), *tiles]), side)
        return (dx - radius).astype(np.int8), (dy - radius).astype(np.int8)

    def intent_columns(self) -> IntentColumns:
        """The intents of some actors."""
        bounds = self.bounds
        actor = self.rows(bounds.actors)
        columns: dict[str, list[int]] = {name: [] for name in ("action", "direction", "kind", "amount", "target")}
        texts: dict[int, tuple[str, str]] = {}
        wanted: dict[int, tuple[int, int]] = {}
        for place in range(len(actor)):
            action = self.rng.choice(ACTION_TYPES)
            works, gives, of_items = action is ActionType.INTERACT, action in ACTOR_ACTIONS, action in ITEM_ACTIONS
            builds = action is ActionType.BUILD
            kinds = bounds.verbs if works else bounds.item_kinds if of_items else bounds.kinds if builds else 0
            on_objects = works or action in CONTAINER_ACTIONS
            targets = bounds.objects if on_objects else bounds.actors if gives else 0
            columns["action"].append(ACTION_CODES[action])
            columns["direction"].append(self.direction() if builds or action is ActionType.MOVE else UNUSED)
            columns["kind"].append(self._code(kinds))
            columns["amount"].append(self.number(2_000_000_000, 1) if of_items else UNUSED)
            columns["target"].append(self._code(targets))
            if action is ActionType.SAY:
                texts[place] = (LOCAL, self.speech())
            if action is ActionType.OFFER and self.rng.random() < 0.7:
                wanted[place] = self._code(bounds.item_kinds), self.number(2_000_000_000, 1)
        types = {"action": np.uint8, "direction": np.int8}
        arrays: dict[str, Any] = {name: np.array(found, types.get(name, np.int32)) for name, found in columns.items()}
        return IntentColumns(actor=actor, texts=texts, wanted=wanted, **arrays)

    def _code(self, bound: int) -> int:
        return self.rng.choice((UNKNOWN, self.rng.randrange(bound))) if bound else UNUSED

    def intent_batch(self) -> IntentBatch:
        """Intents of one tick, none of them refused."""
        nobody = np.empty(0, np.int32), np.empty(0, np.uint8)
        return IntentBatch(self.number(2**63 - 1), self.intent_columns(), *nobody)

    def batch_up(self) -> BatchUp:
        """A frame from a host."""
        opening = BatchOpen(self.name(), self.rows(self.bounds.actors), self.rng.choice((None, self.secret())))
        return self.rng.choice((opening, self.intent_batch(), KeepAlive(), Release()))

    def batch_down(self) -> BatchDown:
        """A frame from the world to a host."""
        rows, refused = self.rows(self.bounds.actors), self.rows(self.bounds.actors)
        reasons = self.reasons(len(refused), 1)
        parts = self.number(4096, 1)
        epochs = self.numbers(np.int64, len(rows), 0, 2**62)
        return self.rng.choice(
            (
                BatchOpened(self.secret(), self.number(86_400_000, 1), rows, epochs, refused, reasons, self.run()),
                ObservationBatch(self.number(parts - 1), parts, self.observation_columns()),
                AckBatch(self.number(2**63 - 1), self.number(self.bounds.actors), refused, reasons),
                LeasesLost(refused, reasons),
                Closed(),
            )
        )

    def _actors(self) -> "tuple[Int32, ActorColumns]":
        actor = self.rows(self.bounds.actors)
        n = len(actor)
        return actor, ActorColumns(
            x=self.numbers(np.int32, n, 0, self.bounds.width),
            y=self.numbers(np.int32, n, 0, self.bounds.height),
            status_bits=self.numbers(np.int32, n, 0, 8),
            facing=self.numbers(np.int8, n, 0, 8),
        )

    def _results(self) -> ResultColumns:
        actor = self.rows(self.bounds.actors)
        n = len(actor)
        details = self.rows(n, 4).tolist() if n else []
        return ResultColumns(
            actor=actor,
            action=self.numbers(np.uint8, n, 0, len(ACTION_TYPES)),
            reason=self.reasons(n),
            target_ids={place: self.name() for place in details},
            effects={place: (self.effect(),) for place in details},
        )

    def viewer_event(self) -> ViewerEvent:
        """What happened in one tick."""
        actor, state = self._actors()
        return ViewerEvent(
            tick_id=self.number(2**63 - 1),
            sim_time_ms=self.number(2**63 - 1),
            actor=actor,
            state=state,
            results=self._results(),
            utterances=self.several(self.utterance),
            object_deltas=self.several(lambda: ObjectDelta(self.name(), self.name(), self.rng.choice((-5, "open")))),
            lifecycle=self.several(self.lifecycle),
            thoughts=self.several(self.thought_report, 1),
            statuses=self.several(self.agent_status),
            insights=self.several(self.insight, 2),
            needs=self._needs(),
            rule_events=self.several(self.rule_event),
        )

    def rule_event(self) -> RuleEvent:
        """A goal that was reached, or what a rule did."""
        return RuleEvent(
            name=self.name(),
            actor_ids=self.several(self.name),
            score=self.number(2**62) - 2**61,
            ends=self.rng.random() < 0.5,
            own=self.rng.random() < 0.5,
            text=self.rng.choice(("", "for the bread")),
            effects=self.several(self.effect),
        )

    def _needs(self) -> NeedColumns | None:
        actor = self.rows(self.bounds.actors)
        energy, hunger = (self.numbers(np.int16, len(actor), 0, 1001) for _ in range(2))
        own = self._own_needs(np.int16, len(actor))
        return self.rng.choice((None, NeedColumns(actor, energy, hunger, own)))

    def _object_places(self, n: int) -> dict[str, "Int32"]:
        if not n or self.rng.random() < 0.5:
            return {}
        sides = {"x": self.bounds.width, "y": self.bounds.height}
        return {name: self.numbers(np.int32, n, -1, side) for name, side in sides.items()}

    def snapshot(self) -> ViewerSnapshot:
        """The world after a tick."""
        actor, state = self._actors()
        row = self.rows(self.bounds.objects)
        n, items = len(row), self.rng.randint(0, 5)
        objects = ObjectColumns(
            row=row,
            state=self.numbers(np.uint8, n, 0, self.bounds.states),
            work=self.numbers(np.int32, n, 0, 2**31 - 1),
            stock=self.numbers(np.int32, n, 0, 2**31 - 1),
            **self._object_places(n),
        )
        ground = GroundColumns(
            x=self.numbers(np.int32, items, 0, self.bounds.width),
            y=self.numbers(np.int32, items, 0, self.bounds.height),
            kind=self.numbers(np.uint16, items, 0, self.bounds.item_kinds),
            amount=self.numbers(np.int64, items, 0, 2**63 - 1),
        )
        times = self.number(2**63 - 1), self.number(2**63 - 1)
        run_id = self.rng.choice(("", self.name()))
        return ViewerSnapshot(*times, actor, state, objects, ground, self._needs(), run_id)
