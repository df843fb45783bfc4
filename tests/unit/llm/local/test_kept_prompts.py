"""Prompts kept in the cache, which others may change at any time."""

from pathlib import Path

from tickmind.llm.local.kept_prompts import KeptPrompts


def test_a_file_that_vanishes_meanwhile_is_no_trouble(tmp_path: Path) -> None:
    kept = KeptPrompts(tmp_path)
    (tmp_path / "gone.slot").symlink_to(tmp_path / "nothing")  # is listed, and is not there
    (tmp_path / kept.unfinished("mine.slot")).write_bytes(b"read")
    kept.finish("mine.slot")
    assert kept.has("mine.slot")
