"""Codec of the goals of a world."""

from tickmind.protocol import GoalInfo
from tickmind.wire.codec.amounts import decode_amounts, encode_amounts
from tickmind.wire.codec.values import name, names, optional_name, tick
from tickmind.wire.messages.limits import MAX_ACTORS
from tickmind.wire.v1 import entity_pb2 as pb


def encode_goal(goal: GoalInfo) -> pb.GoalInfo:
    """Encode a goal."""
    return pb.GoalInfo(
        name=goal.name,
        score=goal.score,
        ends=goal.ends,
        tags=goal.tags,
        types=goal.types,
        ids=goal.ids,
        all_in=goal.all_in,
        each_in=goal.each_in,
        carry=encode_amounts(goal.carry),
        object_id=goal.object_id,
        state=goal.state,
        tick_id=goal.tick_id,
    )


def decode_goal(message: pb.GoalInfo) -> GoalInfo:
    """Decode a goal."""
    return GoalInfo(
        name=name(message.name, "goals.name"),
        score=message.score,
        ends=message.ends,
        tags=names(message.tags, "goals.tags", MAX_ACTORS),
        types=names(message.types, "goals.types", MAX_ACTORS),
        ids=names(message.ids, "goals.ids", MAX_ACTORS),
        all_in=optional_name(message.all_in, "goals.all_in"),
        each_in=optional_name(message.each_in, "goals.each_in"),
        carry=decode_amounts(message.carry),
        object_id=optional_name(message.object_id, "goals.object_id"),
        state=optional_name(message.state, "goals.state"),
        tick_id=tick(message.tick_id, "goals.tick_id"),
    )
