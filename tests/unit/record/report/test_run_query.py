"""Queries of users: they see the tables of one run, and nothing else."""

import pytest

from tickmind.record import RunStore
from tickmind.record.report.run_query import MAX_QUERY_S, RunQuery, RunQueryError
from tickmind.record.testing import RandomRun


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    world, store = RandomRun(seed=1), RunStore(tmp_path_factory.mktemp("it's [runs]"))
    with store.create(world.info, "run-1") as log:
        for _ in range(12):
            log.publish(world.tick())
    return store.folder("run-1")


@pytest.fixture(scope="module")
def query(folder):
    with RunQuery(folder) as opened:
        yield opened


def test_a_query_sees_every_table(query):
    assert query.answer("SELECT count(*), max(tick_id) FROM ticks", 1).rows == [(12, 12)]
    for table in ("actor_state", "utterances", "insights", "thoughts", "needs", "actors", "objects", "map"):
        assert len(query.answer(f"SELECT count(*) FROM {table}", 1).rows) == 1


def test_no_more_rows_are_returned_than_are_wanted(query):
    answer = query.answer("SELECT tick_id FROM ticks ORDER BY 1", 3)
    assert (answer.columns, answer.rows, answer.more) == (("tick_id",), [(1,), (2,), (3,)], True)
    assert not query.answer("SELECT tick_id FROM ticks", 12).more


def test_the_tables_are_named_with_their_columns(query):
    assert "tick_id" in query.tables["ticks"]
    for table, columns in query.tables.items():
        assert query.answer(f"SELECT * FROM {table}", 0).columns == columns


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/*')",
        "SELECT 1; SELECT 2",
        "COPY (SELECT 1) TO '/tmp/written.csv'",
        "CREATE TABLE t (a INT)",
        "ATTACH '/tmp/other.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "PRAGMA enable_profiling",
        "DROP VIEW ticks",
        "SELECT * FROM 'https://127.0.0.1:1/x.parquet'",
        "SELECT nothing FROM ticks",
        "not a query",
        "",
    ],
)
def test_a_query_that_does_anything_else_is_refused(query, text):
    with pytest.raises(RunQueryError):
        query.answer(text, 1)


def test_a_query_that_never_ends_is_interrupted(folder):
    with (
        RunQuery(folder, MAX_QUERY_S.at(0.05)) as opened,
        pytest.raises(RunQueryError, match="takes more than"),
    ):
        opened.answer("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT (i + 1) % 7 FROM n) SELECT count(*) FROM n", 1)
