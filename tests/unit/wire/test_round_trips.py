import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kits.wire_fuzz import CODECS
from tests.kits.wire_same import same
from tests.kits.wire_sample_columns import ColumnSamples

from tickmind.wire import codec, columns
from tickmind.wire.messages.frames import Closed, ObservationBatch
from tickmind.wire.v1 import control_pb2

SEEDS = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize("kind", CODECS)
@settings(deadline=None)
@given(seed=SEEDS)
@pytest.mark.slow
def test_what_was_written_is_read_again(kind, seed):
    handler = CODECS[kind]
    value = handler.make(ColumnSamples(seed))
    data = handler.encode(value).SerializeToString()
    assert same(handler.decode(codec.parse(handler.message, data)), value)


@settings(deadline=None)
@given(seed=SEEDS)
def test_a_renewed_lease_or_its_refusal_is_read_again(seed):
    samples = ColumnSamples(seed)
    lease = samples.lease()
    assert codec.decode_lease_answer(codec.encode_renewed(lease)) == lease
    refusal = samples.refusal()
    assert codec.decode_lease_answer(codec.encode_renewed(refusal)) == Closed(refusal.reason)


@settings(deadline=None)
@given(seed=SEEDS)
def test_observations_written_as_bytes_are_those_of_the_message(seed):
    samples = ColumnSamples(seed)
    parts = samples.number(4096, 1)
    frame = ObservationBatch(samples.number(parts - 1), parts, samples.observation_columns())
    read = codec.parse(control_pb2.ControlBatchResponse, columns.write_observations(frame))
    assert read == columns.encode_batch_down(frame)


def test_different_columns_are_told_apart_by_same():
    first, second = ColumnSamples(1).observation_columns(3), ColumnSamples(2).observation_columns(3)
    assert same(first, first)
    assert not same(first, second)
    assert not same(first.x, first.x.astype("int64"))
