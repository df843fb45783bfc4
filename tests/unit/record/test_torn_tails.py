"""Frames, segments and what is mended of them, to the byte: where each check begins and ends."""

import json
from pathlib import Path

import pytest

from tickmind.base import LimitExceededError, ManualClock
from tickmind.protocol import TickReports
from tickmind.record import DamagedRunError, LogOptions, SyncPolicy
from tickmind.record.errors import SchemaVersionError
from tickmind.record.limits import MAX_FRAME_BYTES, MAX_SEGMENT_BYTES, MAX_SEGMENT_TICKS
from tickmind.record.log import frame as frame_module
from tickmind.record.log import mending as mending_module
from tickmind.record.log import segment as segment_module
from tickmind.record.log.frame import (
    HEADER,
    Codec,
    CompressionBackoff,
    LogFrameKind,
    content_of,
    pack_frame,
    read_header,
)
from tickmind.record.log.log_writer import LogWriter
from tickmind.record.log.mending import cut_damage, mend_tail
from tickmind.record.log.segment import (
    END,
    MAGIC,
    Index,
    SegmentReader,
    foot_frame,
    head_frame,
    segment_name,
    segment_number,
)
from tickmind.record.testing import CrashedError, MemoryDisk, RandomRun

FOLDER, BESIDE = Path("/live"), Path("/beside")


class Watched(MemoryDisk):
    """A disk that knows how many of its files are open for writing."""

    def __init__(self) -> None:
        super().__init__()
        self.open_files = 0

    def create(self, path):
        return self._watch(super().create(path))

    def append(self, path):
        return self._watch(super().append(path))

    def _watch(self, file):
        close = file.close
        self.open_files += 1

        def closing():
            self.open_files -= 1
            close()

        file.close = closing
        return file


@pytest.fixture
def disk():
    made = Watched()
    made.make_folder(FOLDER)
    made.sync_folder(FOLDER.parent)
    return made


def put(disk, data, number=1):
    """Write a segment of these bytes, safe on disk."""
    path = FOLDER / segment_name(number)
    file = disk.create(path)
    file.write(data)
    file.sync()
    file.close()
    disk.sync_folder(FOLDER)
    return path


def ticks(count, *, first=1, closed=True, synced=0):
    """The bytes of a segment with so many ticks, and its index."""
    data = head_frame("r", 1, first)
    index = Index(end=len(data))
    for tick_id in range(first, first + count):
        index.add(tick_id, len(data), keyframe=tick_id == first)
        data += pack_frame(LogFrameKind.TICK, tick_id, b"tick %d" % tick_id, synced=synced, keyframe=tick_id == first)
    index.end = len(data)
    return (data + foot_frame(index, index.end, index.end) if closed else data), index


def loaded(disk, path):
    reader = SegmentReader(disk, path)
    reader.load()
    return reader


def lose_power(disk):
    disk.crash_at(1)
    with pytest.raises(CrashedError):
        disk.make_folder(FOLDER)
    disk.restart()


# Frames


def test_a_frame_is_as_long_as_the_limit_and_no_longer(monkeypatch):
    monkeypatch.setattr(frame_module, "MAX_FRAME_BYTES", MAX_FRAME_BYTES.at(1000))
    data = pack_frame(LogFrameKind.TICK, 1, bytes(1000), synced=0)
    assert read_header(data, 0) is not None
    with pytest.raises(LimitExceededError):
        pack_frame(LogFrameKind.TICK, 1, bytes(1001), synced=0)
    monkeypatch.setattr(frame_module, "MAX_FRAME_BYTES", MAX_FRAME_BYTES.at(999))
    assert read_header(data, 0) is None


def test_a_frame_that_says_it_holds_more_than_was_put_in_is_none():
    data = bytearray(pack_frame(LogFrameKind.TICK, 1, b"abc", synced=0))
    marker, kind, codec, flags, tick_id, raw, stored, synced, checksum = HEADER.unpack_from(data)
    HEADER.pack_into(data, 0, marker, kind, codec, flags, tick_id, raw, stored + 1, synced, checksum)
    assert read_header(bytes(data), 0) is None


@pytest.mark.parametrize(
    ("content", "codec"),
    [
        (bytes(127), Codec.NONE),
        (bytes(128), Codec.ZSTD),
        (bytes(32_768), Codec.ZSTD),
        (bytes(32_769), Codec.LZ4),
        (bytes(range(256)), Codec.NONE),  # which does not shrink
    ],
    ids=["short", "128", "32768", "32769", "all bytes"],
)
def test_what_is_compressed_and_how(content, codec):
    data = pack_frame(LogFrameKind.TICK, 1, content, synced=0)
    frame = read_header(data, 0)
    assert frame is not None
    assert frame.codec is codec
    assert (frame.stored_bytes == len(content)) == (codec is Codec.NONE)
    assert content_of(frame, data).to_pybytes() == content


@pytest.mark.parametrize("keyframe", [True, False])
def test_a_frame_knows_whether_it_is_a_keyframe(keyframe):
    frame = read_header(pack_frame(LogFrameKind.TICK, 1, b"", synced=5, keyframe=keyframe), 0)
    assert frame is not None
    assert (frame.keyframe, frame.synced) == (keyframe, 5)


@pytest.mark.parametrize("codec", [Codec.ZSTD, Codec.LZ4])
def test_content_that_can_not_be_unpacked_is_damage(codec):
    data = bytearray(pack_frame(LogFrameKind.TICK, 7, bytes(4000), synced=0, codec=codec))
    data[HEADER.size :] = b"\xff" * (len(data) - HEADER.size)
    frame = read_header(bytes(data), 0)
    assert frame is not None
    with pytest.raises(DamagedRunError, match="tick 7"):
        content_of(frame, bytes(data))


@pytest.mark.parametrize(("stored", "tried"), [(90, Codec.LZ4), (91, Codec.NONE)])
def test_what_shrinks_by_a_tenth_is_worth_the_time(stored, tried):
    patience = CompressionBackoff()
    patience.learn(Codec.LZ4, 100, stored)
    assert patience.codec_for(100_000) is tried


# Segments


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("00000001.tmlog", 1),
        ("12345678.tmlog", 12_345_678),
        ("0000001.tmlog", None),
        ("000000001.tmlog", None),
        ("0000000a.tmlog", None),
        ("00000001", None),
        ("00000001.tmlog.new", None),
        ("\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0661.tmlog", None),
    ],
)
def test_only_eight_digits_name_a_segment(name, number):
    assert segment_number(name) == number


def test_the_index_before_a_tick_has_nothing_of_it():
    index = Index([5, 6, 7], [50, 60, 70], [5, 7], 80)
    assert index.before(2) == Index([5, 6], [50, 60], [5], 70)
    assert index.before(0) == Index([], [], [], 50)


def test_head_and_foot_say_what_was_safe_and_which_tick_was_last():
    head = read_header(head_frame("r", 1, 9)[len(MAGIC) :], 0)
    foot = read_header(foot_frame(Index(), 8, 8), 0)
    assert head is not None
    assert foot is not None
    assert (head.tick_id, head.synced, foot.tick_id, foot.synced) == (9, 0, 0, 8)


def packed(head, columns):
    words = json.dumps(head).encode()
    return len(words).to_bytes(8, "little") + words + b"".join(one.to_bytes(8, "little") for one in columns)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 40,
        packed({"ticks": 1}, [1, 2]),
        packed({"ticks": 2, "keyframes": 0, "end": 8}, [1, 2]),
        packed({"ticks": -1, "keyframes": 5, "end": 8}, [1, 2, 3]),
        packed({"ticks": 2, "keyframes": -1, "end": 8}, [1, 2, 3]),
        packed({"ticks": 1, "keyframes": 0, "end": 8}, [1, 2]) + b"x",
    ],
    ids=["nothing", "garbage", "no end", "too short", "minus ticks", "minus keyframes", "half a number"],
)
def test_an_index_that_can_not_be_is_damage(content):
    with pytest.raises(DamagedRunError, match="recover the run"):
        Index.unpack(content)


def test_a_segment_has_a_greatest_size(disk, monkeypatch):
    data, _ = ticks(2)
    path = put(disk, data)
    monkeypatch.setattr(segment_module, "MAX_SEGMENT_BYTES", MAX_SEGMENT_BYTES.at(len(data)))
    assert loaded(disk, path).closed
    monkeypatch.setattr(segment_module, "MAX_SEGMENT_BYTES", MAX_SEGMENT_BYTES.at(len(data) - 1))
    with pytest.raises(LimitExceededError):
        loaded(disk, path)


def test_an_index_has_a_greatest_size(disk, monkeypatch):
    data, index = ticks(40)
    path = put(disk, data)
    size = len(index.pack())
    monkeypatch.setattr(segment_module, "MAX_SEGMENT_TICKS", MAX_SEGMENT_TICKS.at(10))
    monkeypatch.setattr(segment_module, "_MOST_HEAD_BYTES", size - 3 * 8 * 10)
    assert loaded(disk, path).index == index
    monkeypatch.setattr(segment_module, "_MOST_HEAD_BYTES", size - 3 * 8 * 10 - 1)
    with pytest.raises(DamagedRunError, match="more ticks than a segment"):
        loaded(disk, path)


def test_an_index_of_another_place_is_damage(disk):
    data, index = ticks(3, closed=False)
    index.end += 1
    path = put(disk, data + foot_frame(index, len(data), 0))
    with pytest.raises(DamagedRunError, match="does not match its file"):
        loaded(disk, path)


def test_a_segment_of_a_later_version_is_not_read(disk):
    data, _ = ticks(3)
    path = put(disk, data[:6] + b"\x00\x02\n"[-2:] + data[8:])
    with pytest.raises(SchemaVersionError):
        loaded(disk, path)


def test_a_file_of_another_kind_has_no_ticks(disk):
    data, _ = ticks(3, closed=False)
    reader = loaded(disk, put(disk, b"notalog\n" + data[8:]))
    assert (reader.index.ticks, reader.index.end, reader.closed) == ([], 0, False)
    assert list(reader.loose_reports()) == []


def test_an_end_that_points_elsewhere_is_looked_through_instead(disk):
    data, index = ticks(3, closed=False)
    for offset in (index.offsets[1], 3, len(data) + 10**6):
        reader = loaded(disk, put(disk, data + END.pack(offset, b"tmlogend")))
        assert (reader.index.ticks, reader.closed) == ([1, 2, 3], False)
        assert not reader.is_complete()


def test_a_foot_whose_end_is_torn_closes_a_segment_all_the_same(disk):
    data, index = ticks(3)
    reader = loaded(disk, put(disk, data[: -END.size]))
    assert (reader.index, reader.closed, reader.is_complete()) == (index, True, True)


def test_a_file_that_is_shorter_than_it_was_is_looked_through(disk, monkeypatch):
    data, _ = ticks(3, closed=False)
    path = put(disk, data)
    monkeypatch.setattr(disk, "size", lambda _path: len(data) + 100)
    assert loaded(disk, path).index.ticks == [1, 2, 3]


def test_whole_frames_are_found_wherever_they_begin(disk, monkeypatch):
    data, index = ticks(12, closed=False)
    path = put(disk, data)
    monkeypatch.setattr(segment_module, "_READ_BYTES", 64)
    reader = loaded(disk, path)
    assert [frame.tick_id for frame in reader.whole_frames_beyond(index.offsets[0] + 1)] == list(range(2, 13))


def test_what_a_later_frame_calls_safe_ends_before_its_word(disk):
    for synced, safe in ((100, False), (101, True)):
        head = head_frame("r", 1, 1)
        data = head + bytes(300 - len(head)) + pack_frame(LogFrameKind.TICK, 9, b"x", synced=synced)
        assert loaded(disk, put(disk, data)).safe_beyond(100) is safe


# Mending


def test_a_log_without_segments_needs_no_mending(disk):
    assert mend_tail(disk, FOLDER) == 0


def test_a_closed_log_is_written_anew_and_loses_nothing(disk, monkeypatch):
    monkeypatch.setattr(mending_module, "_COPY_BYTES", 64)
    data, index = ticks(5)
    path = put(disk, data)
    assert mend_tail(disk, FOLDER) == 0
    assert disk.read_bytes(path)[: index.end] == data[: index.end]
    assert loaded(disk, path).closed
    assert disk.open_files == 0


@pytest.mark.parametrize("torn", [1, 17, 45])
def test_a_torn_tail_is_cut_to_the_byte_and_the_segment_closed(disk, monkeypatch, torn):
    monkeypatch.setattr(mending_module, "_COPY_BYTES", 64)
    data, index = ticks(5, closed=False)
    more = pack_frame(LogFrameKind.TICK, 6, b"tick 6", synced=index.end)
    path = put(disk, data + more[:torn])
    assert mend_tail(disk, FOLDER) == torn
    reader = loaded(disk, path)
    assert (reader.index.ticks, reader.closed) == ([1, 2, 3, 4, 5], True)
    assert disk.read_bytes(path)[: index.end] == data
    assert disk.list(FOLDER) == [path.name]
    assert disk.open_files == 0


def test_a_segment_without_a_tick_is_gone_for_good(disk):
    data, _ = ticks(0, closed=False)
    put(disk, data)
    assert mend_tail(disk, FOLDER) == len(data)
    lose_power(disk)
    assert disk.list(FOLDER) == []


def test_damage_to_what_was_safe_is_never_cut(disk):
    data, index = ticks(5, closed=False, synced=10_000)
    spoilt = bytearray(data)
    spoilt[index.offsets[2] + HEADER.size] ^= 1
    put(disk, bytes(spoilt))
    with pytest.raises(DamagedRunError, match=f"damaged at byte {index.offsets[2]:,}"):
        mend_tail(disk, FOLDER)
    assert disk.read_bytes(FOLDER / segment_name(1)) == bytes(spoilt)


def test_cutting_damage_leaves_whole_segments_as_they_are(disk):
    segments = [put(disk, ticks(3, first=first)[0], number) for number, first in ((1, 1), (2, 4))]
    before = [disk.read_bytes(path) for path in segments]
    loss = cut_damage(disk, FOLDER, BESIDE)
    assert (loss.cut_bytes, loss.last_tick_id, loss.beside) == (0, 6, ())
    assert [disk.read_bytes(path) for path in segments] == before


def test_cutting_damage_cuts_behind_the_last_whole_tick_and_moves_what_follows(disk):
    first, index = ticks(5, closed=False, synced=10_000)
    spoilt = bytearray(first)
    spoilt[index.offsets[3] + HEADER.size] ^= 1
    path = put(disk, bytes(spoilt))
    later, _ = ticks(2, first=6)
    put(disk, later, 2)
    loss = cut_damage(disk, FOLDER, BESIDE)
    assert loss.cut_bytes == len(first) - index.offsets[3] + len(later)
    assert (loss.last_tick_id, loss.beside) == (3, (5, 6, 7))
    lose_power(disk)
    assert disk.list(FOLDER) == [path.name]
    reader = loaded(disk, path)
    assert (reader.index.ticks, reader.closed) == ([1, 2, 3], True)
    assert disk.open_files == 0


def test_a_wrong_index_costs_no_whole_tick(disk):
    data, index = ticks(3, closed=False)
    wrong = Index(index.ticks, index.offsets, index.keyframes, index.end + 1)
    path = put(disk, data + foot_frame(wrong, index.end, 0))
    loss = cut_damage(disk, FOLDER, BESIDE)
    assert (loss.last_tick_id, loss.beside) == (3, ())
    assert loaded(disk, path).index.ticks == [1, 2, 3]


# Writing


def writer(disk, **options):
    return LogWriter(disk, FOLDER, "r", clock=ManualClock(), options=LogOptions(**options))


def frames(disk, number=1):
    reader = SegmentReader(disk, FOLDER / segment_name(number))
    found = list(reader._whole_frames(len(MAGIC)))
    reader.close()
    return found


def test_every_frame_says_how_much_was_safe_before_it(disk):
    log, run = writer(disk, segment_ticks=3), RandomRun(3, 6)
    for _ in range(5):
        log.write(run.tick())
    log.end_segment()
    for number in (1, 2):
        _head, first, *others, _foot = frames(disk, number)
        assert first.synced == 0
        ends = [frame.end for frame in (first, *others)]
        assert [frame.synced for frame in others] == ends[:-1]
    assert disk.open_files == 0


def test_keyframes_come_at_the_start_of_a_segment_and_in_their_turn(disk):
    log, run = writer(disk, keyframe_ticks=3, segment_ticks=7), RandomRun(3, 6)
    for _ in range(9):
        log.write(run.tick())
    log.abandon()
    keyframes = [frame.tick_id for number in (1, 2) for frame in frames(disk, number) if frame.keyframe]
    assert keyframes == [1, 4, 7, 8]
    assert disk.open_files == 0


def test_a_segment_that_is_as_long_as_it_may_be_is_ended_before_the_next_tick(disk):
    log, run = writer(disk), RandomRun(3, 6)
    log.write(run.tick())
    log.abandon()
    end = disk.size(FOLDER / segment_name(1))
    for most, second in ((end, True), (end + 1, False)):
        disk.remove(FOLDER / segment_name(1))
        log, run = writer(disk, segment_bytes=most), RandomRun(3, 6)
        log.write(run.tick())
        log.write(run.tick())
        log.abandon()
        assert (segment_name(2) in disk.list(FOLDER)) is second
        if second:
            disk.remove(FOLDER / segment_name(2))


def test_reports_before_the_first_tick_are_of_tick_0(disk):
    log = writer(disk, sync=SyncPolicy.NEVER)
    log.write_reports(TickReports(statuses=(RandomRun(3, 6).status(),)))
    log.abandon()
    assert [(frame.kind, frame.tick_id) for frame in frames(disk)] == [
        (LogFrameKind.HEAD, 0),
        (LogFrameKind.REPORTS, 0),
    ]
    assert len(list(loaded(disk, FOLDER / segment_name(1)).loose_reports())) == 1
