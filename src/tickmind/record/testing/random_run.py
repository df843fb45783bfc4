"""Random ticks that cover every form of a record, likely or not. Equal seeds give equal ticks."""

import random
from typing import Any

import numpy as np

from tickmind.protocol import (
    ACTION_CODES,
    ACTION_TYPES,
    REASONS,
    UNKNOWN,
    UNUSED,
    ActionInfo,
    ActionType,
    ActorColumns,
    AgentState,
    AgentStatus,
    BoardEntry,
    Effect,
    EntityInfo,
    FloorInfo,
    GroundInfo,
    Insight,
    IntentColumns,
    InventoryInfo,
    KindInfo,
    MemoryNote,
    NeedColumns,
    ObjectDelta,
    ObjectInfo,
    Placement,
    ResultColumns,
    RuleEvent,
    Thought,
    ThoughtReport,
    TickRecord,
    TreeLine,
    Utterance,
    WorldInfo,
)

_MOVE, _OFFER = ACTION_CODES[ActionType.MOVE], ACTION_CODES[ActionType.OFFER]
_WORDS = ("hello", "", "wie geht's?", "木の実", "line\nbreak", '"quoted"', "🦊" * 3, "\x00")


_DOOR = KindInfo(
    "door", ("closed", "open"), (False, True), (True, False), ((ActionInfo("open", "open"),), ()), ("wooden",)
)


class RandomRun:
    """Makes one tick after another. `wild` is the share of actors with unlikely behaviour."""

    def __init__(
        self, seed: int, actors: int = 20, *, side: int = 40, wild: float = 0.1, own_needs: tuple[str, ...] = ()
    ) -> None:
        self._random = random.Random(seed)
        self._rng = np.random.default_rng(seed)
        self._wild = wild
        self._side = side
        self._own_needs = own_needs
        self.tick_id = 0
        self.actor_ids = tuple(f"entity:{row}" for row in range(actors))
        self._x, self._y = (self._rng.integers(0, side, actors).astype(np.int32) for _ in range(2))
        self._status = np.zeros(actors, dtype=np.int32)
        self._facing = self._rng.integers(0, 8, actors).astype(np.int8)

    @property
    def info(self) -> WorldInfo:
        """Return the world's description."""
        side = self._side
        return WorldInfo(
            name="random",
            world_version="1.0.0",
            width=side,
            height=side,
            sight_radius=8,
            hearing_radius=8,
            tick_duration_ms=1000,
            intent_deadline_ms=500,
            floors=(FloorInfo("grass", True, False), FloorInfo("rock", False, True, ("sharp",))),
            floor_codes=bytes(tile % 7 == 0 for tile in range(side * side)),
            item_kinds=("berries", "wood"),
            verbs=("", "open"),
            kinds=(_DOOR,),
            objects=(ObjectInfo("door:1", "door", 3, 4, "closed"), ObjectInfo("door:2", "door", 5, 4, "open", 2)),
            actors=tuple(
                EntityInfo(name, "villager", ("npc",) * (row % 3), row % 2) for row, name in enumerate(self.actor_ids)
            ),
            ground=(GroundInfo(7, 9, "berries", 4), GroundInfo(2, 11, "wood", 1)),
            inventories=tuple(InventoryInfo(name, "wood", row + 1) for row, name in enumerate(self.actor_ids[:2])),
            own_needs=self._own_needs,
        )

    def tick(self) -> TickRecord:
        """Make the next tick."""
        self.tick_id += 1
        intents = self._intents()
        self._change(intents)
        rows, count = intents.actor, len(intents)
        action = np.where(intents.action < len(ACTION_TYPES), intents.action, 0).astype(np.uint8)
        reason = np.zeros(count, dtype=np.uint8)
        share = self._random.choice((0.0, 0.02, 0.5))
        reason[self._rng.random(count) < share] = self._random.randrange(len(REASONS))
        some = [place for place in range(count) if self._random.random() < self._wild]
        return TickRecord(
            tick_id=self.tick_id,
            sim_time_ms=self.tick_id * 1000,
            world_version="1.0.0",
            state_hash=self._rng.bytes(16),
            actor_ids=self.actor_ids,
            actor_state=ActorColumns(self._x, self._y, self._status, self._facing),
            results=ResultColumns(
                rows,
                action,
                reason,
                {place: self._random.choice(("door:1", "entity:1")) for place in some},
                {place: (Effect("hunger", -300), Effect("inventory.berries", place)) for place in some[::2]},
            ),
            utterances=tuple(
                Utterance(self.actor_ids[int(rows[place])], "local", self._random.choice(_WORDS), 1, place)
                for place in intents.texts
            ),
            object_deltas=self._deltas(),
            intents=intents,
            controlled=None if self._random.random() < 0.5 else self._rng.random(len(self.actor_ids)) < 0.9,
            needs=self._needs(),
            rule_events=self._rule_events(),
            placements=self._placements(),
        )

    def _rule_events(self) -> tuple[RuleEvent, ...]:
        if not self.actor_ids or self._random.random() < 0.8:
            return ()
        some = tuple(self.actor_ids[: self._random.randrange(4)])
        effects = (Effect("inventory.wood", self._random.randrange(-3, 4)), Effect("inventory.berries", 1))
        return (
            RuleEvent("both_out", some, 2**40, ends=self._random.random() < 0.5),
            RuleEvent("festival", some[:1], -3, own=True, text=self._random.choice(_WORDS), effects=effects),
            RuleEvent("festival", own=True, text="over"),
        )

    def _placements(self) -> tuple[Placement, ...]:
        if not self.actor_ids or self._random.random() < 0.8:
            return ()
        actor_id = self._random.choice(self.actor_ids)
        return Placement(actor_id), Placement(actor_id, 3, 2**20, self._random.choice(REASONS))

    def _needs(self) -> NeedColumns | None:
        rows = np.flatnonzero(self._rng.random(len(self.actor_ids)) < 0.3).astype(np.int32)
        energy, hunger = (self._rng.integers(0, 1001, len(rows)).astype(np.int16) for _ in range(2))
        own = self._rng.integers(0, 1001, (len(rows), len(self._own_needs))).astype(np.int16)
        return NeedColumns(rows, energy, hunger, own if self._own_needs else None) if len(rows) else None

    def _deltas(self) -> tuple[ObjectDelta, ...]:
        if self._random.random() < 0.5:
            return ()
        values: tuple[int | str, ...] = ("open", 3, -1, "", 2**40)
        return (
            ObjectDelta("door:1", "state", self._random.choice(values)),
            ObjectDelta("ground:7,9", "berries", self._random.randrange(5)),
        )

    def _intents(self) -> IntentColumns:
        actors = len(self.actor_ids)
        share = self._random.choice((0.0, 0.02, 0.6, 1.0))
        rows = np.flatnonzero(self._rng.random(actors) < share).astype(np.int32)
        count = len(rows)
        action = np.full(count, _MOVE, dtype=np.uint8)
        direction = self._rng.integers(0, 8, count).astype(np.int8)
        kind, amount, target = (np.full(count, UNUSED, dtype=np.int32) for _ in range(3))
        texts: dict[int, tuple[str, str]] = {}
        wanted: dict[int, tuple[int, int]] = {}
        for place in range(count):
            if self._random.random() >= self._wild:
                continue
            action[place] = self._random.choice((*range(len(ACTION_TYPES)), 63, 64, 200, 255))
            direction[place] = self._random.choice((UNUSED, 3, 9, -128))
            kind[place] = self._random.choice((UNUSED, UNKNOWN, 0, 1, 2**31 - 1))
            amount[place] = self._random.choice((UNUSED, 0, 1, 2**31 - 1))
            target[place] = self._random.choice((UNUSED, UNKNOWN, 0))
            if self._random.random() < 0.5:
                texts[place] = ("local", self._random.choice(_WORDS))
            if action[place] == _OFFER:
                wanted[place] = (int(kind[place]), int(amount[place]))
        return IntentColumns(rows, action, direction, kind, amount, target, texts, wanted)

    def _change(self, intents: IntentColumns) -> None:
        actors = len(self.actor_ids)
        moves = np.zeros(actors, dtype=np.bool_)
        moves[intents.actor] = self._rng.random(len(intents)) < 0.8
        steps = self._rng.integers(-1, 2, (2, actors)).astype(np.int32) * moves
        wild = self._rng.random(actors) < (self._wild if self._random.random() < 0.3 else 0.0)
        steps[:, wild] = self._rng.integers(-256, 257, (2, int(wild.sum())))
        self._x, self._y = self._x + steps[0], self._y + steps[1]
        self._status = np.where(wild, self._random.choice((0, 1, 5, -1)), self._status).astype(np.int32)
        facing = self._facing.copy()
        plain = (intents.direction >= 0) & (intents.direction < 8)
        facing[intents.actor[plain]] = intents.direction[plain]
        facing[wild] = self._random.choice((-1, 0, 7, 100))
        self._facing = facing

    def thought(self) -> ThoughtReport:
        """Make a random thought."""
        some = self._random.random() < 0.5
        thought = Thought(
            entity_id=self._random.randrange(9),
            asked_tick=self.tick_id,
            answered_tick=self.tick_id + 1,
            system_prompt="You are a villager.",
            user_message=self._random.choice(_WORDS),
            reply="go north",
            thinking=self._random.choice(_WORDS),
            directives={"goal": "eat", "path": [1, 2]} if some else {},
            client="default",
            model="some-model",
            prompt_tokens=12 if some else None,
            completion_tokens=3 if some else None,
            latency_s=0.25,
            cost_usd=0.001 if some else None,
            error_type="" if some else "timeout",
            provider="a",
            attempts=2,
            queued_s=0.5 if some else None,
            cached_tokens=8 if some else None,
        )
        return ThoughtReport(self._random.choice(self.actor_ids), self.tick_id + 1, thought)

    def status(self) -> AgentStatus:
        """Make a random status."""
        return AgentStatus(
            self._random.choice(self.actor_ids), self.tick_id + 1, AgentState.RUNNING, "fine", self.tick_id, 3, 2, 1, 0
        )

    def insight(self) -> Insight:
        """Make a random insight."""
        whole = self._random.random() < 0.5
        word = self._random.choice(_WORDS)
        return Insight(
            self._random.choice(self.actor_ids),
            self.tick_id + 1,
            whole,
            (TreeLine(0, "Selector"), TreeLine(1, word)) if whole else (),
            bytes((3, 2)) if whole else None,
            (BoardEntry(word, '{"goal":"eat","path":[1,2]}'), BoardEntry("__proto__", "null")),
            () if whole else ("old",),
            (MemoryNote(self.tick_id, word, "entity:1", 0.5),),
        )


def differences(one: TickRecord, other: TickRecord) -> list[str]:
    """Return the names of the fields in which two ticks differ; types of columns count."""
    fields = [
        name
        for name in (
            "tick_id",
            "sim_time_ms",
            "world_version",
            "state_hash",
            "utterances",
            "object_deltas",
            "rule_events",
            "placements",
        )
        if getattr(one, name) != getattr(other, name)
    ]
    if tuple(one.actor_ids) != tuple(other.actor_ids):
        fields.append("actor_ids")
    columns = {
        "actor_state": ("x", "y", "status_bits", "facing"),
        "results": ("actor", "action", "reason"),
        "intents": ("actor", "action", "direction", "kind", "amount", "target"),
    }
    for part, names in columns.items():
        mine, theirs = getattr(one, part), getattr(other, part)
        fields += [f"{part}.{name}" for name in names if not _same(getattr(mine, name), getattr(theirs, name))]
    for part, name in (("results", "target_ids"), ("results", "effects"), ("intents", "texts"), ("intents", "wanted")):
        if dict(getattr(getattr(one, part), name)) != dict(getattr(getattr(other, part), name)):
            fields.append(f"{part}.{name}")
    if (one.needs is None) != (other.needs is None):
        fields.append("needs")
    elif one.needs is not None and other.needs is not None:
        names = ("actor", "energy", "hunger", "own")
        fields += [f"needs.{name}" for name in names if not _same(getattr(one.needs, name), getattr(other.needs, name))]
    if (one.controlled is None) != (other.controlled is None) or not _same(one.controlled, other.controlled):
        fields.append("controlled")
    return fields


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return bool(one.dtype == other.dtype and np.array_equal(one, other))
