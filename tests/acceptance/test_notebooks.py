"""The notebooks among the examples run from top to bottom, as a person would run them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs_and_keeps_no_output(notebook, tmp_path):
    cells = json.loads(notebook.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert [cell["outputs"] for cell in cells if cell["cell_type"] == "code" and cell["outputs"]] == []
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(code)], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert all(word in done.stdout for word in ("actor_state.parquet", "steps", "action_type", "fine day", "stood at"))
