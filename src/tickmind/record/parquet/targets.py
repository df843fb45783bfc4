"""Targets of finished files: beside the log, or in any filesystem that pyarrow supports."""

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
    """Takes finished files. They are valid only after `commit`."""

    def open(self, name: str) -> BinaryIO:
        """Open a new file for writing; closing it makes it durable."""
        ...

    def size(self, name: str) -> int:
        """Return the size of a file."""
        ...

    def commit(self, names: Sequence[str], meta: RunMeta, world: Mapping[str, Any]) -> None:
        """Put all files in place, and state in `meta.json` that they are there."""
        ...


class _Stream(io.RawIOBase):
    """A file of a `Disk` as a file object; closing it waits for the disk."""

    def __init__(self, file: DiskFile) -> None:
        super().__init__()
        self._file = file
        self._place = 0

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return how much was written."""
        return self._place

    def write(self, data: Any) -> int:
        """Append all bytes."""
        self._file.write(bytes(data))
        self._place += len(data)
        return len(data)

    def close(self) -> None:
        """Sync and close the file."""
        if not self.closed:
            try:
                self._file.sync()
            finally:
                self._file.close()
                super().close()


class FolderTarget:
    """The folder of the run itself. Files are written beside it and put in place together."""

    def __init__(self, disk: Disk, folder: Path) -> None:
        self._disk = disk
        self._folder = folder
        disk.make_folder(folder / SEALING)

    def open(self, name: str) -> BinaryIO:
        """Open a new file in the folder beside."""
        return cast("BinaryIO", _Stream(self._disk.create(self._folder / SEALING / name)))

    def size(self, name: str) -> int:
        """Return the size of a file."""
        return self._disk.size(self._folder / SEALING / name)

    def commit(self, names: Sequence[str], meta: RunMeta, world: Mapping[str, Any]) -> None:
        """Rename all files, wait until that is on disk, and then write `meta.json`."""
        self._disk.sync_folder(self._folder / SEALING)
        for name in names:
            self._disk.replace(self._folder / SEALING / name, self._folder / name)
        self._disk.sync_folder(self._folder)
        write_meta(self._disk, self._folder, meta, world)


class ArchiveTarget:
    """A folder in a filesystem of pyarrow, such as a bucket; the local `meta.json` then says where the files are."""

    def __init__(self, filesystem: fs.FileSystem, path: str, disk: Disk, folder: Path) -> None:
        self._filesystem = filesystem
        self._path = path
        self._disk = disk
        self._folder = folder
        filesystem.create_dir(path, recursive=True)

    def open(self, name: str) -> BinaryIO:
        """Open a new file there."""
        return cast("BinaryIO", self._filesystem.open_output_stream(f"{self._path}/{name}"))

    def size(self, name: str) -> int:
        """Return the size of a file."""
        return int(self._filesystem.get_file_info(f"{self._path}/{name}").size)

    def commit(self, names: Sequence[str], meta: RunMeta, world: Mapping[str, Any]) -> None:
        """Write `meta.json` there after all other files, and then the local one."""
        assert all(self.size(name) > 0 for name in names)
        with self.open(META) as file:
            file.write(encode_meta(meta, world))
        write_meta(self._disk, self._folder, meta, world)


def python_file(stream: BinaryIO) -> pa.NativeFile:
    """Return a file object in pyarrow's form."""
    return pa.PythonFile(stream, mode="w") if not isinstance(stream, pa.NativeFile) else stream
