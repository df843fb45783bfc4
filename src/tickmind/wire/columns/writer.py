"""A writer of the observations of many actors as bytes, which copies each column once."""

import numpy as np

from tickmind.protocol import ObservationColumns
from tickmind.wire.codec.values import encoder
from tickmind.wire.codec.writer import field_head
from tickmind.wire.columns.observations import (
    PACKED,
    encode_details,
    encode_placed_objects,
    encode_placed_offers,
    encode_utterance,
)
from tickmind.wire.columns.packing import U1, check_type
from tickmind.wire.messages.frames import ObservationBatch
from tickmind.wire.v1 import columns_pb2, control_pb2

_NUMBERS = {name: field.number for name, field in columns_pb2.ObservationColumns.DESCRIPTOR.fields_by_name.items()}


@encoder
def write_observations(frame: ObservationBatch) -> bytes:
    """Return a serialized `ControlBatchResponse`, equal to `encode_batch_down` except for the order of fields."""
    pieces = _pieces(frame.observations)
    size = sum(map(len, pieces))
    batch = control_pb2.ObservationBatch(part=frame.part, parts=frame.parts).SerializeToString()
    inner = batch + field_head(control_pb2.ObservationBatch.OBSERVATIONS_FIELD_NUMBER, size)
    outer = field_head(control_pb2.ControlBatchResponse.OBSERVATIONS_FIELD_NUMBER, len(inner) + size)
    return b"".join((outer, inner, *pieces))


def _pieces(columns: ObservationColumns) -> list[bytes | memoryview]:
    """Return a serialized `ObservationColumns` in pieces, the columns themselves among them."""
    small = columns_pb2.ObservationColumns(
        tick_id=columns.tick_id,
        deadline_ms=columns.deadline_ms,
        radius=columns.radius,
        utterances=[encode_utterance(utterance) for utterance in columns.utterances],
        offers=encode_placed_offers(columns.offers),
        placed=encode_placed_objects(columns.placed),
        details=encode_details(columns.details),
    )
    pieces: list[bytes | memoryview] = [small.SerializeToString()]
    for field, own, dtype in PACKED:
        column = getattr(columns, own)
        if column is None:
            continue
        check_type(column, dtype, field)
        if column.size:
            pieces += (
                field_head(_NUMBERS[field], column.nbytes),
                np.ascontiguousarray(column).reshape(-1).view(U1).data,
            )
    return pieces
