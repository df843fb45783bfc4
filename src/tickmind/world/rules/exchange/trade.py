"""Trade between actors: one makes an offer, the other accepts or declines it, and both sides change hands at once.

What stands at the beginning of a tick is accepted, declined or taken back before new offers are made, so that no offer
is replaced by a worse one in the tick in which it is accepted.
"""

import numpy as np

from tickmind.protocol import ActionType, Effect, Reason
from tickmind.protocol.intent import UNUSED
from tickmind.world.rules.turn import Turn
from tickmind.world.state.columns import StandingOffer, no_offers


def trade(turn: Turn) -> None:
    """Let actors accept, decline and take back offers, then make new ones."""
    makes = (ActionType.OFFER, ActionType.GIVE) if turn.rules.gifts_need_consent else (ActionType.OFFER,)
    accepts, declines = turn.places(ActionType.ACCEPT), turn.places(ActionType.DECLINE)
    offers = sorted(place for action in makes for place in turn.items(action).tolist())
    if not (len(accepts) or len(declines) or offers or len(turn.state.offers)):
        return
    standing = {
        offer.maker: offer
        for offer in (StandingOffer(*line) for line in turn.state.offers.tolist())
        if offer.last_tick >= turn.tick_id
    }
    for rule, places in ((_accept, accepts.tolist()), (_decline, declines.tolist()), (_offer, offers)):
        for place in places:
            reason = rule(turn, standing, place)
            if reason:
                turn.refuse(place, reason)
    lines = [standing[maker] for maker in sorted(standing)]
    turn.state.offers = np.array(lines, dtype=np.int64) if lines else no_offers()


def _accept(turn: Turn, standing: dict[int, StandingOffer], place: int) -> Reason:
    taker, maker, reason = _both(turn, place)
    if reason:
        return reason
    offer = standing.get(maker)
    inventory, names = turn.state.inventory, turn.tables.item_names
    if offer is None or offer.taker != taker or inventory[maker, offer.kind] < offer.amount:
        return Reason.NO_OFFER
    if not turn.near(taker, maker):
        return Reason.TOO_FAR
    price = offer.wanted_amount if offer.wanted_kind != UNUSED else 0
    lacks = price - int(inventory[taker, offer.wanted_kind]) if price else 0
    if lacks > 0:
        turn.effects[place] = (Effect(f"missing.{names[offer.wanted_kind]}", lacks),)
        return Reason.MISSING_ITEM
    room = turn.room(np.array([taker, maker], dtype=np.int32)).tolist()
    if room[0] + price < offer.amount or room[1] + offer.amount < price:
        return Reason.INVENTORY_FULL
    inventory[maker, offer.kind] -= offer.amount
    inventory[taker, offer.kind] += offer.amount
    effects = [Effect(f"inventory.{names[offer.kind]}", offer.amount)]
    if price:
        inventory[taker, offer.wanted_kind] -= price
        inventory[maker, offer.wanted_kind] += price
        effects.append(Effect(f"inventory.{names[offer.wanted_kind]}", -price))
    turn.effects[place] = tuple(effects)
    del standing[maker]
    return Reason.NONE


def _decline(turn: Turn, standing: dict[int, StandingOffer], place: int) -> Reason:
    row, other, reason = _both(turn, place)
    if reason:
        return reason
    for maker, taker in ((other, row), (row, other)):  # its offer to this actor goes before the own one to it
        if maker in standing and standing[maker].taker == taker:
            del standing[maker]
            return Reason.NONE
    return Reason.NO_OFFER


def _offer(turn: Turn, standing: dict[int, StandingOffer], place: int) -> Reason:
    maker, taker, reason = _both(turn, place)
    if reason:
        return reason
    kind, amount = int(turn.intents.kind[place]), int(turn.intents.amount[place])
    wanted_kind, wanted_amount = turn.intents.wanted.get(place, (UNUSED, 0))
    names = turn.tables.item_names
    if place in turn.intents.wanted:
        if not 0 <= wanted_kind < len(names):
            return Reason.UNKNOWN_KIND
        if wanted_amount < 1 or wanted_kind == kind:
            return Reason.ILLEGAL_ACTION
    if not turn.near(maker, taker):
        return Reason.TOO_FAR
    if turn.state.inventory[maker, kind] < amount:
        return Reason.NOT_IN_INVENTORY
    last_tick = turn.tick_id + turn.rules.offer_ticks
    standing[maker] = StandingOffer(maker, taker, kind, amount, wanted_kind, wanted_amount, last_tick)
    wants = (Effect(f"wants.{names[wanted_kind]}", wanted_amount),) if wanted_amount else ()
    turn.effects[place] = (Effect(f"offers.{names[kind]}", amount), *wants)
    return Reason.NONE


def _both(turn: Turn, place: int) -> tuple[int, int, Reason]:
    """Return the rows of an intent's actor and of the other one, and why they can't trade, if they can't."""
    row, other = int(turn.intents.actor[place]), int(turn.intents.target[place])
    if not 0 <= other < len(turn.tables.actor_ids) or other == row:
        return row, other, Reason.UNKNOWN_TARGET
    turn.target_ids[place] = turn.tables.actor_ids[other]
    return row, other, Reason.NONE
