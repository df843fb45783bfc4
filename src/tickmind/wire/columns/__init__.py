"""The codec between packed columns and `protocol` types, for hosts of many actors and for viewers.

Rows and codes are checked against the `ColumnBounds` of the world. This part loads NumPy;
`tickmind.wire.codec` does not.
"""

from tickmind.wire.columns.batches import decode_batch_down, decode_batch_up, encode_batch_down, encode_batch_up
from tickmind.wire.columns.observations import decode_observation_columns, encode_observation_columns, mask_words
from tickmind.wire.columns.packing import ColumnBounds
from tickmind.wire.columns.viewer import (
    decode_filter,
    decode_snapshot,
    decode_viewer_event,
    encode_filter,
    encode_snapshot,
    encode_viewer_event,
)
from tickmind.wire.columns.writer import write_observations

__all__ = [
    "ColumnBounds",
    "decode_batch_down",
    "decode_batch_up",
    "decode_filter",
    "decode_observation_columns",
    "decode_snapshot",
    "decode_viewer_event",
    "encode_batch_down",
    "encode_batch_up",
    "encode_filter",
    "encode_observation_columns",
    "encode_snapshot",
    "encode_viewer_event",
    "mask_words",
    "write_observations",
]
