"""Frames of the log: what goes in comes out, and time is spent on compressing where it is of use."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import ManualClock
from tickmind.record import LogOptions, RunStore, SyncPolicy
from tickmind.record.log.frame import (
    HEADER,
    Codec,
    CompressionBackoff,
    LogFrameKind,
    content_of,
    is_whole,
    pack_frame,
    read_header,
)
from tickmind.record.testing import MemoryDisk, RandomRun

LARGE = 100_000


def even(size):
    return bytes(size)


def noise(size):
    return random.Random(1).randbytes(size)


@given(st.binary(max_size=2000), st.integers(0, 400), st.sampled_from([None, *Codec]))
def test_what_goes_in_comes_out(piece, times, codec):
    content = piece * times
    data = pack_frame(LogFrameKind.TICK, 7, content, synced=3, codec=codec)
    frame = read_header(data, 0)
    assert frame is not None
    assert is_whole(frame, data)
    assert content_of(frame, data).to_pybytes() == content
    assert len(data) <= HEADER.size + len(content)


def tried(contents):
    """The codec that was tried for each of them."""
    patience = CompressionBackoff()
    found = []
    for content in contents:
        found.append(patience.codec_for(len(content)))
        data = pack_frame(LogFrameKind.TICK, 1, content, synced=0, codec=found[-1])
        patience.learn(found[-1], len(content), len(data))
    return found


def test_what_shrinks_is_always_compressed():
    assert tried([even(LARGE)] * 40) == [Codec.LZ4] * 40


def test_what_does_not_shrink_is_tried_once_in_a_while():
    assert tried([noise(LARGE)] * 48) == ([Codec.LZ4] + [Codec.NONE] * 15) * 3


def test_small_ones_are_always_tried_and_end_no_pause():
    assert tried([noise(LARGE), noise(500), even(500), noise(LARGE)]) == [
        Codec.LZ4,
        Codec.ZSTD,
        Codec.ZSTD,
        Codec.NONE,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("codec", [None, Codec.LZ4])
def test_a_crowd_that_does_not_shrink_is_left_as_it_is_unless_a_codec_is_asked_for(codec, monkeypatch):
    used = []

    def noted(*arguments, codec=None, **rest):
        used.append(codec)
        return pack_frame(*arguments, codec=codec, **rest)

    monkeypatch.setattr("tickmind.record.log.log_writer.pack_frame", noted)
    run = RandomRun(3, 60_000, side=900, wild=0.0)
    store = RunStore(Path("/runs"), MemoryDisk(), clock=ManualClock())
    log = store.create(run.info, "r", options=LogOptions(sync=SyncPolicy.NEVER, codec=codec))
    for _ in range(6):
        log.publish(run.tick())
    log.close(seal=False)
    keyframe, first, *rest = used
    if codec is None:
        assert keyframe is None  # whichever suits it
        assert first is Codec.LZ4
        assert set(rest) == {Codec.NONE}
    else:
        assert used == [codec] * 6
