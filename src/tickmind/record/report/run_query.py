"""`RunQuery`: a user's own query on the tables of a finished run, which can read nothing else and write nothing."""

from pathlib import Path
from threading import Timer
from types import TracebackType
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


class RunQuery:
    """Answers queries in one run's folder. Every table of the run is a view by its name, with all its columns.

        with RunQuery(store.folder(run_id)) as query:
            query.rows("SELECT count(*) FROM utterances", 1)

    One statement that selects is taken. It sees the files of this run, and no other file, network or extension.
    """

    def __init__(self, folder: Path, max_query_s: Limit = MAX_QUERY_S) -> None:
        specs = {name: spec for name, spec in {**FINISHED, **WORLD_TABLES}.items() if spec is not REPLAY}
        views = {name: (spec, tuple(spec.schema.names)) for name, spec in specs.items()}
        self._max_query_s = max_query_s
        self._tables = OpenedTables(folder, views, whole_texts=True)
        self._tables.close_door([folder / spec.file_name for spec in specs.values()])

    def rows(self, query: str, most: int) -> list[tuple[Any, ...]]:
        """Return the first rows of an answer; raises `RunQueryError`."""
        database = self._tables.database
        timer = Timer(self._max_query_s.maximum, database.interrupt)
        timer.daemon = True
        try:
            statements = database.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise RunQueryError("give one SELECT, and nothing that changes anything")
            timer.start()
            answer: list[tuple[Any, ...]] = database.execute(statements[0]).fetchmany(most)
        except duckdb.InterruptException:
            raise RunQueryError(f"the query takes more than {self._max_query_s.maximum:g} s; simplify it") from None
        except duckdb.Error as error:
            raise RunQueryError(f"the query fails: {str(error).splitlines()[0]}") from error
        finally:
            timer.cancel()
        return answer

    def close(self) -> None:
        """Close the files."""
        self._tables.close()

    def __enter__(self) -> "RunQuery":
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
