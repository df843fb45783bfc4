"""Archives: finished runs in any filesystem that pyarrow supports, such as a bucket."""

from collections.abc import Callable
from dataclasses import dataclass

from pyarrow import fs

from tickmind.record.errors import DamagedRunError, NoSuchRunError
from tickmind.record.limits import MAX_META_BYTES
from tickmind.record.meta import META, decode_meta
from tickmind.record.parquet.file import TableFile
from tickmind.record.parquet.schemas import TableSpec
from tickmind.record.reader import RunReader
from tickmind.record.run_id import check_run_id
from tickmind.record.tables.sealed_source import SealedSource
from tickmind.record.tables.world_files import read_world


@dataclass(frozen=True, slots=True)
class Archive:
    """A folder of finished runs, such as `Archive(fs.S3FileSystem(), "bucket/runs")`; a `RunStore` can write to it."""

    filesystem: fs.FileSystem
    folder: str

    def path(self, run_id: str) -> str:
        """Return where the files of a run are."""
        return f"{self.folder}/{check_run_id(run_id)}"

    def open(self, run_id: str) -> RunReader:
        """Open a run for reading; raises `NoSuchRunError`."""
        try:
            with self.filesystem.open_input_file(f"{self.path(run_id)}/{META}") as file:
                MAX_META_BYTES.check(file.size())
                meta, world = decode_meta(file.read())
        except FileNotFoundError:
            raise NoSuchRunError(f"there is no run {run_id} in {self.folder}") from None
        info = read_world(world, self.tables(run_id))
        actor_ids = tuple(actor.entity_id for actor in info.actors)
        source = SealedSource(meta, actor_ids, self.tables(run_id), info.own_needs)
        return RunReader(meta, info, source)

    def tables(self, run_id: str) -> Callable[[TableSpec], TableFile]:
        """Return a function that opens the tables of a run."""

        def open_table(spec: TableSpec) -> TableFile:
            try:
                return TableFile(self.filesystem.open_input_file(f"{self.path(run_id)}/{spec.file_name}"), spec)
            except OSError as error:
                raise DamagedRunError(f"{spec.file_name} of run {run_id} can't be opened: it is missing") from error

        return open_table
