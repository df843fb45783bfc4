"""`OpenedTables`: the Parquet tables of one run as views of a DuckDB that sees nothing else than was checked."""

import glob
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from tickmind.record.disk import OsDisk, reading_fault
from tickmind.record.errors import DamagedRunError
from tickmind.record.parquet.file import TableFile, native_file
from tickmind.record.parquet.schemas import ADDED, TableSpec

MAX_MEMORY_MB: Final = 1024
_SPILL_GB: Final = 20
_NAME_CHARS: Final = 200  # we write shorter names; longer texts are cut before counting
_TEXT_CHARS: Final = 4000


class OpenedTables:
    """The database of one folder. DuckDB trusts what a file says of itself, so all pages are checked first.

    Texts are cut to what a report shows, unless they are wanted whole.
    """

    def __init__(
        self, folder: Path, views: Mapping[str, tuple[TableSpec, tuple[str, ...]]], *, whole_texts: bool = False
    ) -> None:
        self._shown = _whole if whole_texts else _cut
        self._spill = tempfile.TemporaryDirectory(prefix="tickmind-report-")  # else it is in the working folder
        self.database = duckdb.connect(
            config={
                "memory_limit": f"{MAX_MEMORY_MB}MB",
                "temp_directory": self._spill.name,
                "max_temp_directory_size": f"{_SPILL_GB}GB",
                "autoinstall_known_extensions": False,
                "threads": 2,
            }
        )
        try:
            for name, (spec, columns) in views.items():
                self._show(name, folder / spec.file_name, spec.part(columns))
        except BaseException:
            self.close()
            raise

    def _show(self, name: str, path: Path, spec: TableSpec) -> None:
        try:
            file = OsDisk().open(path)
        except FileNotFoundError as error:
            if spec.name in ADDED:  # a run of an earlier version
                columns = ", ".join(map(_absent, spec.schema))
                self.database.execute(f"CREATE VIEW {name} AS SELECT {columns} WHERE false")
                return
            raise DamagedRunError(f"{spec.file_name} can't be read: it is missing") from error
        except OSError as error:
            raise reading_fault(spec.file_name, error) from error
        with TableFile(native_file(file), spec) as table:
            table.check_pages(spec.schema.names)
        try:
            shown = self.database.read_parquet(glob.escape(str(path))).project(", ".join(map(self._shown, spec.schema)))
            shown.create_view(name)
        except duckdb.Error as error:
            raise DamagedRunError(f"{spec.file_name} can't be read: {str(error).splitlines()[0]}") from error

    def close_door(self, files: Iterable[Path]) -> None:
        """Allow no other file than these, no network and no extension from now on, for queries of other people."""
        names = [name for path in files for name in (str(path), glob.escape(str(path)))]  # as views name them, too
        allowed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
        for setting in (f"allowed_paths = [{allowed}]", "enable_external_access = false", "lock_configuration = true"):
            self.database.execute(f"SET {setting}")

    def close(self) -> None:
        """Close the files."""
        self.database.close()
        self._spill.cleanup()


def _whole(column: pa.Field) -> str:
    return str(column.name)


def _cut(column: pa.Field) -> str:
    """Return a column as queries see it: texts cut to a maximum length."""
    if not pa.types.is_string(column.type):
        return str(column.name)
    return f"left({column.name}, {_TEXT_CHARS if column.name == 'text' else _NAME_CHARS}) AS {column.name}"


def _absent(column: pa.Field) -> str:
    """Return a column of a table that the run does not have."""
    return f"CAST(NULL AS {'VARCHAR' if pa.types.is_string(column.type) else 'BIGINT'}) AS {column.name}"
