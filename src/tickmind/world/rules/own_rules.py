"""Rules of the user's own: functions that are called once in each tick, after all other rules but goals."""

import traceback
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tickmind.protocol import (
    ActionResult,
    ActionType,
    Effect,
    ObjectDelta,
    Reason,
    ResultColumns,
    RuleEvent,
    Utterance,
    WorldTime,
)
from tickmind.protocol.intent import ACTION_TYPES
from tickmind.protocol.record import AWAY
from tickmind.protocol.setting import minute_of
from tickmind.world.chance import draw
from tickmind.world.errors import OwnRuleError
from tickmind.world.rules.arrivals import arrive, leave
from tickmind.world.rules.building import free_row, why_not
from tickmind.world.rules.inventory import hand_over, use_up
from tickmind.world.rules.needs_and_rest import incapacitate
from tickmind.world.rules.objects import enter_state, in_the_way, place_object, remove_object
from tickmind.world.rules.turn import Turn
from tickmind.world.scenario.limits import MAX_INVENTORY, MAX_SCORE, MAX_TEXT_CHARS
from tickmind.world.scenario.scenario import Intervention
from tickmind.world.scenario.settings import NEED_MOST

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32

_HERE = str(Path(__file__).parents[1])
INTERVENTION = "intervention"  # name of the events that record what the scenario changes from outside
_CHANCE = 16  # purpose of the random numbers
_DRAWS = 1 << 32  # of one rule in one tick, at most
_ACTIONS, _ACTIONS_PER_ACTOR = (
    4000,
    3,
)  # of one rule in one tick, at most; with these a tick always fits into the record


class RuleTick:
    """One tick as a rule of the user's own sees it, and what the rule may do. It is good until the rule returns.

    A name that the world does not have raises `OwnRuleError`. Everything that a rule does is recorded.

        def festival(tick: RuleTick) -> None:
            if tick.time_comes("18:00"):
                for actor_id in tick.actors_in("square"):
                    tick.give_items(actor_id, "bread", 1)
                    tick.score(actor_id, 5, "came to the festival")
    """

    def __init__(self, turn: Turn, name: str, number: int) -> None:
        self._open: Turn | None = turn
        self._name = name
        self._number = number
        self._draws = 0
        self._changed_needs = False
        self._actions_left = _ACTIONS + _ACTIONS_PER_ACTOR * len(turn.tables.actor_ids)
        self._scores: dict[tuple[int, str], list[str]] = {}  # points and reason -> to whom

    # What it sees

    @property
    def tick_id(self) -> int:
        """The number of the tick; the first is 1."""
        return self._turn.tick_id

    @property
    def time(self) -> WorldTime:
        """The day and the time of the day."""
        return self._turn.time

    def time_comes(self, clock: str) -> bool:
        """Return whether a time of the day, such as `18:00`, comes with this tick: once in each day."""
        calendar = self._turn.tables.scenario.setting.calendar
        minute = minute_of(clock)
        before, now = calendar.at(self.tick_id - 1), self.time
        return (before.day + (before.minute >= minute)) < (now.day + (now.minute >= minute))

    @property
    def actor_ids(self) -> Sequence[str]:
        """The ids of all actors."""
        return self._turn.tables.actor_ids

    @property
    def object_ids(self) -> Sequence[str]:
        """The ids of all objects, also of those that may be built later."""
        return self._turn.tables.object_ids

    @cached_property
    def results(self) -> tuple[ActionResult, ...]:
        """What became of the intents of this tick, without waiting."""
        turn = self._turn
        known = np.where(turn.intents.action < len(ACTION_TYPES), turn.intents.action, 0)
        columns = ResultColumns(turn.intents.actor, known, turn.reason, turn.target_ids, turn.effects)
        named = (columns.named(place, turn.tables.actor_ids) for place in range(len(columns)))
        return tuple(result for result in named if result.action_type is not ActionType.WAIT)

    @property
    def utterances(self) -> tuple[Utterance, ...]:
        """What was said in this tick."""
        return tuple(self._turn.utterances)

    @property
    def object_deltas(self) -> tuple[ObjectDelta, ...]:
        """What has changed about objects in this tick so far."""
        return tuple(self._turn.deltas)

    def type_of(self, actor_id: str) -> str:
        """Return the type of an actor."""
        return self._turn.tables.scenario.actors[self._actor(actor_id)].type

    def position(self, actor_id: str) -> tuple[int, int]:
        """Return the tile of an actor; (-1, -1) if it is away."""
        row, state = self._actor(actor_id), self._turn.state
        return int(state.x[row]), int(state.y[row])

    def zone(self, actor_id: str) -> str:
        """Return the smallest zone that an actor is in; empty outside of all."""
        zone = self._turn.tables.scenario.setting.zone_at(*self.position(actor_id))
        return "" if zone is None else zone.name

    def actors_in(self, zone: str) -> tuple[str, ...]:
        """Return the actors in a zone. Raises `OwnRuleError` if there is no such zone."""
        turn = self._turn
        wanted = turn.tables.scenario.setting.zone(zone)
        if wanted is None:
            raise OwnRuleError(f"there is no zone {zone[:100]!r}")
        inside = turn.in_areas(wanted.areas, np.arange(len(turn.state.x)))
        return tuple(turn.tables.actor_ids[row] for row in np.flatnonzero(inside).tolist())

    def is_there(self, actor_id: str) -> bool:
        """Return whether an actor is in the world, and not away."""
        return bool(self._turn.state.x[self._actor(actor_id)] != AWAY)

    def items(self, actor_id: str) -> dict[str, int]:
        """Return what an actor carries, without what it has none of."""
        carried = self._turn.state.inventory[self._actor(actor_id)].tolist()
        return {item: count for item, count in zip(self._turn.tables.item_names, carried, strict=True) if count}

    def need(self, actor_id: str, need: str) -> int:
        """Return the value of a need of an actor: `energy`, `hunger`, or one that the scenario declares."""
        return int(self._needs(need)[self._actor(actor_id)])

    def object_state(self, object_id: str) -> str:
        """Return the state of an object; empty if it is not there."""
        row = self._object(object_id)
        if self._turn.maps.object_x[row] == AWAY:
            return ""
        return self._turn.tables.kind_of(row).states[int(self._turn.state.object_state[row])].name

    def object_position(self, object_id: str) -> tuple[int, int]:
        """Return the tile of an object; (-1, -1) if it was not built yet, or was removed."""
        row, maps = self._object(object_id), self._turn.maps
        return int(maps.object_x[row]), int(maps.object_y[row])

    def chance(self, below: int) -> int:
        """Return a number from 0 up to, not including, `below`, from the seed of the run: the same in every repetition.

        Use no other source of chance, or a world can't be resumed after a crash. Raises `OwnRuleError` if `below` is
        less than 1.
        """
        if below < 1 or self._draws >= _DRAWS:
            raise OwnRuleError(f"chance() takes a number of at least 1, not {below}")
        key = np.array([self._number * _DRAWS + self._draws], dtype=np.int64)
        self._draws += 1
        seed = self._turn.tables.scenario.seed
        return int(draw(seed, _CHANCE, self.tick_id, key, np.array([below], dtype=np.int64))[0])

    # What it does

    def give_items(self, actor_id: str, item: str, amount: int) -> int:
        """Give items to an actor; what it can't carry falls to the ground. Return how many it took."""
        row, kind, amount = self._actor(actor_id), self._item(item, amount), int(amount)
        self._count()
        if not self.is_there(actor_id):  # there is no ground below it for what it can't carry
            amount = min(amount, int(self._turn.room(np.array([row], dtype=np.int32))[0]))
        ((_, taken),) = hand_over(self._turn, np.array([row], dtype=np.int32), [(kind, amount)])
        self._note(actor_id, Effect(f"inventory.{item}", int(taken[0])))
        return int(taken[0])

    def take_items(self, actor_id: str, item: str, amount: int) -> int:
        """Take items from an actor, as far as it has them. Return how many that were."""
        row, kind, amount = self._actor(actor_id), self._item(item, amount), int(amount)
        self._count()
        taken = min(amount, int(self._turn.state.inventory[row, kind]))
        use_up(self._turn, np.array([row], dtype=np.int32), [(kind, taken)])
        self._note(actor_id, Effect(f"inventory.{item}", -taken))
        return taken

    def change_need(self, actor_id: str, need: str, by: int) -> int:
        """Add to a need of an actor, which stays from 0 to 1000. Return by how much it changed.

        Raises `OwnRuleError` unless `by` is a whole number from -1000 to 1000.
        """
        row, values = self._actor(actor_id), self._needs(need)
        if abs(by) > NEED_MOST or int(by) != by:
            raise OwnRuleError(f"a need changes by a whole number from -{NEED_MOST} to {NEED_MOST}, not by {by}")
        self._count()
        before = int(values[row])
        values[row] = min(max(before + int(by), 0), NEED_MOST)
        change = int(values[row]) - before
        self._changed_needs |= bool(change)
        self._note(actor_id, Effect(need, change))
        return change

    def set_object_state(self, object_id: str, state: str) -> bool:
        """Put an object into a state. Return False if it is not there, or an actor stands where it would block it.

        Raises `OwnRuleError` if the object has no such state.
        """
        row, turn = self._object(object_id), self._turn
        names = [state_info.name for state_info in turn.tables.kind_of(row).states]
        if state not in names:
            raise OwnRuleError(f"{object_id} has no state {state[:100]!r}; it has {', '.join(names)}")
        code = names.index(state)
        self._count()
        objects, kind = np.array([row], dtype=np.int64), int(turn.tables.object_kind[row])
        if turn.maps.object_x[row] == AWAY or in_the_way(turn, objects, kind, code).any():
            return False
        turn.deltas += [delta for _, delta in enter_state(turn, objects, kind, code)]
        return True

    def build_object(self, kind: str, x: int, y: int) -> str:
        """Put an object of a kind that can be built on a tile, the north-west one of several.

        Return its id; empty if it can't be there now. Raises `OwnRuleError` if no such kind can be built.
        """
        turn, code = self._turn, self._turn.tables.kind_code.get(kind)
        if code is None or turn.tables.scenario.kinds[code].build is None:
            raise OwnRuleError(f"there is no kind {str(kind)[:100]!r} that can be built")
        self._count()
        row = free_row(turn, code)
        if row is None or why_not(turn, code, int(x), int(y)) is not Reason.NONE:
            return ""
        turn.deltas += place_object(turn, row, int(x), int(y))
        return turn.tables.object_ids[row]

    def remove_object(self, object_id: str) -> bool:
        """Take an object out of the world, of a kind that can be built or removed. Return False if it is not there.

        Raises `OwnRuleError` for an object of another kind.
        """
        row, turn = self._object(object_id), self._turn
        if not turn.tables.kind_of(row).comes_and_goes:
            raise OwnRuleError(f"{object_id} can't be removed; give its kind `build`, or an action with `removes`")
        self._count()
        if turn.maps.object_x[row] == AWAY:
            return False
        turn.deltas += remove_object(turn, row)
        return True

    def bring(self, actor_id: str, x: int, y: int) -> bool:
        """Bring an actor that is away into the world. Return False if it is there, or no actor can stand there now.

        Raises `OwnRuleError` if the tile is not on the map.
        """
        row, turn = self._actor(actor_id), self._turn
        tables = turn.tables
        if not (0 <= x < tables.width and 0 <= y < tables.height):
            raise OwnRuleError(f"({x}, {y}) is not on the map of {tables.width} x {tables.height} tiles")
        self._count()
        return not self.is_there(actor_id) and arrive(turn, row, int(x), int(y)) is Reason.NONE

    def send_away(self, actor_id: str) -> None:
        """Take an actor out of the world, with all that it carries; it may be brought back."""
        row = self._actor(actor_id)
        self._count()
        leave(self._turn, row)

    def score(self, actor_id: str | None, points: int, why: str) -> None:
        """Give points to an actor, or to the world if that is None.

        Raises `OwnRuleError` unless `points` is a whole number that is not 0 and within its limit.
        """
        if actor_id is not None:
            self._actor(actor_id)
        if not 0 < abs(points) <= MAX_SCORE.maximum or int(points) != points:
            raise OwnRuleError(f"points must be a whole number up to {MAX_SCORE.maximum:,} and not 0, not {points}")
        self._count()
        if actor_id is None:
            self._add(RuleEvent(self._name, (), int(points), own=True, text=_line(why)))
        else:
            self._scores.setdefault((int(points), _line(why)), []).append(actor_id)

    def end(self, why: str) -> None:
        """End the run after this tick."""
        self._count()
        self._add(RuleEvent(self._name, ends=True, own=True, text=_line(why)))

    # What calls it

    def close(self) -> None:
        """Record the scores; from then on nothing can be done. Once is enough, and more does no harm."""
        if self._open is None:
            return
        if self._changed_needs:
            incapacitate(self._open)
        for (points, why), actor_ids in self._scores.items():
            self._add(RuleEvent(self._name, tuple(actor_ids), points, own=True, text=why))
        self._open = None

    def _note(self, actor_id: str, effect: Effect) -> None:
        if effect.value:
            self._add(RuleEvent(self._name, (actor_id,), own=True, effects=(effect,)))

    @property
    def _turn(self) -> Turn:
        if self._open is None:
            raise OwnRuleError("this tick is over; a rule may use it only while it is called")
        return self._open

    def _count(self) -> None:
        if not self._actions_left:
            raise OwnRuleError("the rule has done too much in one tick; is it in a loop?")
        self._actions_left -= 1

    def _add(self, event: RuleEvent) -> None:
        self._turn.rule_events.append(event)

    def _actor(self, actor_id: str) -> int:
        row = self._turn.tables.actor_row.get(actor_id)
        if row is None:
            raise OwnRuleError(f"there is no actor {str(actor_id)[:100]!r}")
        return row

    def _needs(self, need: str) -> "Int32":
        """Return the values of a need, by actor row."""
        state, names = self._turn.state, self._turn.tables.needs.names
        if need in names:
            values: Int32 = state.own_needs[:, names.index(need)]
            return values
        if self._turn.rules.needs is None or need not in ("energy", "hunger"):
            raise OwnRuleError(f"there is no need {str(need)[:100]!r}")
        return state.energy if need == "energy" else state.hunger

    def _object(self, object_id: str) -> int:
        row = self._turn.tables.object_row.get(object_id)
        if row is None:
            raise OwnRuleError(f"there is no object {str(object_id)[:100]!r}")
        return row

    def _item(self, item: str, amount: int) -> int:
        kind = self._turn.tables.item_code.get(item)
        if kind is None:
            raise OwnRuleError(f"there is no item {str(item)[:100]!r}")
        if not 1 <= amount <= MAX_INVENTORY.maximum or int(amount) != amount:
            raise OwnRuleError(f"an amount of items must be from 1 to {MAX_INVENTORY.maximum:,}, not {amount}")
        return kind


OwnRule: TypeAlias = Callable[[RuleTick], None]
"""A rule of the user's own. It keeps nothing between calls: after a restart that would be gone."""


def run_own_rules(turn: Turn, rules: Sequence[tuple[str, OwnRule]]) -> None:
    """Call the rules one after another. One that raises is switched off for good, and the tick goes on."""
    for number, (name, rule) in enumerate(rules):
        if turn.state.own_rule_off[number]:
            continue
        tick = RuleTick(turn, name, number)
        try:
            _call(rule, tick)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  whatever the user's code raises, the world goes on and says so
            turn.state.own_rule_off[number] = True
            tick.close()
            turn.rule_events.append(RuleEvent(name, own=True, text=f"switched off after an error: {_fault(error)}"))
        else:
            tick.close()


def intervene(turn: Turn) -> None:
    """Carry out the interventions of this tick, in the order of the scenario, and record them."""
    due = [intervention for intervention in turn.tables.scenario.interventions if intervention.tick_id == turn.tick_id]
    if not due:
        return
    tick = RuleTick(turn, INTERVENTION, 0)
    for one in due:
        if one.rule:
            turn.rule_events.append(RuleEvent(INTERVENTION, own=True, text=f"{one.rule} is {one.value} now"))
            continue
        problem = _set_state(tick, one) if one.object_id else _set_items(tick, one)
        if problem:
            turn.rule_events.append(RuleEvent(INTERVENTION, own=True, text=problem))
    tick.close()


def _set_items(tick: RuleTick, one: Intervention) -> str:
    """Give or take items so that an actor has so many; return what was not possible."""
    missing = one.amount - tick.items(one.actor_id).get(one.item, 0)
    if missing > 0:
        given = tick.give_items(one.actor_id, one.item, missing)
        return "" if given == missing else f"{one.actor_id} can carry {given} of {missing} {one.item} more"
    if missing < 0:
        tick.take_items(one.actor_id, one.item, -missing)
    return ""


def _set_state(tick: RuleTick, one: Intervention) -> str:
    """Put an object into a state; return what was not possible."""
    if tick.object_state(one.object_id) == one.state or tick.set_object_state(one.object_id, one.state):
        return ""
    return f"{one.object_id} can't be {one.state} now: it is not there, or an actor stands in its way"


def _call(rule: Callable[[RuleTick], object], tick: RuleTick) -> None:
    """Call a rule. Raises also if it is a coroutine or a generator, which would do nothing."""
    result = rule(tick)
    if result is not None:
        raise OwnRuleError(f"a rule is a plain function that returns nothing, not {type(result).__name__}")


def _line(text: str) -> str:
    """Return a text of the user on one line, as long as a text may be."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in str(text)).split())
    if not line:
        raise OwnRuleError("a reason must not be empty: it is what people read")
    return line[: int(MAX_TEXT_CHARS.maximum)]


def _fault(error: BaseException) -> str:
    """Return what was raised, and where in the user's code."""
    places = traceback.extract_tb(error.__traceback__)
    own = [place for place in places if not place.filename.startswith(_HERE)]
    where = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  the text of an error is the user's code, too
        text = "its text can't be made"
    return _line(f"{type(error).__name__}: {text}"[: int(MAX_TEXT_CHARS.maximum) - 150]) + where
