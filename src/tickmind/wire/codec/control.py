"""Codec of the frames of a control stream for one entity."""

from dataclasses import replace
from typing import Any

from tickmind.protocol import REASON_CODES, Lease, Observation, RunInfo
from tickmind.wire.codec.actions import decode_ack, decode_intent, encode_ack, encode_intent
from tickmind.wire.codec.goals import decode_goal, encode_goal
from tickmind.wire.codec.kinds import (
    decode_floor,
    decode_item,
    decode_kind,
    encode_floor,
    encode_item,
    encode_kind,
)
from tickmind.wire.codec.leases import DURATION_MS, decode_lease, encode_lease
from tickmind.wire.codec.observations import decode_observation, encode_observation
from tickmind.wire.codec.setting import decode_persona, decode_setting, encode_persona, encode_setting
from tickmind.wire.codec.values import (
    chosen,
    controller,
    count,
    encoder,
    name,
    number,
    optional_name,
    optional_secret,
    present,
    reason,
    tick,
)
from tickmind.wire.messages.frames import (
    Closed,
    ControlAck,
    ControlDown,
    ControlIntent,
    ControlOpen,
    ControlOpened,
    ControlUp,
    KeepAlive,
    Release,
)
from tickmind.wire.messages.limits import MAX_GOALS, MAX_KINDS, MAX_SEED, MAX_THINKING_TICKS
from tickmind.wire.v1 import control_pb2 as pb


@encoder
def encode_up(frame: ControlUp) -> pb.ControlRequest:
    """Encode a frame from an agent."""
    match frame:
        case ControlIntent(tick_id, intent):
            return pb.ControlRequest(intent=pb.ControlIntent(tick_id=tick_id, intent=encode_intent(intent)))
        case KeepAlive():
            return pb.ControlRequest(keep_alive=pb.KeepAlive())
        case Release():
            return pb.ControlRequest(release=pb.Release())
        case ControlOpen(entity_id, controller_id, previous, want_floors, play):
            opening = pb.ControlOpen(
                entity_id=entity_id,
                controller_id=controller_id,
                previous_lease_id=previous.reveal() if previous else "",
                want_floors=want_floors,
                play=play,
            )
            return pb.ControlRequest(open=opening)
        case _:
            raise TypeError(frame)


def decode_up(message: pb.ControlRequest) -> ControlUp:
    """Decode a frame from an agent. Raises `MessageError` for an invalid intent, with the reason for its ack."""
    form = chosen(message, "frame", "frame")
    if form == "intent":
        present(message.intent, "intent")
        return ControlIntent(tick(message.intent.tick_id), decode_intent(message.intent.intent))
    if form == "keep_alive":
        return KeepAlive()
    if form == "release":
        return Release()
    opening = message.open
    return ControlOpen(
        name(opening.entity_id, "entity_id"),
        controller(opening.controller_id, "controller_id"),
        optional_secret(opening.previous_lease_id, "previous_lease_id"),
        opening.want_floors,
        opening.play,
    )


@encoder
def encode_down(frame: ControlDown) -> pb.ControlResponse:
    """Encode a frame from the world."""
    match frame:
        case Observation():
            return pb.ControlResponse(observation=encode_observation(frame))
        case ControlAck(tick_id, ack):
            return pb.ControlResponse(ack=pb.ControlAck(tick_id=tick_id, ack=encode_ack(ack)))
        case ControlOpened(lease, run):
            return pb.ControlResponse(opened=_encode_opened(lease, run))
        case Closed():
            return pb.ControlResponse(closed=encode_closed(frame))
        case _:
            raise TypeError(frame)


_SHARED = ("setting", "kinds", "items", "floors")
_constant: tuple[RunInfo, pb.ControlOpened] | None = None  # a run, and the part that all of its leases share


@encoder
def _encode_opened(lease: Lease, run: RunInfo) -> pb.ControlOpened:
    global _constant  # noqa: PLW0603  a large world's setting is encoded once, not for each of its agents
    if _constant is None or any(getattr(_constant[0], part) is not getattr(run, part) for part in _SHARED):
        shared = pb.ControlOpened(
            setting=encode_setting(run.setting),
            kinds=map(encode_kind, run.kinds),
            items=map(encode_item, run.items),
            floors=map(encode_floor, run.floors),
        )
        _constant = run, shared
    persona = run.personas.get(lease.entity_id)
    opened = pb.ControlOpened(
        lease=encode_lease(lease),
        persona=None if persona is None else encode_persona(persona),
        goals=map(encode_goal, run.goals.get(lease.entity_id, ())),
        **encode_run(run),
    )
    opened.MergeFrom(_constant[1])
    return opened


def encode_run(run: RunInfo) -> dict[str, Any]:
    """Return the fields of a run, of which both kinds of streams have the same."""
    return {"run_id": run.run_id, "mind_seed": run.mind_seed, "thinking_ticks": run.thinking_ticks}


def decode_run(message: pb.ControlOpened | pb.ControlBatchOpened) -> RunInfo:
    """Read the fields of a run."""
    return RunInfo(
        optional_name(message.run_id, "run_id"),
        number(message.mind_seed, "mind_seed", 0, int(MAX_SEED.maximum)),
        number(message.thinking_ticks, "thinking_ticks", 0, int(MAX_THINKING_TICKS.maximum)),
    )


def _decode_opened(message: pb.ControlOpened) -> ControlOpened:
    lease = decode_lease(message.lease)
    personas = {lease.entity_id: decode_persona(message.persona)} if message.HasField("persona") else {}
    count(message.kinds, "kinds", MAX_KINDS)
    count(message.items, "items", MAX_KINDS)
    count(message.floors, "floors", MAX_KINDS)
    count(message.goals, "goals", MAX_GOALS)
    run = replace(
        decode_run(message),
        setting=decode_setting(message.setting),
        personas=personas,
        kinds=tuple(map(decode_kind, message.kinds)),
        items=tuple(map(decode_item, message.items)),
        floors=tuple(map(decode_floor, message.floors)),
        goals={lease.entity_id: tuple(map(decode_goal, message.goals))} if message.goals else {},
    )
    return ControlOpened(lease, run)


def encode_closed(frame: Closed) -> pb.Closed:
    """Encode the end of a stream."""
    why: Any = REASON_CODES[frame.reason]
    return pb.Closed(reason=why, retry_after_ms=frame.retry_after_ms)


def decode_down(message: pb.ControlResponse) -> ControlDown:
    """Decode a frame from the world."""
    form = chosen(message, "frame", "frame")
    if form == "observation":
        return decode_observation(message.observation)
    if form == "ack":
        present(message.ack, "ack")
        return ControlAck(tick(message.ack.tick_id), decode_ack(message.ack.ack))
    if form == "opened":
        present(message.opened, "lease")
        return _decode_opened(message.opened)
    return decode_closed(message.closed)


def decode_closed(message: pb.Closed) -> Closed:
    """Decode the end of a stream."""
    return Closed(reason(message.reason, "reason"), number(message.retry_after_ms, "retry_after_ms", 0, DURATION_MS))
