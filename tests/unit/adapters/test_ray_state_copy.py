"""An agent's state folder, kept on the runner's machine while the agent runs elsewhere."""

import os
import zlib

import pytest

from tickmind.adapters.ray.state_copy import StateFolder, StatePiece, keep_pieces, read_pieces
from tickmind.base.files import replace_file


@pytest.fixture
def folders(tmp_path):
    node, kept = tmp_path / "node", tmp_path / "kept"
    node.mkdir()
    kept.mkdir()
    return node, kept


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_changes_on_the_node_is_kept_by_the_runner(folders):
    node, kept = folders
    state = StateFolder(node)
    replace_file(node / "lease.json", b"one")
    keep_pieces(kept, state.changes())
    assert content(kept) == {"lease.json": b"one"}
    assert state.changes() == []
    replace_file(node / "lease.json", b"two")
    replace_file(node / "memory.json", b"a berry")
    keep_pieces(kept, state.changes())
    assert content(kept) == content(node)
    (node / "lease.json").unlink()
    keep_pieces(kept, state.changes())
    assert content(kept) == {"memory.json": b"a berry"}


def test_of_a_file_that_grows_only_the_end_is_sent(folders):
    node, kept = folders
    state = StateFolder(node)
    with (node / "journal").open("ab", buffering=0) as journal:
        journal.write(b"first ")
        keep_pieces(kept, state.changes())
        journal.write(b"second")
        (piece,) = state.changes()
    assert (piece.offset, zlib.decompress(piece.packed or b"")) == (6, b"second")
    keep_pieces(kept, [piece])
    assert content(kept) == {"journal": b"first second"}


@pytest.mark.parametrize("large", [0, 9_000_000])
def test_a_file_that_began_anew_is_sent_whole_however_much_it_has_grown(folders, large):
    """A journal is begun anew in place, and a file that replaces another may get the same number of the file system."""
    node, kept = folders
    state = StateFolder(node)
    for before, after in ((b"run one", b"run two, and more"), (b"same begin, end", b"same begin, other end")):
        begin = b"x" * large if before.startswith(b"same") else b""
        (node / "journal").write_bytes(begin + before)
        while pieces := state.changes():
            keep_pieces(kept, pieces)
        (node / "journal").write_bytes(begin + after)
        while pieces := state.changes():
            keep_pieces(kept, pieces)
        assert content(kept) == content(node)


def test_a_large_journal_comes_in_pieces_until_it_is_whole(folders):
    node, kept = folders
    data = os.urandom(10_000_000)
    (node / "journal").write_bytes(data)
    state = StateFolder(node)
    rounds = 0
    while pieces := state.changes():
        assert sum(len(piece.packed or b"") for piece in pieces) < 8_100_000
        keep_pieces(kept, pieces)
        rounds += 1
    assert rounds >= 2
    assert content(kept) == {"journal": data}


def test_a_fresh_node_gets_all_and_sends_nothing_back(folders):
    node, kept = folders
    (kept / "empty").write_bytes(b"")
    (kept / "memory.json").write_bytes(b"x" * 9_000_000)
    state = StateFolder(node)
    state.fill(read_pieces(kept))
    assert content(node) == content(kept)
    assert state.changes() == []


def test_files_are_private_and_drafts_stay_on_the_node(folders):
    node, kept = folders
    (node / ".memory.json.draft").write_bytes(b"half")
    (node / "memory.json").write_bytes(b"whole")
    keep_pieces(kept, StateFolder(node).changes())
    assert content(kept) == {"memory.json": b"whole"}
    assert (kept / "memory.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["../lease.json", "/etc/passwd", "", ".", "..", ".hidden", "a\0b", "x" * 300])
def test_a_node_can_not_write_elsewhere(folders, name, tmp_path):
    _, kept = folders
    keep_pieces(kept, [StatePiece(name, 0, zlib.compress(b"evil")), StatePiece(name, 0, None)])
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["kept", "node"]


@pytest.mark.parametrize("packed", [b"no zlib", zlib.compress(b"cut off")[:-3], zlib.compress(b"\0" * 50_000_000)])
def test_damaged_pieces_and_bombs_are_not_kept(folders, packed):
    _, kept = folders
    (kept / "memory.json").write_bytes(b"before")
    keep_pieces(kept, [StatePiece("memory.json", 0, packed)])
    assert content(kept) == {"memory.json": b"before"}


def test_a_link_is_not_written_through(folders, tmp_path):
    _, kept = folders
    target = tmp_path / "target"
    target.write_bytes(b"mine")
    (kept / "memory.json").symlink_to(target)
    with pytest.raises(OSError, match="link"):
        keep_pieces(kept, [StatePiece("memory.json", 3, zlib.compress(b"evil"))])
    assert target.read_bytes() == b"mine"
