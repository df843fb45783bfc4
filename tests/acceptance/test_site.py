import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(
    file.parent.name
    for file in (ROOT / "src" / "tickmind").glob("*/__init__.py")
    if "__all__" in file.read_text() and file.parent.name != "cli"  # whose reference is --help
)
# Without ruff, which would be started for each of a thousand signatures to break its lines, and without an index of all
# words for the search. The garbage collector would look through all trees of all modules again and again.
MKDOCS = """
import gc, sys
gc.disable()
sys.modules["ruff"] = None
from material.plugins.search.plugin import SearchIndex
from mkdocs.__main__ import cli
SearchIndex.add_entry_from_context = lambda *_: None
cli()
"""


@pytest.mark.slow(weight=10)
def test_the_documentation_builds_without_a_warning(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", MKDOCS, "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    assert (tmp_path / "site" / "guides" / "tick.html").is_file()
    boards = (tmp_path / "site" / "api" / "ai.html").read_text()
    assert "<blockquote>" not in boards, "an example of a docstring is shown as a quotation"
    assert 'class="gp">' in boards, "no example of a docstring is shown as code"
    for package in PACKAGES:
        page = (tmp_path / "site" / "api" / f"{package}.html").read_text()
        module = importlib.import_module(f"tickmind.{package}")
        for name in module.__all__:
            if inspect.isroutine(getattr(module, name)) or inspect.isclass(getattr(module, name)):
                assert f'id="tickmind.{package}.{name}"' in page, f"the reference of {package} lacks {name}"
