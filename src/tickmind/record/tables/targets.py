"""Where the finished files go: beside the log, or into any filesystem that pyarrow knows."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

import pyarrow as pa
from pyarrow import fs

from tickmind.record.disk import Disk, DiskFile
from tickmind.record.meta import META, RunMeta, encode_meta, write_meta

SEALING = "sealing"


class FileTarget(Protocol):
    """Takes finished files. Nothing of them counts before `commit`."""

    def open(self, name: str) -> BinaryIO:
        """A new file to write; closing it makes it safe."""
        ...

    def size(self, name: str) -> int:
        """How large a file has become."""
        ...

    def commit(self, names: Sequence[str], meta: RunMeta, world: Mapping[str, Any]) -> None:
        """Put all files in place, and say in `meta.json` that they are there."""
        ...


class _Stream(io.RawIOBase):
    """A file of a `Disk` for those who write to file objects; closing it waits for the disk."""

    def __init__(self, file: DiskFile) -> None:
        super().__init__()
        self._file = file
        self._place = 0

    def writable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """How much was written."""
        return self._place

    def write(self, data: Any) -> int:
        """Add all of it."""
        self._file.write(bytes(data))
        self._place += len(data)
        return len(data)

    def close(self) -> None:
        """Make it safe, and let go."""
        if not self.closed:
            try:
                self._file.sync()
            finally:
                self._file.close()
                super().close()


class FolderTarget:
    """The folder of the run itself. Files are written beside and take their places all together."""

    def __init__(self, disk: Disk, folder: Path) -> None:
        self._disk = disk
        self._folder = folder
        disk.make_folder(folder / SEALING)

    def open(self, name: str) -> BinaryIO:
        """A new file in the folder beside."""
        return cast("BinaryIO", _Stream(self._disk.create(self._folder / SEALING / name)))

    def size(self, name: str) -> int:
        """How large it has become."""
        return self._disk.size(self._folder / SEALING / name)

    def commit(self, names: Sequence[str], meta: RunMeta, world: Mapping[str, Any]) -> None:
        """Rename them all, wait until that is on disk, and then write `meta.json`."""
        self._disk.sync_folder(self._folder / SEALING)
        for name in names:
            self._disk.replace(self._folder / SEALING / name, self._folder / name)
        self._disk.sync_folder(self._folder)
        write_meta(self._disk, self._folder, meta, world)


class ArchiveTarget:
    """A folder in a filesystem of pyarrow, as a bucket; the local `meta.json` then says where the files are."""

    def __init__(self, filesystem: fs.FileSystem, path: str, disk: Disk, folder: Path) -> None:
        self._filesystem = filesystem
        self._path = path
        self._disk = disk
        self._folder = folder
        filesystem.create_dir(path, recursive=True)

    def open(self, name: str) -> BinaryIO:
        """A new file there."""
        return cast("BinaryIO", self._filesystem.open_output_stream(f"{self._path}/{name}"))

    def size(self, name: str) -> int:
        """How large it has become."""
        return int(self._filesystem.get_file_info(f"{self._path}/{name}").size)

    def commit(self, names: Sequence[str], meta: RunMeta, world: Mapping[str, Any]) -> None:
        """Write `meta.json` there when all else is there, and then the local one."""
        assert all(self.size(name) > 0 for name in names)
        with self.open(META) as file:
            file.write(encode_meta(meta, world))
        write_meta(self._disk, self._folder, meta, world)


def python_file(stream: BinaryIO) -> pa.NativeFile:
    """A file object as pyarrow takes it."""
    return pa.PythonFile(stream, mode="w") if not isinstance(stream, pa.NativeFile) else stream
