"""A file from anywhere gives an error in bounded time and memory, never anything else."""

import contextlib
import io
import json
import random
import shutil
import subprocess
import sys
import textwrap
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tickmind.base import TickmindError
from tickmind.record import (
    DamagedRunError,
    LogOptions,
    NoSuchRunError,
    RunIdError,
    RunStore,
    SchemaVersionError,
    SyncPolicy,
)
from tickmind.record.frame import HEADER, Codec, FrameKind, pack_frame
from tickmind.record.run_id import check_run_id
from tickmind.record.segment import Index, foot_frame, head_frame
from tickmind.record.testing import RandomRun

MEMORY_BYTES = 256_000_000
TIME_S = 5

# Reads all of a run, in a process that gets no more memory than allowed once everything is imported.
READ = textwrap.dedent("""
    import resource, sys, time
    from pathlib import Path
    from tickmind.base import TickmindError
    from tickmind.record import RunStore
    import pyarrow.parquet, pyarrow.compute, numpy
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * resource.getpagesize() + int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    began = time.process_time()
    try:
        with RunStore(Path(sys.argv[1])).open("a-run") as run:
            for record in run.records():
                pass
            list(run.thoughts())
        print("fine")
    except TickmindError as error:
        print(type(error).__name__, error)
    print(time.process_time() - began)
""")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A finished run and one that was never closed."""
    root = tmp_path_factory.mktemp("whole")
    for kind in ("finished", "crashed"):
        run = RandomRun(4, 12)
        log = RunStore(root / kind).create(run.info, "a-run", options=LogOptions(sync=SyncPolicy.NEVER))
        for _ in range(30):
            log.thought(run.thought())
            log.publish(run.tick())
        log.close(seal=kind == "finished")
    return root


@pytest.fixture
def copy(whole, tmp_path):
    def copy(kind):
        shutil.copytree(whole / kind, tmp_path / "runs", dirs_exist_ok=True)
        return tmp_path / "runs" / "a-run"

    return copy


def read_apart(folder):
    """What a process of its own says of a run, and how much time it took."""
    done = subprocess.run(
        [sys.executable, "-c", READ, str(folder.parent), str(MEMORY_BYTES)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said, took_s = done.stdout.rsplit("\n", 2)[:2]
    assert float(took_s) < TIME_S
    return said


def read_all(folder):
    with RunStore(folder.parent).open("a-run") as run:
        for _ in run.records():
            pass
        list(run.thoughts())
        list(run.statuses())


def refuses(folder):
    with pytest.raises(TickmindError) as caught:
        read_all(folder)
    return str(caught.value)


# Run ids


@pytest.mark.parametrize(
    "run_id",
    ["", ".", "..", "../a", "a/b", "/etc", "a\\b", "a\x00b", "a b", ".hidden", "a.", "ä", "-a", "a" * 101, "a\n", "~"],
)
def test_a_run_id_is_never_a_path(run_id, tmp_path):
    with pytest.raises(RunIdError):
        check_run_id(run_id)
    store = RunStore(tmp_path)
    for work in (store.open, store.resume, store.recover, store.summary):
        with pytest.raises(RunIdError):
            work(run_id)
    if run_id:
        with pytest.raises(RunIdError):
            store.create(RandomRun(1).info, run_id)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("run_id", ["a", "run_1hm5vxkq27c3e9a0p", "2026-01-02.b", "A_b-c"])
def test_usual_names_are_run_ids(run_id):
    assert check_run_id(run_id) == run_id


def test_a_run_that_there_is_not_is_a_plain_error(tmp_path):
    with pytest.raises(NoSuchRunError, match="tickmind runs"):
        RunStore(tmp_path).open("nothing")


# Spoilt files


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["finished", "crashed"])
def test_spoilt_bytes_give_the_same_run_or_an_error(copy, kind, seed):
    folder = copy(kind)
    dice = random.Random(seed)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    victim = dice.choice(files)
    data = bytearray(victim.read_bytes())
    how = dice.choice(("cut", "flip", "zero", "grow"))
    if how == "cut":
        data = data[: dice.randrange(len(data))]
    elif how == "grow":
        data += dice.randbytes(100)
    else:
        for _ in range(dice.choice((1, 30))):
            place = dice.randrange(len(data))
            data[place] = data[place] ^ (1 << dice.randrange(8)) if how == "flip" else 0
    victim.write_bytes(data)
    with contextlib.suppress(TickmindError):
        read_all(folder)
    assert RunStore(folder.parent).runs()


@pytest.mark.parametrize("name", ["actor_state", "replay", "ticks", "map", "actors", "thoughts"])
def test_a_missing_table_is_named(copy, name):
    folder = copy("finished")
    (folder / f"{name}.parquet").unlink()
    assert f"{name}.parquet" in refuses(folder)


def test_a_table_of_another_run_is_refused(copy, tmp_path):
    folder = copy("finished")
    table = pq.read_table(folder / "ticks.parquet")
    pq.write_table(table.slice(0, 20), folder / "ticks.parquet")
    assert "ticks.parquet" in refuses(folder)


def test_a_table_in_another_order_is_refused_and_not_misread(copy):
    folder = copy("finished")
    table = pq.read_table(folder / "actor_state.parquet")
    pq.write_table(table.sort_by([("tick_id", "ascending")]), folder / "actor_state.parquet")
    assert "actor_state.parquet" in refuses(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "something"},
        {"world": []},
        {"tables": {"ticks": {"rows": "many", "size_bytes": 1}}},
        {"first_tick_id": "one"},
        {"block_ticks": 0},
        {"block_actors": -1},
        {"first_tick_id": 7},
        {"last_tick_id": 2**62},
    ],
)
def test_a_meta_that_lies_is_refused(copy, change):
    folder = copy("finished")
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**meta, **change}))
    refuses(folder)


def test_a_run_of_a_later_version_says_so(copy):
    folder = copy("finished")
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**meta, "log_schema_version": "2.0.0"}))
    with pytest.raises(SchemaVersionError, match=r"log schema version 2\.0\.0"):
        RunStore(folder.parent).open("a-run")
    (summary,) = RunStore(folder.parent).runs()
    assert summary.state == "damaged"
    assert "2.0.0" in summary.problem


def test_a_log_of_a_later_version_says_so(copy):
    folder = copy("crashed")
    segment = folder / "live" / "00000001.tmlog"
    segment.write_bytes(b"tmlog\x00\x02\n" + segment.read_bytes()[8:-10])
    with pytest.raises(SchemaVersionError, match="later version"):
        RunStore(folder.parent).open("a-run")


def test_a_huge_world_is_refused_before_anything_is_read(copy):
    folder = copy("finished")
    meta = json.loads((folder / "meta.json").read_text())
    meta["world"]["width"] = 10**6
    (folder / "meta.json").write_text(json.dumps(meta))
    assert "tiles" in refuses(folder)


# Bombs


def replace_table(folder, name, make):
    """Put a table of our making in the place of one, with as many rows as it had."""
    path = folder / f"{name}.parquet"
    table = pq.read_table(path)
    make(table, path)


def one_long_text(table, path):
    """419 kB that become a gigabyte: one text of a megabyte, a thousand times."""
    text = "x" * 1_000_000
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(table), np.int32)), pa.array([text]))
    at = table.column_names.index("user_message")
    pq.write_table(table.set_column(at, "user_message", column), path, compression="zstd", store_schema=False)


def many_rows(table, path):
    """A few bytes that become eight million rows."""
    count = 8_000_000
    arrays = [
        pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(count, np.int8)), column.combine_chunks().slice(0, 1).cast("string")
        )
        if pa.types.is_string(column.type)
        else pa.array(np.zeros(count, np.int8)).cast(column.type)
        for column in (table.column(name) for name in table.column_names)
    ]
    large = pa.Table.from_arrays(arrays, names=table.column_names)
    pq.write_table(large, path, compression="zstd", row_group_size=count, store_schema=False)


@pytest.mark.slow
def test_a_text_that_repeats_takes_no_more_memory_than_it_does_on_disk(copy):
    folder = copy("finished")
    replace_table(folder, "thoughts", one_long_text)
    assert (folder / "thoughts.parquet").stat().st_size < 100_000
    assert read_apart(folder) == "fine"  # thirty times the same text is one text


@pytest.mark.slow
def test_a_table_of_too_many_rows_is_refused(copy):
    folder = copy("finished")
    replace_table(folder, "ticks", many_rows)
    assert "ticks.parquet is refused: number of rows in one row group" in read_apart(folder)


@pytest.mark.slow
def test_a_page_that_unpacks_to_too_much_is_refused(copy):
    folder = copy("finished")
    path = folder / "thoughts.parquet"
    table = pq.read_table(path)
    text = pa.array(["y" * 200_000_000] + [""] * (len(table) - 1), pa.string())
    at = table.column_names.index("user_message")
    pq.write_table(
        table.set_column(at, "user_message", text), path, compression="zstd", use_dictionary=False, store_schema=False
    )
    assert path.stat().st_size < 419_000
    assert "thoughts.parquet is refused: size of one page" in read_apart(folder)


@pytest.mark.slow
def test_an_encoding_that_repeats_what_it_holds_is_refused(copy):
    folder = copy("finished")
    path = folder / "thoughts.parquet"
    table = pq.read_table(path)
    pq.write_table(
        table,
        path,
        use_dictionary=False,
        column_encoding={"user_message": "DELTA_BYTE_ARRAY"},
        store_schema=False,
    )
    assert "an encoding that we never write" in read_apart(folder)


def frame_of(content, codec=Codec.ZSTD, raw_bytes=None):
    """A frame with a good checksum, whatever it says of itself."""
    frame = bytearray(pack_frame(FrameKind.TICK, 1, content, synced=0, keyframe=True, codec=codec))
    if raw_bytes is not None:
        frame[16:20] = raw_bytes.to_bytes(4, "little")
        checksum = zlib.crc32(frame[HEADER.size :], zlib.crc32(frame[: HEADER.size - 8]))
        frame[HEADER.size - 8 : HEADER.size - 4] = checksum.to_bytes(4, "little")
    return bytes(frame)


def compressed_batch():
    """A batch that would grow to a gigabyte when it is read."""
    schema = pa.schema([("x", pa.int32()), ("y", pa.int32()), ("status_bits", pa.int32()), ("facing", pa.int8())])
    zeros = np.zeros(60_000_000, np.int32)
    batch = pa.RecordBatch.from_arrays([pa.array(zeros)] * 3 + [pa.array(zeros.astype(np.int8))], schema=schema)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    reader = pa.ipc.MessageReader.open_stream(sink.getvalue())
    reader.read_next_message()
    message = reader.read_next_message().serialize().to_pybytes()
    return (2).to_bytes(4, "little") + len(message).to_bytes(4, "little") + message


@pytest.mark.slow
@pytest.mark.parametrize(
    "frame",
    [
        lambda: frame_of(bytes(90_000_000)),
        lambda: frame_of(bytes(1000), raw_bytes=95_000_000),
        lambda: frame_of(bytes(1000), raw_bytes=2**32 - 1),
        lambda: frame_of(compressed_batch()),
        lambda: frame_of(b"\x01\x00\x00\x00\xff\xff\xff\xff" + bytes(500)),
    ],
    ids=["zeros", "claims much", "claims too much", "compressed within", "long batch"],
)
def test_a_log_that_would_unpack_to_too_much_is_refused(copy, frame):
    folder = copy("crashed")
    (folder / "live" / "00000001.tmlog").write_bytes(head_frame("a-run", 1, 1) + frame())
    said = read_apart(folder)
    assert said.startswith("DamagedRunError") or said == "fine"  # a frame that is none is a torn tail


def test_a_batch_that_is_compressed_within_is_not_read(copy):
    folder = copy("crashed")
    (folder / "live" / "00000001.tmlog").write_bytes(head_frame("a-run", 1, 1) + frame_of(compressed_batch()))
    with (
        RunStore(folder.parent).open("a-run") as run,
        pytest.raises(DamagedRunError, match="a form that we never write"),
    ):
        list(run.records())


def test_an_index_that_lies_leads_nowhere(copy):
    folder = copy("crashed")
    path = folder / "live" / "00000001.tmlog"
    data = path.read_bytes()
    end = data.rindex((0x4D544C01).to_bytes(4, "little"))
    lie = Index([1, 2, 3], [40, 2**40, 8], [1], end)
    path.write_bytes(data[:end] + foot_frame(lie, end, end))
    assert "damaged" in refuses(folder)
