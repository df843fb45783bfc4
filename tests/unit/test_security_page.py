"""The page on security names, for each door, tests that there are."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
ROWS = [row for row in PAGE.partition("## Doors")[2].partition("\n## ")[0].splitlines() if row.startswith("| ")][1:]


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_every_named_test_exists(file, test):
    source = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"^(?:async )?def {test}\(", source, re.MULTILINE)


def test_every_promise_names_the_test_that_shows_it():
    doors = ("WebSocket", "play", "MCP", "persona files", "experiment files", "Tiled maps", "Ray", "embeddings")
    assert len(NAMED) == len(ROWS) > len(doors)
    for door in doors:
        assert any(row.startswith(f"| {door}") for row in ROWS), door
