import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_every_test_that_the_guide_names_exists():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "guides" / "strategy.md").read_text(encoding="utf-8")))
    known = {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }
    assert named
    assert named - known == set()
