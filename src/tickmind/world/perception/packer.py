"""`Packer`: observations of many actors as columns."""

from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import ACTION_CODES, ActionType, ObservationColumns, OpenOffer, ResultDetail
from tickmind.protocol.record import AWAY
from tickmind.world.kernels import Placed, RowLists, visible_pairs
from tickmind.world.kernels.packing import list_left, pack_entities, write_cards
from tickmind.world.perception.perception import Perception, Seen, take_lists
from tickmind.world.perception.standing import StandingObjects
from tickmind.world.rules.aftermath import Aftermath
from tickmind.world.state.columns import StandingOffer, WorldColumns
from tickmind.world.state.maps import Maps
from tickmind.world.state.tables import Tables

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int8, Int32, Int64, UInt8

# Moving is no news, because a flag reports it; nor is speaking, because it is heard.
_NEWS: "UInt8" = np.ones(256, dtype=np.uint8)  # code of an action -> whether it is reported to others
_NEWS[[ACTION_CODES[action] for action in (ActionType.WAIT, ActionType.MOVE, ActionType.SAY)]] = 0


class GroundMap:
    """A map of items on the ground, rebuilt only when a bare tile gets items or a tile loses its last one."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._pile_at = np.full((tables.height, tables.width), -1, dtype=np.int32)
        self._key: Int64 | None = None
        self.placed = Placed(self._pile_at)
        self.x = self.y = np.zeros(0, dtype=np.int32)  # of each pile
        self.stacks = RowLists.empty(0)  # pile -> places in the state's list of ground items

    def refresh(self, key: "Int64") -> None:
        """Rebuild the map if the items on the ground have changed."""
        if key is self._key:
            return
        tiles = key // max(len(self._tables.item_names), 1)
        start = np.flatnonzero(np.diff(tiles, prepend=-1))
        self._pile_at[self.y, self.x] = -1
        self.y, self.x = (part.astype(np.int32) for part in np.divmod(tiles[start], self._tables.width))
        self._pile_at[self.y, self.x] = np.arange(len(start), dtype=np.int32)
        self.placed.update(self.x, self.y)
        self.stacks = RowLists(np.append(start, len(key)), np.arange(len(key), dtype=np.int32))
        self._key = key


class Packer:
    """Pack the observations of one tick as columns; it reads the state and changes nothing."""

    def __init__(
        self,
        tick_id: int,
        tables: Tables,
        state: WorldColumns,
        maps: Maps,
        objects: StandingObjects,
        ground: "GroundMap",
        now: Perception,
        before: Perception | None,
        last: Aftermath,
    ) -> None:
        self._tick_id = tick_id
        self._tables = tables
        self._state = state
        self._maps = maps
        self._objects = objects
        self._ground = ground
        self._now = now
        self._before = before
        self._last = last
        self._rules = tables.scenario.rules

    def pack(self, rows: "Int32", deadline_ms: int) -> ObservationColumns:
        """Return what these actors perceive."""
        state = self._state
        seen = self._now.seen_by(rows)
        own, news = self._deeds()
        signed, unsigned, left = self._entities(rows, seen, news)
        standing = self._objects
        objects = standing.whole(self._standing(rows, seen, standing.placed, len(self._tables.object_ids)))
        ground, ground_at, ground_kind, ground_amount = self._ground_items(rows, seen)
        heard = self._heard(rows)
        return ObservationColumns(
            tick_id=self._tick_id,
            deadline_ms=deadline_ms,
            radius=self._rules.sight_radius,
            actor=rows,
            x=state.x[rows],
            y=state.y[rows],
            status_bits=state.status[rows],
            facing=state.facing[rows],
            energy=state.energy[rows],
            hunger=state.hunger[rows],
            inventory=state.inventory[rows],
            result_action=own[0, rows],
            result_reason=own[1, rows],
            visible=seen.mask,
            entity_offset=seen.actors.offsets,
            entity=seen.actors.ids,
            entity_dx=signed[0],
            entity_dy=signed[1],
            entity_status=unsigned[0],
            entity_facing=signed[2],
            entity_flags=unsigned[1],
            entity_action=unsigned[2],
            entity_reason=unsigned[3],
            left_offset=left.offsets,
            left=left.ids,
            object_offset=objects.offsets,
            object=objects.ids,
            object_state=state.object_state[objects.ids],
            object_work=state.object_work[objects.ids],
            object_stock=state.object_stock[objects.ids],
            ground_offset=ground,
            ground_dx=ground_at[0],
            ground_dy=ground_at[1],
            ground_kind=ground_kind.astype(np.uint16),
            ground_amount=ground_amount,
            heard_offset=heard.offsets,
            heard=heard.ids,
            utterances=self._last.utterances,
            offers=self._offers(rows) if len(state.offers) else (),
            own_needs=state.own_needs[rows] if len(state.own_needs) else None,
            placed=self._placed(objects.ids) if self._tables.objects_move else (),
            details=self._details(rows, seen.actors.ids),
        )

    def _details(self, rows: "Int32", entities: "Int32") -> tuple[ResultDetail, ...]:
        """Return what the actions of these actors, and of those that they see, were done to and changed."""
        results = self._last.results
        places = np.array(sorted({*results.target_ids, *results.effects}), dtype=np.int64)
        if not len(places):
            return ()
        known = np.zeros(len(self._state.x), dtype=np.bool_)
        known[rows] = known[entities] = True
        places = places[known[results.actor[places]]]
        each = zip(places.tolist(), results.actor[places].tolist(), strict=True)
        return tuple(ResultDetail(row, results.target_ids.get(at, ""), results.effects.get(at, ())) for at, row in each)

    def _placed(self, objects: "Int32") -> tuple[tuple[int, int, int], ...]:
        """Return where those of some objects are that come and go."""
        rows = np.unique(objects)
        rows = rows[self._tables.kind_moves[self._tables.object_kind[rows]]]
        columns = rows, self._maps.object_x[rows], self._maps.object_y[rows]
        return tuple(zip(*(column.tolist() for column in columns), strict=True))

    def _deeds(self) -> "tuple[UInt8, UInt8]":
        """Return by actor row the codes of its action and of why it failed: all of them, and those that are news."""
        results = self._last.results
        own = np.zeros((2, len(self._state.x)), dtype=np.uint8)
        own[:, results.actor] = results.action, results.reason
        return own, own * _NEWS[own[0]]

    def _entities(self, rows: "Int32", seen: Seen, news: "UInt8") -> "tuple[Int8, UInt8, RowLists]":
        """Return the columns of `pack_entities` for actors in sight, and those that left it."""
        state, now, radius = self._state, seen.actors, np.uint64(self._rules.sight_radius)
        old, old_x, old_y = seen, state.x, state.y  # in the first tick nothing is new
        if self._before is not None:
            old, old_x, old_y = self._before.seen_by(rows), self._before.x, self._before.y
        cards = np.empty((len(state.x), 2), dtype=np.uint64)
        write_cards(state.x, state.y, old_x, old_y, state.status, state.facing, news, cards)
        signed = np.empty((3, len(now.ids)), dtype=np.int8)
        unsigned = np.empty((4, len(now.ids)), dtype=np.uint8)
        pack_entities(rows, cards, radius, old.mask, now.offsets, now.ids, signed, unsigned)
        offsets, left = np.zeros(len(rows) + 1, dtype=np.int64), np.empty(len(old.actors.ids) + 1, dtype=np.int32)
        list_left(rows, cards, radius, seen.mask, old.actors.offsets, old.actors.ids, offsets, left)
        return signed, unsigned, RowLists(offsets, left[: offsets[-1]])

    def _ground_items(self, rows: "Int32", seen: Seen) -> "tuple[Int64, Int8, Int64, Int64]":
        """Return offsets, and for each kind of item on each tile in sight its place, code and amount."""
        state, ground = self._state, self._ground
        if not len(state.ground_key):
            offsets, at = np.zeros(len(rows) + 1, dtype=np.int64), np.zeros((2, 0), dtype=np.int8)
            return offsets, at, state.ground_key, state.ground_amount
        ground.refresh(state.ground_key)
        piles = self._standing(rows, seen, ground.placed, len(ground.x))
        stacks = take_lists(ground.stacks, piles.ids)
        offsets = stacks.offsets[piles.offsets]
        observer = np.repeat(rows, np.diff(offsets))
        pile = np.repeat(piles.ids, np.diff(stacks.offsets))
        at = np.stack((ground.x[pile] - state.x[observer], ground.y[pile] - state.y[observer])).astype(np.int8)
        kinds = max(len(self._tables.item_names), 1)
        return offsets, at, state.ground_key[stacks.ids] % kinds, state.ground_amount[stacks.ids]

    def _standing(self, rows: "Int32", seen: Seen, placed: Placed, count: int) -> RowLists:
        """Return what stands on tiles in sight."""
        if not count:
            return RowLists.empty(len(rows))
        state = self._state
        return visible_pairs(state.x[rows], state.y[rows], seen.mask, self._rules.sight_radius, placed, own_tile=True)

    def _offers(self, rows: "Int32") -> tuple[tuple[int, OpenOffer], ...]:
        """Return the offers that stand to these actors, by their places."""
        place_of = {row: place for place, row in enumerate(rows.tolist())}
        names, ids = self._tables.item_names, self._tables.actor_ids
        found = []
        for offer in (StandingOffer(*line) for line in self._state.offers.tolist()):
            if offer.taker in place_of and offer.last_tick >= self._tick_id:
                price = offer.wanted_amount
                wanted = names[offer.wanted_kind] if price else ""
                shown = OpenOffer(ids[offer.maker], names[offer.kind], offer.amount, wanted, price)
                found.append((place_of[offer.taker], shown))
        return tuple(sorted(found, key=itemgetter(0)))

    def _heard(self, rows: "Int32") -> RowLists:
        """Return for each observer the places of the utterances that it hears; an actor does not hear itself."""
        said = self._last.utterances
        if not said:
            return RowLists.empty(len(rows))
        state, actor_row = self._state, self._tables.actor_row
        speakers = np.array([actor_row[utterance.actor_id] for utterance in said], dtype=np.int32)
        lists = self._now.heard_from(speakers)
        number = np.repeat(np.arange(len(said), dtype=np.int32), np.diff(lists.offsets))
        place_of = np.full(len(state.x), -1, dtype=np.int64)  # actor row -> place among the observers
        place_of[rows] = np.arange(len(rows))
        place = place_of[lists.ids]
        number, place = number[place >= 0], place[place >= 0]
        for at in np.flatnonzero(state.x[speakers] == AWAY).tolist():  # they left after they spoke
            away_x, away_y = np.abs(state.x[rows] - said[at].x), np.abs(state.y[rows] - said[at].y)
            heard = np.flatnonzero(np.maximum(away_x, away_y) <= self._rules.hearing_radius)
            number, place = np.append(number, np.full(len(heard), at, dtype=np.int32)), np.append(place, heard)
        order = np.lexsort((number, place))
        offsets = np.searchsorted(place[order], np.arange(len(rows) + 1))
        return RowLists(offsets.astype(np.int64), number[order])
