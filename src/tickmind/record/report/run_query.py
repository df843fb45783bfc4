"""`RunQuery`: a user's own query on the tables of a finished run, which can read nothing else and write nothing."""

from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any, Final

import duckdb

from tickmind.base import Limit
from tickmind.record.errors import RecordError
from tickmind.record.parquet.schemas import FINISHED, REPLAY
from tickmind.record.report.opened_tables import OpenedTables
from tickmind.record.tables.world_files import WORLD_TABLES

MAX_QUERY_S: Final = Limit("time of a query of a run", 120.0, "s")


class RunQueryError(RecordError):
    """A query can't be answered; the message is DuckDB's."""


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """The first rows of an answer with the names of their columns, and whether there were more."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    more: bool


class RunQuery:
    """Answers queries in one run's folder. Every table of the run is a view by its name, with all its columns.

        with RunQuery(store.folder(run_id)) as query:
            query.answer("SELECT count(*) FROM utterances", 1).rows

    One statement that selects is taken. It sees the files of this run, and no other file, network or extension.
    """

    def __init__(self, folder: Path, max_query_s: Limit = MAX_QUERY_S) -> None:
        specs = {name: spec for name, spec in {**FINISHED, **WORLD_TABLES}.items() if spec is not REPLAY}
        views = {name: (spec, tuple(spec.schema.names)) for name, spec in specs.items()}
        self._max_query_s = max_query_s
        self.tables = {name: columns for name, (_, columns) in views.items()}
        """The tables, each with its columns."""
        self._opened = OpenedTables(folder, views, whole_texts=True)
        self._opened.close_door([folder / spec.file_name for spec in specs.values()])

    def answer(self, query: str, most: int) -> QueryAnswer:
        """Return the first rows of the answer to one SELECT; raises `RunQueryError` for anything else."""
        database = self._opened.database
        timer = Timer(self._max_query_s.maximum, database.interrupt)
        timer.daemon = True
        try:
            statements = database.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise RunQueryError("give one SELECT, and nothing that changes anything")
            timer.start()
            cursor = database.execute(statements[0])
            columns = tuple(str(column[0]) for column in cursor.description or ())
            rows: list[tuple[Any, ...]] = cursor.fetchmany(most + 1)
        except duckdb.InterruptException:
            raise RunQueryError(f"the query takes more than {self._max_query_s.maximum:g} s; simplify it") from None
        except duckdb.Error as error:
            raise RunQueryError(f"the query fails: {str(error).splitlines()[0]}") from error
        finally:
            timer.cancel()
        return QueryAnswer(columns, rows[:most], len(rows) > most)

    def close(self) -> None:
        """Close the files."""
        self._opened.close()

    def __enter__(self) -> "RunQuery":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
