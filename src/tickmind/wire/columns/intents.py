"""Codec of the intents of many actors, packed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tickmind.protocol import (
    ACTION_CODES,
    ACTION_TYPES,
    REASON_CODES,
    UNKNOWN,
    UNUSED,
    ActionType,
    IntentColumns,
    Reason,
)
from tickmind.protocol.intent import AT_CONTAINERS, OF_ITEMS, WITH_ACTORS
from tickmind.wire.codec.actions import AMOUNT, channel, speech
from tickmind.wire.codec.values import encoder, tick
from tickmind.wire.columns.packing import I1, I4, U1, ColumnBounds, pack, read_rows, unpack
from tickmind.wire.errors import MessageError
from tickmind.wire.messages.frames import IntentBatch
from tickmind.wire.v1 import columns_pb2 as pb
from tickmind.wire.v1 import control_pb2

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tickmind.protocol.columns import Int32, UInt8

COLUMNS = (("actor", I4), ("action", U1), ("direction", I1), ("kind", I4), ("amount", I4), ("target", I4))
ILLEGAL = REASON_CODES[Reason.ILLEGAL_ACTION]
MOVE, SAY = ACTION_CODES[ActionType.MOVE], ACTION_CODES[ActionType.SAY]
INTERACT, OFFER = ACTION_CODES[ActionType.INTERACT], ACTION_CODES[ActionType.OFFER]
BUILD = ACTION_CODES[ActionType.BUILD]
NAMES_ITEMS = np.array([action in OF_ITEMS for action in ACTION_TYPES])  # action code -> whether it names items
NAMES_OBJECT = np.array([action in (ActionType.INTERACT, *AT_CONTAINERS) for action in ACTION_TYPES])
NAMES_ACTOR = np.array([action in WITH_ACTORS for action in ACTION_TYPES])


@encoder
def encode_intent_batch(tick_id: int, intents: IntentColumns) -> control_pb2.IntentBatch:
    """Encode intents of one tick."""
    fields: dict[str, Any] = {field: pack(getattr(intents, field), dtype, field) for field, dtype in COLUMNS}
    places = sorted(intents.texts)
    columns = pb.IntentColumns(
        speech_place=np.array(places, I4).tobytes(),
        speeches=[pb.Speech(channel=intents.texts[at][0], text=intents.texts[at][1]) for at in places],
        wishes=[pb.Wish(place=at, kind=kind, amount=amount) for at, (kind, amount) in sorted(intents.wanted.items())],
        **fields,
    )
    return control_pb2.IntentBatch(tick_id=tick_id, intents=columns)


def decode_intent_batch(message: control_pb2.IntentBatch, bounds: ColumnBounds) -> IntentBatch:
    """Decode intents of one tick; illegal ones are refused one by one.

    The arrays are copies, because compiled rules need writable arrays.
    """
    columns = message.intents
    actor = read_rows(columns.actor, bounds.actors, "actor")
    arrays = {field: unpack(getattr(columns, field), dtype, field, len(actor)) for field, dtype in COLUMNS[1:]}
    action = arrays["action"]
    reasons = _reasons(arrays, bounds)
    texts = _said(_read_speeches(columns, action), action, reasons)
    wanted = _wished(_read_wishes(columns, action), reasons, bounds)
    kept = reasons == 0
    moved_to = np.cumsum(kept) - 1  # old place -> new place, of those that are kept
    intents = IntentColumns(
        actor=actor[kept],
        texts={int(moved_to[at]): said for at, said in texts.items() if kept[at]},
        wanted={int(moved_to[at]): goods for at, goods in wanted.items() if kept[at]},
        **{field: column[kept] for field, column in arrays.items()},
    )
    return IntentBatch(tick(message.tick_id), intents, actor[~kept], reasons[~kept])


def refused_rows(intents: IntentColumns, bounds: ColumnBounds) -> "Int32":
    """Return the rows of the intents that a world of these bounds refuses, without encoding them."""
    reasons = _reasons({field: getattr(intents, field) for field, _ in COLUMNS[1:]}, bounds)
    _said(intents.texts, intents.action, reasons)
    _wished(intents.wanted, reasons, bounds)
    refused: Int32 = intents.actor[reasons != 0]
    return refused


def _reasons(arrays: "dict[str, NDArray[Any]]", bounds: ColumnBounds) -> "UInt8":
    return np.where(_legal(arrays, bounds), 0, ILLEGAL).astype(np.uint8)


def _legal(arrays: "dict[str, NDArray[Any]]", bounds: ColumnBounds) -> "NDArray[np.bool_]":
    action, direction = arrays["action"], arrays["direction"]
    kind, amount, target = arrays["kind"], arrays["amount"], arrays["target"]
    known = action < len(ACTION_TYPES)
    code = np.where(known, action, 0)
    of_items, on_objects, with_actors = NAMES_ITEMS[code], NAMES_OBJECT[code], NAMES_ACTOR[code]
    works, builds = action == INTERACT, action == BUILD
    kinds = np.select([of_items, works, builds], [bounds.item_kinds, bounds.verbs, bounds.kinds], 0)
    goes = (action == MOVE) | builds
    targets = np.where(on_objects, bounds.objects, np.where(with_actors, bounds.actors, 0))
    legal: NDArray[np.bool_] = known & np.where(goes, (direction >= 0) & (direction < 8), direction == UNUSED)
    legal &= _named(kind, kinds, of_items | works | builds) & _named(target, targets, on_objects | with_actors)
    legal &= np.where(of_items, (amount >= 1) & (amount <= AMOUNT), amount == UNUSED)
    return legal


def _named(codes: "Int32", bound: "NDArray[Any]", needed: "NDArray[np.bool_]") -> "NDArray[np.bool_]":
    good = (codes == UNKNOWN) | ((codes >= 0) & (codes < bound))
    named: NDArray[np.bool_] = np.where(needed, good, codes == UNUSED)
    return named


def _read_wishes(columns: pb.IntentColumns, action: "UInt8") -> dict[int, tuple[int, int]]:
    """Return what offers are for, by their places."""
    wishes: dict[int, tuple[int, int]] = {}
    last = -1
    for wish in columns.wishes:
        if not last < wish.place < len(action) or action[wish.place] != OFFER:
            raise MessageError("wishes", "places of offers, ascending, none twice")
        last = wish.place
        wishes[wish.place] = wish.kind, wish.amount
    return wishes


def _wished(
    wishes: Mapping[int, tuple[int, int]], reasons: "UInt8", bounds: ColumnBounds
) -> dict[int, tuple[int, int]]:
    """Return the valid wishes; offers with an invalid one get a reason."""
    wanted: dict[int, tuple[int, int]] = {}
    for at, (kind, amount) in wishes.items():
        if (kind == UNKNOWN or 0 <= kind < bounds.item_kinds) and 1 <= amount <= AMOUNT:
            wanted[at] = kind, amount
        else:
            reasons[at] = ILLEGAL
    return wanted


def _read_speeches(columns: pb.IntentColumns, action: "UInt8") -> dict[int, tuple[str, str]]:
    """Return channels and texts by their places."""
    places = read_rows(columns.speech_place, len(action), "speech_place")
    if len(places) != len(columns.speeches):
        raise MessageError("speeches", "as many as their places")
    if (action[places] != SAY).any():
        raise MessageError("speech_place", "places of those that speak")
    return {at: (said.channel, said.text) for at, said in zip(places.tolist(), columns.speeches, strict=True)}


def _said(speeches: Mapping[int, tuple[str, str]], action: "UInt8", reasons: "UInt8") -> dict[int, tuple[str, str]]:
    """Return the valid texts; speakers without one get a reason."""
    silent = action == SAY
    silent[list(speeches)] = False
    reasons[silent] = ILLEGAL
    texts: dict[int, tuple[str, str]] = {}
    for at, (said_on, said) in speeches.items():
        try:
            texts[at] = channel(said_on), speech(said)
        except MessageError as error:
            reasons[at] = REASON_CODES[error.reason]
    return texts
