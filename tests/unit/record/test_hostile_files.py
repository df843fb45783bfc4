"""A file from anywhere gives an error in bounded time and memory, never anything else."""

import contextlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
import textwrap
import time
import zlib
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.long import short_or_long

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
from tickmind.record.columns import batch, pack_batches
from tickmind.record.log.frame import HEADER, Codec, LogFrameKind, pack_frame
from tickmind.record.log.intent_codec import read_results
from tickmind.record.log.log_schema import SCHEMAS, LogTable
from tickmind.record.log.segment import END, END_MARK, MAGIC, Index, foot_frame, head_frame
from tickmind.record.parquet.page_guard import check_column, read_page_header
from tickmind.record.report import page, read_figures
from tickmind.record.run_id import check_run_id
from tickmind.record.testing import RandomRun

MEMORY_BYTES = 256_000_000
TIME_S = 5

# Everything is imported once. For each line of folders a process is forked that reads all of their runs; it gets no
# more memory than allowed from there on.
READ = textwrap.dedent("""
    import json, os, resource, signal, sys, time, traceback
    from pathlib import Path
    from tickmind.base import TickmindError
    from tickmind.record import RunStore
    from tickmind.record.report.noted import noted_outages
    import pyarrow.parquet, pyarrow.compute, numpy

    def read(root):
        began = time.process_time()
        try:
            (summary,) = RunStore(Path(root)).runs()
            if summary.problem:
                return f"DamagedRunError {summary.problem}", time.process_time() - began
            noted_outages(Path(root) / "a-run")
            with RunStore(Path(root)).open("a-run") as run:
                for record in run.records():
                    pass
                list(run.thoughts())
            said = "fine"
        except TickmindError as error:
            said = f"{type(error).__name__} {error}"
        return said, time.process_time() - began

    def read_each(roots):
        pages = int(open("/proc/self/statm").read().split()[0])
        limit = pages * resource.getpagesize() + int(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        signal.alarm(120)
        try:
            print(json.dumps([read(root) for root in roots]), flush=True)
        except BaseException:
            print(json.dumps(traceback.format_exc()), flush=True)

    for line in sys.stdin:
        child = os.fork()
        if not child:
            read_each(json.loads(line))
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            print(json.dumps("killed"), flush=True)
""")


@pytest.fixture(scope="module")
def reader():
    """The process that reads runs apart."""
    with subprocess.Popen(
        [sys.executable, "-c", READ, str(MEMORY_BYTES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def read_apart_each(reader):
    """What a process of its own says of runs, for each of them; none may take long."""

    def read(folders):
        reader.stdin.write(json.dumps([str(folder.parent) for folder in folders]) + "\n")
        reader.stdin.flush()
        answers = json.loads(reader.stdout.readline())
        assert isinstance(answers, list), answers
        assert all(took_s < TIME_S for _, took_s in answers)
        return [said for said, _ in answers]

    return read


@pytest.fixture
def read_apart(read_apart_each):
    """The same of one run."""

    def read(folder):
        (said,) = read_apart_each([folder])
        return said

    return read


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


@pytest.mark.parametrize("length", range(len(MAGIC)))
def test_a_segment_whose_first_bytes_a_crash_cut_short_is_not_of_a_later_version(copy, length):
    folder = copy("crashed")
    whole = RunStore(folder.parent).open("a-run")
    last = max((folder / "live").iterdir())
    (last.parent / f"{int(last.stem) + 1:08}.tmlog").write_bytes(MAGIC[:length])
    with RunStore(folder.parent).open("a-run") as reader:
        assert reader.last_tick_id == whole.last_tick_id
    whole.close()
    assert RunStore(folder.parent).recover("a-run").ticks == whole.last_tick_id


def test_a_huge_world_is_refused_before_anything_is_read(copy):
    folder = copy("finished")
    meta = json.loads((folder / "meta.json").read_text())
    meta["world"]["width"] = 10**6
    (folder / "meta.json").write_text(json.dumps(meta))
    assert "tiles" in refuses(folder)


# What is no file


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize(
    ("run", "name"),
    [
        ("finished", "meta.json"),
        ("finished", "ticks.parquet"),
        ("finished", "map.parquet"),
        ("finished", "outages.json"),
        ("crashed", "meta.json"),
        ("crashed", "lock"),
        ("crashed", "live/00000001.tmlog"),
    ],
)
def test_what_is_no_file_is_refused_and_not_waited_for(copy, read_apart, run, name, kind):
    folder = copy(run)
    (folder / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to("/dev/zero")
    said = read_apart(folder)
    assert "it is no regular file" in said
    assert name.rpartition("/")[2] in said


def test_other_runs_are_listed_beside_one_that_is_no_run(copy):
    folder = copy("finished")
    shutil.copytree(folder, folder.with_name("other"))
    (folder / "meta.json").unlink()
    os.mkfifo(folder / "meta.json")
    os.mkfifo(folder.with_name("pipe"))
    bad, good = RunStore(folder.parent).runs()
    assert (bad.run_id, bad.state, good.run_id, good.state) == ("a-run", "damaged", "other", "clean")
    assert "no regular file" in bad.problem


def test_a_meta_is_as_large_as_what_can_be_read_of_it(copy):
    folder = copy("finished")
    (folder / "meta.json").unlink()
    (folder / "meta.json").symlink_to("/proc/kallsyms")  # 0 bytes, by what the system says
    assert "meta.json" in refuses(folder)


# The report, by another reader


@pytest.mark.parametrize("with_files", [False, True])
def test_a_report_reads_no_folder_that_a_run_names(copy, tmp_path, with_files):
    folder = copy("finished")
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**meta, "stored_at": str(other)}))
    (other / "ticks.parquet").write_bytes(b"not for you")
    if with_files:
        assert read_figures(folder).last_tick_id == 30
        return
    for table in folder.glob("*.parquet"):
        table.unlink()
    with pytest.raises(NoSuchRunError, match="the finished files of run a-run are at"):
        read_figures(folder)


@pytest.mark.parametrize("change", [{"hearing_radius": "far"}, {"hearing_radius": -1}, {"width": None}, {"name": None}])
def test_a_report_of_a_world_that_lies_is_refused_or_made(copy, change):
    folder = copy("finished")
    meta = json.loads((folder / "meta.json").read_text())
    meta["world"].update(change)
    (folder / "meta.json").write_text(json.dumps(meta))
    with contextlib.suppress(TickmindError):
        page(read_figures(folder))


def test_a_run_that_calls_itself_something_else_than_a_run_id_is_refused(copy):
    folder = copy("finished")
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**meta, "run_id": "\x1b]0;owned\x07"}))
    assert "owned" not in refuses(folder)


REPORT = textwrap.dedent("""
    import json, resource, sys
    from pathlib import Path
    from tickmind.base import TickmindError
    from tickmind.record.report import page, read_figures
    read_figures(Path(sys.argv[1]))  # what an honest run takes
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        said = len(page(read_figures(Path(sys.argv[2]))))
    except TickmindError as error:
        said = str(error)
    print(json.dumps([said, 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)]))
""")


def report_apart(warm, honest, hostile):
    """What a process of its own says of the report of a run, and how much more memory it took than an honest one."""
    process = warm.start(["-c", REPORT, honest, hostile], stdout=subprocess.PIPE)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return json.loads(said)


@pytest.mark.slow
def test_a_report_is_not_made_of_a_page_that_unpacks_to_too_much(copy, whole, warm):
    folder = copy("finished")
    path = folder / "utterances.parquet"
    table = pq.read_table(path)
    text = pa.array(["y" * short_or_long(130_000_000, 600_000_000)] + [""] * (len(table) - 1), pa.string())
    at = table.column_names.index("text")
    pq.write_table(
        table.set_column(at, "text", text), path, compression="zstd", use_dictionary=False, store_schema=False
    )
    assert path.stat().st_size < 1_000_000
    said, more_bytes = report_apart(warm, whole / "finished" / "a-run", folder)
    assert "utterances.parquet is refused: size of one page" in str(said)
    assert more_bytes < 100_000_000


@pytest.mark.slow
def test_a_report_takes_no_more_of_a_text_that_repeats_than_a_page_shows(copy, whole, warm):
    folder = copy("finished")
    path = folder / "utterances.parquet"
    table = pq.read_table(path).slice(0, 1)
    rows = 3000  # times a megabyte
    table = pa.concat_tables([table] * rows)
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * 1_000_000]))
    at = table.column_names.index("text")
    pq.write_table(table.set_column(at, "text", text), path, compression="zstd", store_schema=False)
    said, more_bytes = report_apart(warm, whole / "finished" / "a-run", folder)
    assert isinstance(said, int), said
    assert more_bytes < MEMORY_BYTES


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
def test_a_text_that_repeats_takes_no_more_memory_than_it_does_on_disk(copy, read_apart):
    folder = copy("finished")
    replace_table(folder, "thoughts", one_long_text)
    assert (folder / "thoughts.parquet").stat().st_size < 100_000
    assert read_apart(folder) == "fine"  # thirty times the same text is one text


@pytest.mark.slow
def test_a_table_of_too_many_rows_is_refused(copy, read_apart):
    folder = copy("finished")
    replace_table(folder, "ticks", many_rows)
    assert "ticks.parquet is refused: number of rows in one row group" in read_apart(folder)


@pytest.mark.slow
def test_a_page_that_unpacks_to_too_much_is_refused(copy, read_apart):
    folder = copy("finished")
    path = folder / "thoughts.parquet"
    table = pq.read_table(path)
    text = pa.array(["y" * short_or_long(80_000_000, 200_000_000)] + [""] * (len(table) - 1), pa.string())
    at = table.column_names.index("user_message")
    pq.write_table(
        table.set_column(at, "user_message", text), path, compression="zstd", use_dictionary=False, store_schema=False
    )
    assert path.stat().st_size < 419_000
    assert "thoughts.parquet is refused: size of one page" in read_apart(folder)


@pytest.mark.slow
def test_an_encoding_that_repeats_what_it_holds_is_refused(copy, read_apart):
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
    assert "an unexpected encoding" in read_apart(folder)


def frame_of(content, codec=Codec.ZSTD, raw_bytes=None):
    """A frame with a good checksum, whatever it says of itself."""
    frame = bytearray(pack_frame(LogFrameKind.TICK, 1, content, synced=0, keyframe=True, codec=codec))
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
def test_a_log_that_would_unpack_to_too_much_is_refused(copy, frame, read_apart):
    folder = copy("crashed")
    (folder / "live" / "00000001.tmlog").write_bytes(head_frame("a-run", 1, 1) + frame())
    said = read_apart(folder)
    assert said.startswith("DamagedRunError") or said == "fine"  # a frame that is none is a torn tail


def test_a_batch_that_is_compressed_within_is_not_read(copy):
    folder = copy("crashed")
    (folder / "live" / "00000001.tmlog").write_bytes(head_frame("a-run", 1, 1) + frame_of(compressed_batch()))
    with (
        RunStore(folder.parent).open("a-run") as run,
        pytest.raises(DamagedRunError, match="an unexpected form"),
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


# Headers of pages


def in_no_time(work):
    """What it refuses, and that it takes no time worth speaking of."""
    began_s = time.process_time()
    with pytest.raises(DamagedRunError) as caught:
        work()
    assert time.process_time() - began_s < 1
    return str(caught.value)


LIST_OF_BOOLS = b"\xf1\xff\x3f"  # 8191 of them


@pytest.mark.parametrize(
    "header",
    [
        b"\x19" + b"\xf9\xff\x3f" + LIST_OF_BOOLS * 2700,
        b"\x19\x19" * 4000,
        b"\x19" + b"\x19" * 8190,
        b"\x1c" * 8000,
        b"\x19" + b"\xfc\xff\x3f" + b"\x11" * 8180,
        b"\x19" + b"\xf7\xff\x3f",
        b"\x18" + b"\xff" * 8 + b"\x7f",
    ],
    ids=["lists of truths", "lists in lists", "lists only", "structs", "structs of truths", "doubles", "long text"],
)
def test_a_page_header_that_no_page_has_is_refused_in_no_time(header):
    in_no_time(lambda: read_page_header(header[:8192]))


def test_truths_in_a_list_take_a_byte_each():
    data_page = b"\x15\x08\x15\x00\x15\x00\x15\x00\x00"  # four values, plain
    before = b"\x15\x00\x15\x10\x15\x10"
    plain = read_page_header(before + b"\x2c" + data_page + b"\x00")
    assert (plain.values, plain.encoding, plain.raw_bytes) == (4, 0, 8)
    with_list = read_page_header(before + b"\x2c" + data_page + b"\x79\x31\x01\x02\x01" + b"\x00")
    assert with_list.size == plain.size + 5
    assert replace(with_list, size=0) == replace(plain, size=0)


def test_a_column_of_nothing_but_headers_is_refused(copy):
    header = b"\x15\x00\x15\x00\x15\x00\x2c\x15\x00\x15\x00\x15\x00\x15\x00\x18\xf0\x3e" + b"a" * 8048 + b"\x00\x00"
    pages = header * 1000
    source = pa.BufferReader(b"PAR1" + pages)
    chunk = SimpleNamespace(
        data_page_offset=4, has_dictionary_page=False, dictionary_page_offset=None, total_compressed_size=len(pages)
    )
    in_no_time(lambda: check_column(source, chunk, "x.parquet"))


# Ticks that hold more than a tick does


def tick_frame(tables, *, intents=0, results=0):
    """A whole frame of the first tick with these tables."""
    tick = batch(SCHEMAS[LogTable.TICK], [1], [1], ["1"], [b"h"], [intents], [results], [None], [None])
    state = (np.zeros(12, np.int32),) * 3 + (np.zeros(12, np.int8),)
    keyframe = batch(SCHEMAS[LogTable.KEYFRAME], *state)
    return frame_of(pack_batches([(LogTable.TICK, tick), (LogTable.KEYFRAME, keyframe), *tables]))


def nothings(table, count):
    """So many rows of a table, with nothing in them."""
    kinds = {"int32": np.int32, "int64": np.int64, "double": np.float64}
    columns = []
    for one in SCHEMAS[table]:
        if pa.types.is_string(one.type):
            offsets = pa.py_buffer(np.zeros(count + 1, np.int32))
            columns.append(pa.StringArray.from_buffers(count, offsets, pa.py_buffer(b"")))
        else:
            columns.append(pa.array(np.zeros(count, kinds[str(one.type)])))
    return table, pa.RecordBatch.from_arrays(columns, schema=SCHEMAS[table])


def put_tick(folder, frame):
    (folder / "live" / "00000001.tmlog").write_bytes(head_frame("a-run", 1, 1) + frame)


@pytest.mark.parametrize("results", [-1, 1, 2**31 - 1])
def test_a_tick_with_another_number_of_results_than_it_says_is_refused(copy, results):
    folder = copy("crashed")
    put_tick(folder, tick_frame([], results=results))
    assert "results" in refuses(folder)


@pytest.mark.parametrize("intents", [-1, 1, 13, 2**31 - 1])
def test_a_tick_with_another_number_of_intents_than_it_says_is_refused(copy, intents):
    folder = copy("crashed")
    put_tick(folder, tick_frame([], intents=intents))
    assert "intents" in refuses(folder)


@pytest.mark.parametrize("places", [[0, 1, 12], [-1], [3, 2], [2**31 - 1]])
def test_effects_of_results_that_there_are_not_are_refused(copy, places):
    folder = copy("crashed")
    rows, code = np.arange(12, dtype=np.int32), np.zeros(12, np.uint8)
    count = len(places)
    effects = batch(SCHEMAS[LogTable.EFFECTS], np.array(places, np.int32), ["a"] * count, np.zeros(count, np.int64))
    tables = [(LogTable.RESULTS, batch(SCHEMAS[LogTable.RESULTS], rows, code)), (LogTable.EFFECTS, effects)]
    put_tick(folder, tick_frame(tables, results=12))
    assert "rows that the world does not have" in refuses(folder)


def test_many_effects_of_one_result_take_no_time():
    count = 50_000
    effects = batch(
        SCHEMAS[LogTable.EFFECTS], np.zeros(count, np.int32), ["a"] * count, np.arange(count, dtype=np.int64)
    )
    one = batch(SCHEMAS[LogTable.RESULTS], np.zeros(1, np.int32), np.zeros(1, np.uint8))
    began_s = time.process_time()
    found = read_results({LogTable.RESULTS: one, LogTable.EFFECTS: effects}, 1, RandomRun(1, 1).tick().intents, 1)
    assert time.process_time() - began_s < 2
    assert [effect.value for effect in found.effects[0]] == list(range(count))


def test_a_table_that_comes_twice_in_a_tick_is_refused(copy):
    folder = copy("crashed")
    put_tick(folder, tick_frame([nothings(LogTable.UTTERANCES, 1), nothings(LogTable.UTTERANCES, 1)]))
    assert "twice" in refuses(folder)
    put_tick(folder, frame_of(pack_batches([]) + b"\x12\x00\x00\x00\x00\x00\x00\x00" * 1000))
    with RunStore(folder.parent).open("a-run") as run, pytest.raises(DamagedRunError, match="twice"):
        list(run.thoughts())


# Indexes that hold more than a segment does


def put_foot(folder, content):
    path = folder / "live" / "00000001.tmlog"
    head = head_frame("a-run", 1, 1)
    foot = pack_frame(LogFrameKind.FOOT, 1, content, synced=0)
    path.write_bytes(head + foot + END.pack(len(head), END_MARK))


def index_of(head, columns=b""):
    head = json.dumps(head).encode() if isinstance(head, dict) else head
    return len(head).to_bytes(8, "little") + head + columns


@pytest.mark.slow
def test_what_holds_more_than_we_ever_write_is_refused_at_little_cost(copy, tmp_path, read_apart_each):
    whole, end = copy("crashed"), len(head_frame("a-run", 1, 1))
    makers = {
        "utterances": lambda to: put_tick(to, tick_frame([nothings(LogTable.UTTERANCES, 2_000_000)])),
        "effects": lambda to: put_tick(to, tick_frame([nothings(LogTable.EFFECTS, 3_000_000)])),
        "deltas": lambda to: put_tick(to, tick_frame([nothings(LogTable.OBJECT_DELTAS, 2_000_000)])),
        "thoughts": lambda to: put_tick(to, tick_frame([nothings(LogTable.THOUGHTS, 300_000)])),
        "results": lambda to: put_tick(to, tick_frame([], results=2**31 - 1)),
        "ticks": lambda to: put_foot(to, index_of({"ticks": 4_000_000, "keyframes": 0, "end": end}, bytes(64_000_000))),
        "head": lambda to: put_foot(to, index_of(b"[" + b"{}," * 5_000_000 + b"{}]")),
    }
    folders = []
    for name, make in makers.items():
        folders.append(tmp_path / name / "a-run")
        shutil.copytree(whole, folders[-1])
        make(folders[-1])
    for name, said in zip(makers, read_apart_each(folders), strict=True):
        assert said.startswith("DamagedRunError"), (name, said)


def test_an_index_of_more_ticks_than_its_segment_has_room_for_is_refused(copy):
    folder = copy("crashed")
    end = len(head_frame("a-run", 1, 1))
    put_foot(folder, Index(list(range(100)), [8] * 100, [1], end).pack())
    assert "index" in refuses(folder)
    assert RunStore(folder.parent).recover("a-run").ticks == 0
