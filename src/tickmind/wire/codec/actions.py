"""Codec of intents, acknowledgements and results."""

from collections.abc import Callable
from typing import Any

from tickmind.protocol import (
    ACTION_CODES,
    REASON_CODES,
    Accept,
    Ack,
    ActionResult,
    Build,
    Buy,
    Decline,
    Drop,
    Effect,
    Give,
    Intent,
    Interact,
    Move,
    Offer,
    Pickup,
    Put,
    Reason,
    Say,
    Sell,
    Sleep,
    Take,
    Use,
    Wait,
    Wake,
)
from tickmind.protocol.intent import CHANNELS, LOCAL
from tickmind.wire.codec.values import (
    ACTIONS,
    DIRECTIONS,
    chosen,
    count,
    encoder,
    member,
    name,
    number,
    optional_name,
    reason,
    text,
)
from tickmind.wire.errors import MessageError
from tickmind.wire.messages.limits import MAX_AMOUNT, MAX_EFFECTS, MAX_TEXT_CHARS
from tickmind.wire.v1 import action_pb2 as pb

AMOUNT = int(MAX_AMOUNT.maximum)

_WAIT, _SLEEP, _WAKE = Wait(), Sleep(), Wake()


@encoder
def encode_intent(intent: Intent) -> pb.Intent:
    """Encode an intent."""
    match intent:
        case Wait():
            return pb.Intent(wait=pb.Wait())
        case Move(direction):
            return pb.Intent(move=pb.Move(direction=_direction(direction)))
        case Pickup(kind, amount, item_id):
            return pb.Intent(pickup=pb.Pickup(kind=kind, amount=amount, item_id=item_id))
        case Use(kind, amount, item_id):
            return pb.Intent(use=pb.Use(kind=kind, amount=amount, item_id=item_id))
        case Say(said, heard_on):
            return pb.Intent(say=pb.Say(text=said, channel=heard_on))
        case Interact(target_id, verb):
            return pb.Intent(interact=pb.Interact(target_id=target_id, verb=verb))
        case Drop(kind, amount, item_id):
            return pb.Intent(drop=pb.Drop(kind=kind, amount=amount, item_id=item_id))
        case Give(target_id, kind, amount, item_id):
            return pb.Intent(give=pb.Give(target_id=target_id, kind=kind, amount=amount, item_id=item_id))
        case Put(target_id, kind, amount):
            return pb.Intent(put=pb.Exchange(target_id=target_id, kind=kind, amount=amount))
        case Take(target_id, kind, amount):
            return pb.Intent(take=pb.Exchange(target_id=target_id, kind=kind, amount=amount))
        case Buy(target_id, kind, amount):
            return pb.Intent(buy=pb.Exchange(target_id=target_id, kind=kind, amount=amount))
        case Sell(target_id, kind, amount):
            return pb.Intent(sell=pb.Exchange(target_id=target_id, kind=kind, amount=amount))
        case Offer(target_id, kind, amount, wanted_kind, wanted_amount):
            return pb.Intent(
                offer=pb.Offer(
                    target_id=target_id,
                    kind=kind,
                    amount=amount,
                    wanted_kind=wanted_kind,
                    wanted_amount=wanted_amount,
                )
            )
        case Accept(target_id):
            return pb.Intent(accept=pb.Accept(target_id=target_id))
        case Decline(target_id):
            return pb.Intent(decline=pb.Decline(target_id=target_id))
        case Build(kind, direction):
            return pb.Intent(build=pb.Build(kind=kind, direction=_direction(direction)))
        case Sleep():
            return pb.Intent(sleep=pb.Sleep())
        case Wake():
            return pb.Intent(wake=pb.Wake())
        case _:
            raise TypeError(intent)


def _direction(direction: int) -> Any:
    return direction + 1


def decode_intent(message: pb.Intent) -> Intent:
    """Decode an intent; the reason in a `MessageError` is the one for its `Ack`."""
    form = chosen(message, "action", "intent")
    return _READERS[form](getattr(message, form))


def _items(message: pb.Pickup | pb.Use | pb.Drop | pb.Give) -> tuple[str, int, str]:
    kind = optional_name(message.kind, "kind")
    item_id = optional_name(message.item_id, "item_id")
    if not kind and not item_id:
        raise MessageError("kind", "the name of a kind of item, unless item_id is set")
    return kind, _amount(message), item_id


def _exchange(message: pb.Exchange | pb.Offer) -> tuple[str, str, int]:
    return name(message.target_id, "target_id"), name(message.kind, "kind"), _amount(message)


def _offer(message: pb.Offer) -> Offer:
    wanted = number(message.wanted_amount, "wanted_amount", 1, AMOUNT) if message.HasField("wanted_amount") else 1
    return Offer(*_exchange(message), optional_name(message.wanted_kind, "wanted_kind"), wanted)


def _amount(message: pb.Pickup | pb.Use | pb.Drop | pb.Give | pb.Exchange | pb.Offer) -> int:
    return number(message.amount, "amount", 1, AMOUNT) if message.HasField("amount") else 1


def _say(message: pb.Say) -> Say:
    return Say(speech(message.text), channel(message.channel) if message.HasField("channel") else LOCAL)


def speech(value: str) -> str:
    """Check the text of a speech; spaces alone count as empty."""
    said = text(value, "text", MAX_TEXT_CHARS)
    if not said or said.isspace():
        raise MessageError("text", "what is said, not empty")
    return said


def channel(value: str) -> str:
    """Check that a channel exists."""
    if value not in CHANNELS:
        raise MessageError("channel", f"one of {', '.join(CHANNELS)}")
    return value


# form of the message -> reader
_READERS: dict[str, Callable[[Any], Intent]] = {
    "wait": lambda _: _WAIT,
    "move": lambda move: Move(member(DIRECTIONS, move.direction, "direction")),
    "pickup": lambda pickup: Pickup(*_items(pickup)),
    "use": lambda use: Use(*_items(use)),
    "say": _say,
    "interact": lambda work: Interact(name(work.target_id, "target_id"), optional_name(work.verb, "verb")),
    "drop": lambda drop: Drop(*_items(drop)),
    "give": lambda give: Give(name(give.target_id, "target_id"), *_items(give)),
    "sleep": lambda _: _SLEEP,
    "wake": lambda _: _WAKE,
    "put": lambda put: Put(*_exchange(put)),
    "take": lambda take: Take(*_exchange(take)),
    "buy": lambda buy: Buy(*_exchange(buy)),
    "sell": lambda sell: Sell(*_exchange(sell)),
    "offer": _offer,
    "accept": lambda accept: Accept(name(accept.target_id, "target_id")),
    "decline": lambda decline: Decline(name(decline.target_id, "target_id")),
    "build": lambda build: Build(name(build.kind, "kind"), member(DIRECTIONS, build.direction, "direction")),
}


@encoder
def encode_ack(ack: Ack) -> pb.Ack:
    """Encode an acknowledgement."""
    return pb.Ack(accepted=ack.accepted, reason=_reason(ack.reason))


def _reason(why: Reason) -> Any:
    return REASON_CODES[why]


def decode_ack(message: pb.Ack) -> Ack:
    """Decode an acknowledgement."""
    why = reason(message.reason, "reason")
    if message.accepted is bool(why):
        raise MessageError("reason", "set if and only if the intent was refused")
    return Ack(message.accepted, why)


@encoder
def encode_result(result: ActionResult) -> pb.ActionResult:
    """Encode the result of an intent."""
    return pb.ActionResult(
        actor_id=result.actor_id,
        action_type=_action(result),
        ok=result.ok,
        reason=_reason(result.reason),
        target_id=result.target_id,
        effects=encode_effects(result.effects),
    )


def _action(result: ActionResult) -> Any:
    return ACTION_CODES[result.action_type] + 1


def encode_effects(effects: tuple[Effect, ...]) -> list[pb.Effect]:
    """Encode what an action changed."""
    return [pb.Effect(name=effect.name, value=effect.value) for effect in effects]


def decode_result(message: pb.ActionResult) -> ActionResult:
    """Decode the result of an intent."""
    why = reason(message.reason, "reason")
    if message.ok is bool(why):
        raise MessageError("reason", "set if and only if the action failed")
    return ActionResult(
        name(message.actor_id, "actor_id"),
        member(ACTIONS, message.action_type, "action_type"),
        message.ok,
        why,
        optional_name(message.target_id, "target_id"),
        decode_effects(message.effects) if message.effects else (),
    )


def decode_effects(effects: Any) -> tuple[Effect, ...]:
    """Decode what an action changed."""
    count(effects, "effects", MAX_EFFECTS)
    return tuple(Effect(name(effect.name, "effects.name"), effect.value) for effect in effects)
