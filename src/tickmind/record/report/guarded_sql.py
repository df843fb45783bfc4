"""`GuardedSql`: queries of others on the tables of a finished run; they read, within limits, and touch nothing else."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from tickmind.base import Limit
from tickmind.record.errors import RecordError
from tickmind.record.report.queries import VIEWS, RunQueries

MAX_SQL_CHARS: Final = Limit("length of a query", 10_000, "characters")
MAX_ROWS: Final = Limit("number of rows that a query returns", 1000)
MAX_SQL_S: Final = Limit("time of a query", 20.0, "s")
_CELL_CHARS: Final = 4000


class QueryError(RecordError):
    """A query can't be answered; the message says why."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The rows of a query as plain values, and whether there were more."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    more: bool


class GuardedSql(RunQueries):
    """Answers one SELECT at a time on a run's files. Use it in `with`.

    The database knows no file but the run's, no network, no extension and no other setting; a query that takes too
    long is interrupted, and all that it returns is cut to a size.
    """

    def __init__(self, folder: Path, *, max_rows: Limit = MAX_ROWS, max_s: Limit = MAX_SQL_S) -> None:
        super().__init__(folder)
        self._max_rows = int(max_rows.maximum)
        self._max_s = max_s.maximum
        self._lock = threading.Lock()
        files = [str(folder / spec.file_name) for spec, _ in VIEWS.values()]
        try:
            self._database.execute("SET allowed_paths = ?", [files])
            self._database.execute("SET allowed_directories = ?", [[self._spill.name]])
            for setting in ("enable_external_access = false", "lock_configuration = true"):
                self._database.execute(f"SET {setting}")
        except BaseException:
            self.close()
            raise

    def tables(self) -> dict[str, tuple[str, ...]]:
        """Return the tables, each with its columns."""
        return {name: columns for name, (_, columns) in VIEWS.items()}

    def select(self, sql: str) -> QueryResult:
        """Return the result of one SELECT; raises `QueryError` for anything else, and over a limit."""
        if not MAX_SQL_CHARS.allows(len(sql)):
            raise QueryError(f"the query is longer than {MAX_SQL_CHARS.maximum} characters; shorten it")
        with self._lock:
            return self._run(sql)

    def _run(self, sql: str) -> QueryResult:
        database = self._database
        try:
            statements = database.extract_statements(sql)
        except duckdb.Error as error:
            raise QueryError(_sentence(error)) from None
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise QueryError("only a single SELECT is answered; write one, without a semicolon between statements")
        timer = threading.Timer(self._max_s, database.interrupt)
        timer.start()
        try:
            cursor = database.execute(statements[0])
            names = tuple(str(column[0]) for column in cursor.description or ())
            found = cursor.fetchmany(self._max_rows + 1)
        except duckdb.InterruptException:
            raise QueryError(f"the query took longer than {self._max_s:g} s; ask for less") from None
        except duckdb.Error as error:
            raise QueryError(_sentence(error)) from None
        finally:
            timer.cancel()
        rows = tuple(tuple(_plain(value) for value in row) for row in found[: self._max_rows])
        return QueryResult(names, rows, len(found) > self._max_rows)


def _sentence(error: duckdb.Error) -> str:
    return f"the query can't be answered: {str(error).splitlines()[0]}"


def _plain(value: object) -> object:
    """Return a value as JSON can hold it."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value)
    return text if len(text) <= _CELL_CHARS else f"{text[:_CELL_CHARS]}..."
