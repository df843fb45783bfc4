"""A name that others have taken costs nothing: no link is written through, and nothing endless is read."""

import os
import stat
import subprocess
import sys
import threading

import pytest

from tickmind.base.files import UnsafeFileError, create_file, open_file, open_to_read, read_at_most, replace_file


@pytest.fixture
def victim(tmp_path):
    path = tmp_path / "victim"
    path.write_text("precious")
    return path


@pytest.fixture
def unchanged(victim):
    yield
    assert victim.read_text() == "precious"


def write(descriptor, text):
    with os.fdopen(descriptor, "w") as file:
        file.write(text)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("kind", ["symbolic", "hard"])
def test_a_created_file_takes_the_place_of_a_link(tmp_path, victim, kind):
    path = tmp_path / "file"
    path.symlink_to(victim) if kind == "symbolic" else path.hardlink_to(victim)
    write(create_file(path), "ours")
    assert path.read_text() == "ours"
    assert not path.is_symlink()


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("flags", [os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_CREAT, os.O_RDWR, os.O_WRONLY])
def test_a_link_is_not_opened_to_be_written(tmp_path, victim, flags):
    path = tmp_path / "link"
    path.symlink_to(victim)
    with pytest.raises(UnsafeFileError, match="it is a link, and links are not followed"):
        open_file(path, flags)


def test_a_link_to_nothing_makes_nothing(tmp_path):
    path = tmp_path / "link"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafeFileError):
        open_file(path, os.O_WRONLY | os.O_CREAT)
    assert not (tmp_path / "elsewhere").exists()


def not_files(folder):
    os.mkfifo(folder / "pipe")
    (folder / "device").symlink_to("/dev/zero")
    return [folder / "pipe", folder / "device", folder]


def in_time(work):
    """What a call raises, if it ends at all: opening a pipe may wait for its other end forever."""
    raised = []

    def run():
        try:
            work()
        except OSError as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    return raised


def test_what_is_no_regular_file_is_neither_read_nor_written(tmp_path):
    for path in not_files(tmp_path):
        assert isinstance(in_time(lambda path=path: read_at_most(path, 100))[0], OSError), path
        assert isinstance(in_time(lambda path=path: open_file(path, os.O_WRONLY))[0], OSError), path
        assert isinstance(in_time(lambda path=path: replace_file(path, b"new"))[0], UnsafeFileError), path
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_file_is_read_through_a_link(tmp_path, victim):
    path = tmp_path / "link"
    path.symlink_to(victim)
    os.close(open_to_read(path))
    assert read_at_most(path, 100) == b"precious"
    assert read_at_most(path, 3) == b"pre"


@pytest.mark.usefixtures("unchanged")
def test_a_link_is_not_replaced_by_a_file(tmp_path, victim):
    path = tmp_path / "link"
    path.symlink_to(victim)
    with pytest.raises(UnsafeFileError, match="remove it, or choose another name"):
        replace_file(path, b"new")
    assert path.is_symlink()


@pytest.mark.usefixtures("unchanged")
def test_another_name_of_the_same_file_keeps_its_content(tmp_path, victim):
    path = tmp_path / "other"
    path.hardlink_to(victim)
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_replaced_file_keeps_its_permissions_and_a_private_one_is_private(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o640)
    replace_file(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    replace_file(path, b"newer", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"newer"


def test_a_file_that_can_not_be_put_in_place_leaves_no_draft(tmp_path, monkeypatch):
    def refuse(descriptor, mode):
        raise OSError("no")

    monkeypatch.setattr(os, "fchmod", refuse)
    with pytest.raises(OSError, match="no"):
        replace_file(tmp_path / "file", b"new", mode=0o600)
    assert list(tmp_path.iterdir()) == []


def test_reading_takes_no_more_memory_than_the_file_has(tmp_path):
    """A limit of gigabytes must not cost gigabytes: an agent's process has one."""
    (tmp_path / "small").write_bytes(b"abc")
    program = (
        "import resource, sys; from pathlib import Path; from tickmind.base.files import read_at_most;"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30));"
        "print(read_at_most(Path(sys.argv[1]), 4_000_000_000))"
    )
    command = [sys.executable, "-c", program, tmp_path / "small"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "b'abc'\n", done.stderr
