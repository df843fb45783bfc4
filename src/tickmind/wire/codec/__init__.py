"""The codec between protobuf records and `protocol` types.

`encode_...` writes and `decode_...` reads. Decoding any message returns a value that keeps all rules of its type, or
raises `MessageError`. Packed columns are in `tickmind.wire.columns`, which needs NumPy.
"""

from tickmind.wire.codec.actions import (
    decode_ack,
    decode_intent,
    decode_result,
    encode_ack,
    encode_intent,
    encode_result,
)
from tickmind.wire.codec.control import decode_down, decode_up, encode_down, encode_up
from tickmind.wire.codec.entities import (
    WorldReader,
    decode_entity,
    decode_lifecycle,
    decode_page,
    encode_entity,
    encode_lifecycle,
    encode_world,
)
from tickmind.wire.codec.insights import decode_insight, encode_insight
from tickmind.wire.codec.leases import (
    decode_lease,
    decode_lease_answer,
    decode_released,
    decode_tick,
    encode_acquired,
    encode_lease,
    encode_renewed,
    encode_tick,
)
from tickmind.wire.codec.observations import decode_observation, encode_observation
from tickmind.wire.codec.placements import (
    decode_placement_outcome,
    decode_placement_request,
    encode_placement_outcome,
    encode_placement_request,
)
from tickmind.wire.codec.requests import (
    decode_acquire,
    decode_entities_request,
    decode_insights_request,
    decode_lease_id,
    decode_observations_request,
    decode_status_request,
    decode_submit,
    decode_thought_request,
    encode_acquire,
    encode_entities_request,
    encode_insights_request,
    encode_observations_request,
    encode_status_request,
    encode_submit,
    encode_thought_request,
)
from tickmind.wire.codec.telemetry import decode_status, decode_thought_report, encode_status, encode_thought_report
from tickmind.wire.codec.values import parse
from tickmind.wire.codec.writer import ObservationWriter, write_times

__all__ = [
    "ObservationWriter",
    "WorldReader",
    "decode_ack",
    "decode_acquire",
    "decode_down",
    "decode_entities_request",
    "decode_entity",
    "decode_insight",
    "decode_insights_request",
    "decode_intent",
    "decode_lease",
    "decode_lease_answer",
    "decode_lease_id",
    "decode_lifecycle",
    "decode_observation",
    "decode_observations_request",
    "decode_page",
    "decode_placement_outcome",
    "decode_placement_request",
    "decode_released",
    "decode_result",
    "decode_status",
    "decode_status_request",
    "decode_submit",
    "decode_thought_report",
    "decode_thought_request",
    "decode_tick",
    "decode_up",
    "encode_ack",
    "encode_acquire",
    "encode_acquired",
    "encode_down",
    "encode_entities_request",
    "encode_entity",
    "encode_insight",
    "encode_insights_request",
    "encode_intent",
    "encode_lease",
    "encode_lifecycle",
    "encode_observation",
    "encode_observations_request",
    "encode_placement_outcome",
    "encode_placement_request",
    "encode_renewed",
    "encode_result",
    "encode_status",
    "encode_status_request",
    "encode_submit",
    "encode_thought_report",
    "encode_thought_request",
    "encode_tick",
    "encode_up",
    "encode_world",
    "parse",
    "write_times",
]
