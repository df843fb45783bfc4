"""Columns that we encode ourselves: whichever reader opens them finds what was put in."""

import io

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.record.parquet.bits import pack_bits
from tickmind.record.parquet.chunk_file import ChunkFile
from tickmind.record.parquet.chunks import (
    MOST_WORDS,
    absent,
    by_arrow,
    coded,
    each_in_turn,
    encoded_text,
    same,
    small_numbers,
    ticks_in_turn,
    true,
    words,
)
from tickmind.record.parquet.schemas import ACTION_RESULTS, TableSpec

NAMES = ["entity:0", "", "Zoë", "entity:3", "x" * 300]


def read_by_all(data, folder):
    """What pyarrow reads, once it is sure that DuckDB and Polars read the same."""
    path = folder / "t.parquet"
    path.write_bytes(data)
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        found = file.read().to_pydict()
    assert duckdb.execute(f"select * from '{path}'").fetchall() == list(zip(*found.values(), strict=True))
    assert pl.read_parquet(path).to_dict(as_series=False) == found
    return found


def written(spec, *groups):
    stream = io.BytesIO()
    with ChunkFile(stream, spec) as file:
        for chunks in groups:
            file.add(chunks)
    return stream.getvalue()


@settings(max_examples=short_or_long(30, 60))
@given(st.data(), st.integers(1, 32))
def test_codes_are_packed_from_the_lowest_bit_on(data, width):
    codes = data.draw(st.lists(st.integers(0, 2**width - 1), min_size=1, max_size=70))
    packed = -(-len(codes) // 8) * width
    wanted = sum(code << place * width for place, code in enumerate(codes)).to_bytes(packed, "little")
    assert pack_bits(np.array(codes, dtype=np.uint32).view(np.int32), width) == wanted
    if width <= 8:
        assert pack_bits(np.array(codes, dtype=np.uint8), width) == wanted


def test_many_codes_are_packed_as_few_are():
    codes = np.random.default_rng(1).integers(0, 1 << 17, 100_003).astype(np.int32)
    bits = np.unpackbits(np.frombuffer(pack_bits(codes, 17), dtype=np.uint8), bitorder="little").reshape(-1, 17)
    assert np.array_equal((bits.astype(np.int64) << np.arange(17)).sum(axis=1)[: len(codes)], codes)


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32])
@settings(max_examples=10)
@given(data=st.data())
def test_small_numbers_come_back(tmp_path_factory, kind, optional, data):
    limits = np.iinfo(kind)
    low = data.draw(st.integers(limits.min, limits.max))
    high = data.draw(st.sampled_from([low, low + 5, low + MOST_WORDS - 1, low + MOST_WORDS, limits.max]))
    some = st.integers(low, min(high, limits.max))
    values = np.array(data.draw(st.lists(some, min_size=1, max_size=50)), dtype=kind)
    spec = TableSpec("t", pa.schema([pa.field("n", pa.int32(), nullable=optional)]))
    file = written(spec, [small_numbers(values, optional=optional)])
    assert read_by_all(file, tmp_path_factory.mktemp("t")) == {"n": values.tolist()}


def test_large_numbers_come_back_from_several_pages(tmp_path):
    values = np.random.default_rng(1).integers(-(2**31), 2**31, 600_000).astype(np.int32)
    spec = TableSpec("t", pa.schema([pa.field("n", pa.int32())]))
    path = tmp_path / "t.parquet"
    path.write_bytes(written(spec, [small_numbers(values, optional=True)]))
    assert np.array_equal(pq.read_table(path)["n"].to_numpy(), values)
    assert np.array_equal(pl.read_parquet(path)["n"].to_numpy(), values)
    assert duckdb.execute(f"select sum(n) from '{path}'").fetchall() == [(int(values.sum(dtype=np.int64)),)]


def results(ticks, times, codes):
    """A row group in which all went well."""
    rows = len(codes)
    texts = words(map(encoded_text, NAMES))
    return [
        same(words([encoded_text("r")]), rows),
        ticks_in_turn(ticks, times),
        coded(texts, np.array(codes, dtype=np.int32)),
        same(texts, rows, 3),
        absent(rows),
        true(rows),
        *by_arrow(ACTION_RESULTS, ("reason", "effects_json"), [some_texts(rows), some_texts(rows)]),
        *(absent(rows) for _ in ACTION_RESULTS.added),
    ]


def some_texts(rows):
    return pa.array(["a", None, "b"] * rows, pa.string())[:rows].dictionary_encode()


def test_a_file_of_several_row_groups_holds_all_their_columns(tmp_path):
    groups = [([5, 6, 9], [1, 2, 9], [4, 0, 1, 2, 3, 3, 2, 1, 0, 4, 4, 4]), ([10], [1], [2])]
    found = read_by_all(written(ACTION_RESULTS, *(results(*group) for group in groups)), tmp_path)
    assert found["tick_id"] == [5, 6, 6, *[9] * 9, 10]
    assert found["actor_id"] == [NAMES[code] for _, _, codes in groups for code in codes]
    assert found["action_type"] == ["entity:3"] * 13
    assert found["target_id"] == [None] * 13
    assert found["ok"] == [True] * 13
    assert found["reason"] == [*["a", None, "b"] * 4, "a"]
    about = pq.read_metadata(tmp_path / "t.parquet")
    ends = [about.row_group(group).column(1).statistics for group in range(2)]
    assert [(one.min, one.max) for one in ends] == [(5, 9), (10, 10)]


@pytest.mark.parametrize("count", [1, 2, 300])
def test_each_word_comes_in_turn(tmp_path, count):
    texts = [f"entity:{number}" for number in range(count)]
    spec = TableSpec("t", pa.schema([pa.field("a", pa.string(), nullable=False)]))
    found = read_by_all(written(spec, [each_in_turn(words(map(encoded_text, texts)), 300)]), tmp_path)
    assert found["a"] == [text for text in texts for _ in range(300)]


def test_a_file_without_rows_has_its_columns(tmp_path):
    assert read_by_all(written(ACTION_RESULTS), tmp_path) == {name: [] for name in ACTION_RESULTS.schema.names}
    schema = pq.read_schema(tmp_path / "t.parquet")
    assert schema.equals(ACTION_RESULTS.schema)


def test_a_file_that_was_given_up_is_no_table():
    stream = io.BytesIO()
    with pytest.raises(OSError, match="full"), ChunkFile(stream, ACTION_RESULTS):
        raise OSError("full")
    with pytest.raises(pa.ArrowInvalid):
        pq.read_metadata(stream)
