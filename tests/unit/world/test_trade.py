"""Trade between actors: both sides change hands at once, nothing twice, and never against the will of one of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.agent.control.columns import ColumnReader
from tickmind.protocol import Accept, Decline, Effect, Give, Offer, OpenOffer, Reason
from tickmind.world import TileWorld, parse_scenario
from tickmind.world.state.columns import no_offers
from tickmind.world.state.snapshot import pack, unpack

TRADERS = """\
world: traders
rules: {inventory_limit: 10, offer_ticks: 3}
floors: {grass: {}}
items: {bread: {}, coin: {}, grain: {}}
map: {width: 6, height: 2, floor: grass}
actors:
  - {id: ada, at: [1, 0], inventory: {bread: 5}}
  - {id: bo, at: [2, 0], inventory: {coin: 6}}
  - {id: cy, at: [2, 1], inventory: {coin: 2, grain: 3}}
  - {id: far, at: [5, 1], inventory: {coin: 2}}
"""
NAMES = ("ada", "bo", "cy", "far")
ADA, BO, CY, FAR = range(4)


def traders(text=TRADERS):
    return TileWorld.from_scenario(parse_scenario(text))


def carried(world, row):
    return {stack.kind: stack.quantity for stack in world.observe([row])[0].me.inventory}


def one(world, row, intent):
    (result,) = world.step({row: intent}).action_results()
    return result


def test_an_offer_is_seen_and_its_acceptance_exchanges_both_sides_at_once():
    world = traders()
    made = one(world, ADA, Offer("bo", "bread", 2, "coin", 3))
    assert (made.ok, made.target_id) == (True, "bo")
    assert made.effects == (Effect("offers.bread", 2), Effect("wants.coin", 3))
    assert carried(world, ADA) == {"bread": 5}  # it only offers them
    assert world.observe([BO])[0].offers == (OpenOffer("ada", "bread", 2, "coin", 3),)
    assert world.observe([CY])[0].offers == ()
    done = one(world, BO, Accept("ada"))
    assert (done.ok, done.effects) == (True, (Effect("inventory.bread", 2), Effect("inventory.coin", -3)))
    assert (carried(world, ADA), carried(world, BO)) == ({"bread": 3, "coin": 3}, {"bread": 2, "coin": 3})
    assert world.observe([BO])[0].offers == ()
    assert one(world, BO, Accept("ada")).reason is Reason.NO_OFFER


def test_hosts_of_many_actors_see_offers_too():
    world = traders()
    world.step({ADA: Offer("cy", "bread", 1, "grain", 1), BO: Offer("cy", "coin")})
    rows = np.array([BO, CY], dtype=np.int32)
    _, of_cy = ColumnReader(world.info).read(world.observe_columns(rows))
    assert of_cy.offers == (OpenOffer("ada", "bread", 1, "grain", 1), OpenOffer("bo", "coin", 1))
    assert of_cy.offers == world.observe([CY])[0].offers


def test_an_offer_is_declined_or_taken_back_and_then_gone():
    world = traders()
    world.step({ADA: Offer("bo", "bread", 1, "coin", 1)})
    assert one(world, BO, Decline("ada")).ok
    assert one(world, BO, Accept("ada")).reason is Reason.NO_OFFER
    world.step({ADA: Offer("bo", "bread", 1, "coin", 1)})
    assert one(world, ADA, Decline("bo")).ok
    assert one(world, BO, Accept("ada")).reason is Reason.NO_OFFER
    assert one(world, BO, Decline("ada")).reason is Reason.NO_OFFER


def test_an_offer_stands_for_its_ticks_and_no_longer():
    for waits, reason in ((2, Reason.NONE), (3, Reason.NO_OFFER)):
        world = traders()
        world.step({ADA: Offer("bo", "bread", 1, "coin", 1)})
        for _ in range(waits):
            world.step({})
        assert bool(world.observe([BO])[0].offers) is (reason is Reason.NONE)
        assert one(world, BO, Accept("ada")).reason is reason


def test_an_offer_is_never_replaced_by_a_worse_one_in_the_tick_in_which_it_is_accepted():
    world = traders()
    world.step({ADA: Offer("bo", "bread", 5, "coin", 1)})
    world.step({ADA: Offer("bo", "bread", 1, "coin", 6), BO: Accept("ada")})
    assert carried(world, BO) == {"bread": 5, "coin": 5}
    assert one(world, BO, Accept("ada")).reason is Reason.NO_OFFER  # the new one: Ada had no bread left to offer


def test_an_offer_of_what_was_given_away_meanwhile_is_void():
    world = traders()
    world.step({ADA: Offer("bo", "bread", 5, "coin", 1)})
    world.step({ADA: Give("cy", "bread", 1)})
    assert one(world, BO, Accept("ada")).reason is Reason.NO_OFFER
    assert carried(world, BO) == {"coin": 6}


@pytest.mark.parametrize(
    ("intent", "reason"),
    [
        (Offer("bo", "bread", 6), Reason.NOT_IN_INVENTORY),
        (Offer("bo", "bread", 0), Reason.ILLEGAL_ACTION),
        (Offer("bo", "gold"), Reason.UNKNOWN_KIND),
        (Offer("bo", "bread", 1, "gold"), Reason.UNKNOWN_KIND),
        (Offer("bo", "bread", 1, "coin", 0), Reason.ILLEGAL_ACTION),
        (Offer("bo", "bread", 1, "bread", 2), Reason.ILLEGAL_ACTION),
        (Offer("far", "bread"), Reason.TOO_FAR),
        (Offer("ada", "bread"), Reason.UNKNOWN_TARGET),
        (Offer("nobody", "bread"), Reason.UNKNOWN_TARGET),
        (Accept("bo"), Reason.NO_OFFER),
        (Accept("ada"), Reason.UNKNOWN_TARGET),
        (Decline("nobody"), Reason.UNKNOWN_TARGET),
    ],
)
def test_a_refused_trade_says_why(intent, reason):
    world = traders()
    assert one(world, ADA, intent).reason is reason
    assert carried(world, ADA) == {"bread": 5}


def test_an_exchange_that_one_side_cannot_keep_is_refused_and_the_offer_stands():
    world = traders(TRADERS.replace("coin: 6", "coin: 1, grain: 9"))
    world.step({ADA: Offer("bo", "bread", 2, "coin", 3)})
    refused = one(world, BO, Accept("ada"))
    assert (refused.reason, refused.effects) == (Reason.MISSING_ITEM, (Effect("missing.coin", 2),))
    world.step({ADA: Offer("bo", "bread", 2, "coin", 1)})
    assert one(world, BO, Accept("ada")).reason is Reason.INVENTORY_FULL
    world.step({BO: Give("cy", "grain", 1)})
    assert one(world, BO, Accept("ada")).ok


def test_gifts_may_need_consent():
    world = traders(TRADERS.replace("offer_ticks: 3", "gifts_need_consent: true"))
    given = one(world, ADA, Give("bo", "bread", 2))
    assert (given.ok, given.effects) == (True, (Effect("offers.bread", 2),))
    assert carried(world, BO) == {"coin": 6}
    assert world.observe([BO])[0].offers == (OpenOffer("ada", "bread", 2),)
    assert one(world, BO, Accept("ada")).effects == (Effect("inventory.bread", 2),)


def test_offers_survive_a_snapshot_and_are_part_of_the_hash():
    world, other = traders(), traders()
    world.step({ADA: Offer("bo", "bread", 1, "coin", 1)})
    other.step({ADA: Offer("bo", "bread", 1, "coin", 2)})
    assert world.state_hash() != other.state_hash()
    other.restore(world.snapshot())
    assert other.state_hash() == world.state_hash()
    assert one(other, BO, Accept("ada")).ok
    fresh = traders()
    fresh.restore(world.snapshot())
    assert fresh.state_hash() == world.state_hash()


def test_snapshots_with_an_empty_column_of_offers_are_still_read():
    world, other = traders(), traders()
    world.step({ADA: Offer("bo", "bread")})
    other.step({})
    other.step({})
    saved = unpack(other.snapshot())
    assert "offers" not in saved.columns
    earlier = replace(saved, columns={**saved.columns, "offers": no_offers()})
    world.restore(pack(earlier))  # the offer that stands is gone
    assert world.state_hash() == other.state_hash()
    assert world.step({}).state_hash == other.step({}).state_hash
    assert world.observe([BO])[0].offers == ()


intents = st.one_of(
    st.builds(
        Offer,
        st.sampled_from((*NAMES, "nobody")),
        st.sampled_from(("bread", "coin", "grain", "gold")),
        st.integers(-1, 4) | st.just(2**40),
        st.sampled_from(("", "bread", "coin", "grain")),
        st.integers(-1, 4),
    ),
    st.builds(Accept, st.sampled_from(NAMES)),
    st.builds(Decline, st.sampled_from(NAMES)),
    st.builds(Give, st.sampled_from(NAMES), st.sampled_from(("bread", "coin")), st.integers(0, 3)),
)


class Model:
    """Trade, one sentence for each rule."""

    near = frozenset({("ada", "bo"), ("bo", "ada"), ("bo", "cy"), ("cy", "bo"), ("ada", "cy"), ("cy", "ada")})

    def __init__(self):
        self.has = {"ada": {"bread": 5}, "bo": {"coin": 6}, "cy": {"coin": 2, "grain": 3}, "far": {"coin": 2}}
        self.offers = {}  # maker -> (offer, last tick)

    def tick(self, tick, wishes):
        self.offers = {maker: kept for maker, kept in self.offers.items() if kept[1] >= tick}
        done = {}
        for kind, rule in ((Give, self.give), (Accept, self.accept), (Decline, self.decline), (Offer, self.offer)):
            for who in NAMES:
                if isinstance(wishes[who], kind):
                    done[who] = rule(who, wishes[who], tick)
        return [done[who] for who in NAMES]

    def move(self, from_to):
        """Apply several transfers as one, or none of them."""
        after = {who: dict(goods) for who, goods in self.has.items()}
        for giver, taker, item, count in from_to:
            after[giver][item] = after[giver].get(item, 0) - count
            after[taker][item] = after[taker].get(item, 0) + count
        if any(min(goods.values()) < 0 or sum(goods.values()) > 10 for goods in after.values()):
            return False
        self.has = after
        return True

    def give(self, who, gift, _tick):
        if gift.amount < 1 or (who, gift.target_id) not in self.near:
            return False
        return self.move([(who, gift.target_id, gift.kind, gift.amount)])

    def accept(self, who, wish, _tick):
        offer, _ = self.offers.get(wish.target_id, (None, 0))
        if offer is None or offer.target_id != who or (who, wish.target_id) not in self.near:
            return False
        moves = [(wish.target_id, who, offer.kind, offer.amount)]
        if offer.wanted_kind:
            moves.append((who, wish.target_id, offer.wanted_kind, offer.wanted_amount))
        if not self.move(moves):
            return False
        del self.offers[wish.target_id]
        return True

    def decline(self, who, wish, _tick):
        for maker, taker in ((wish.target_id, who), (who, wish.target_id)):
            if maker != taker and maker in self.offers and self.offers[maker][0].target_id == taker:
                del self.offers[maker]
                return True
        return False

    def offer(self, who, offer, tick):
        if (who, offer.target_id) not in self.near or not 1 <= offer.amount <= self.has[who].get(offer.kind, 0):
            return False
        if offer.wanted_kind and (offer.wanted_amount < 1 or offer.wanted_kind == offer.kind):
            return False
        self.offers[who] = offer, tick + 3
        return True


@pytest.mark.slow
@given(st.lists(st.tuples(intents, intents, intents, intents), min_size=1, max_size=25))
def test_trade_follows_the_model_and_no_item_comes_or_goes(ticks):
    world, model = traders(), Model()
    for wishes in ticks:
        tick = world.tick_id
        record = world.step(dict(enumerate(wishes)))
        assert [result.ok for result in record.action_results()] == model.tick(
            tick, dict(zip(NAMES, wishes, strict=True))
        )
        for row, who in enumerate(NAMES):
            assert carried(world, row) == {kind: count for kind, count in model.has[who].items() if count}
    held = [carried(world, row) for row in range(4)]
    totals = {kind: sum(goods.get(kind, 0) for goods in held) for kind in ("bread", "coin", "grain")}
    assert totals == {"bread": 5, "coin": 10, "grain": 3}
