"""The simulated disk loses what a real one may lose, and nothing that was synced."""

import errno
from pathlib import Path

import pytest

from tickmind.record.testing import CrashedError, MemoryDisk

FOLDER = Path("/data")
FILE = FOLDER / "file"


def made(seed=0):
    disk = MemoryDisk(seed)
    disk.make_folder(FOLDER)
    return disk


def stop(disk):
    disk.crash_at(1)
    with pytest.raises(CrashedError):
        disk.sync_folder(FOLDER)
    disk.restart()


def after_crash(work):
    """What a file holds after a crash, for many seeds."""
    found = set()
    for seed in range(60):
        disk = made(seed)
        work(disk)
        stop(disk)
        found.add(disk.read_bytes(FILE) if "file" in disk.list(FOLDER) else None)
    return found


def test_what_was_synced_with_its_name_stays():
    def work(disk):
        file = disk.create(FILE)
        file.write(b"safe")
        file.sync()
        disk.sync_folder(FOLDER)

    assert after_crash(work) == {b"safe"}


def test_what_was_not_synced_is_kept_in_part_or_not_at_all():
    def work(disk):
        file = disk.create(FILE)
        file.write(b"safe")
        file.sync()
        disk.sync_folder(FOLDER)
        file.write(b" and not")

    found = after_crash(work)
    assert len(found) > 4
    assert all(one is not None and one.startswith(b"safe") for one in found)


def test_a_name_that_was_not_synced_may_be_lost():
    def work(disk):
        file = disk.create(FILE)
        file.write(b"data")
        file.sync()

    assert after_crash(work) == {None, b"data"}


def test_a_rename_that_was_not_synced_happened_or_did_not_and_nothing_between():
    def work(disk):
        for name, data in (("file", b"old"), ("beside", b"new")):
            file = disk.create(FOLDER / name)
            file.write(data)
            file.sync()
        disk.sync_folder(FOLDER)
        disk.replace(FOLDER / "beside", FILE)

    assert after_crash(work) == {b"old", b"new"}


def test_sectors_may_be_lost_in_between():
    def work(disk):
        file = disk.create(FILE)
        disk.sync_folder(FOLDER)
        file.write(b"x" * 5000)

    assert any(one and b"\x00" in one and one.endswith(b"x") for one in after_crash(work))


def test_the_same_seed_loses_the_same():
    def lose(seed):
        disk = made(seed)
        file = disk.create(FILE)
        disk.sync_folder(FOLDER)
        file.write(bytes(range(256)) * 20)
        stop(disk)
        return disk.read_bytes(FILE)

    assert lose(5) == lose(5)
    assert len({lose(seed) for seed in range(9)}) > 3


def test_nothing_works_after_a_crash_until_the_restart_and_old_files_never():
    disk = made()
    file = disk.create(FILE)
    lock = disk.lock(FOLDER / "lock")
    disk.crash_at(1)
    for _ in range(2):
        with pytest.raises(CrashedError):
            file.write(b"data")
    with pytest.raises(CrashedError):
        disk.list(FOLDER)
    disk.restart()
    with pytest.raises(CrashedError):
        file.write(b"data")
    disk.lock(FOLDER / "lock")
    lock.release()  # of the life before: the new one stays
    with pytest.raises(BlockingIOError):
        disk.lock(FOLDER / "lock")


def test_a_fault_fails_one_operation_and_writes_a_part():
    disk = made(3)
    file = disk.create(FILE)
    disk.fail_at(2, errno.ENOSPC)
    file.write(b"first")
    with pytest.raises(OSError, match="No space") as caught:
        file.write(b"second")
    assert caught.value.errno == errno.ENOSPC
    assert b"firstsecond".startswith(disk.read_bytes(FILE))
    file.write(b"!")
    assert disk.read_bytes(FILE).endswith(b"!")


def test_what_a_failed_sync_gave_up_is_seen_until_the_power_is_lost():
    disk = made()
    file = disk.create(FILE)
    disk.sync_folder(FOLDER)
    for number, text in enumerate((b"safe ", b"lost ", b"more")):
        file.write(text)
        if number == 1:
            disk.fail_at(1, errno.EIO)
            with pytest.raises(OSError, match="Input/output"):
                file.sync()
        else:
            file.sync()
    assert disk.read_bytes(FILE) == b"safe lost more"
    disk.restart(lost_power=False)
    assert disk.copy().read_bytes(FILE) == b"safe lost more"
    disk.restart()
    assert disk.read_bytes(FILE) == b"safe \x00\x00\x00\x00\x00more"


def test_what_is_written_again_after_a_failed_sync_is_safe():
    disk = made()
    file = disk.create(FILE)
    file.write(b"first")
    disk.fail_at(1, errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    disk.truncate(FILE, 2)
    disk.append(FILE).write(b"xed")
    disk.append(FILE).sync()
    disk.sync_folder(FOLDER)
    disk.restart()
    assert disk.read_bytes(FILE) == b"\x00\x00xed"


def test_a_disk_that_drops_nothing_writes_it_with_the_next_sync():
    disk = MemoryDisk(drops_failed_syncs=False)
    disk.make_folder(FOLDER)
    file = disk.create(FILE)
    file.write(b"first")
    disk.fail_at(1, errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    file.sync()
    disk.sync_folder(FOLDER)
    disk.restart()
    assert disk.read_bytes(FILE) == b"first"


def test_a_folder_that_is_not_empty_stays():
    disk = made()
    disk.create(FILE)
    with pytest.raises(OSError, match="not empty"):
        disk.remove(FOLDER)
    disk.remove(FILE)
    disk.remove(FOLDER)
    assert disk.list(FOLDER) == []


def test_a_copy_loses_what_the_first_one_would_and_changes_apart():
    disk = made()
    file = disk.create(FILE)
    file.write(b"safe")
    file.sync()
    disk.sync_folder(FOLDER)
    file.write(b" and not")
    disk.replace(FILE, FOLDER / "other")
    found = set()
    for seed in range(60):
        copy = disk.copy(seed)
        assert copy.read_bytes(FOLDER / "other") == b"safe and not"
        copy.restart()
        (name,) = copy.list(FOLDER)
        found.add((name, copy.read_bytes(FOLDER / name).startswith(b"safe")))
        copy.append(FOLDER / name).write(b"!")
    assert found == {("file", True), ("other", True)}
    assert disk.read_bytes(FOLDER / "other") == b"safe and not"
