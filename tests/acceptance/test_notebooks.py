"""The notebooks among the examples run from top to bottom, as a person would run them."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs_and_keeps_no_output(notebook, tmp_path, warm_python):
    cells = json.loads(notebook.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert [cell["outputs"] for cell in cells if cell["cell_type"] == "code" and cell["outputs"]] == []
    script, empty = tmp_path / "notebook.py", tmp_path / "empty"
    script.write_text("\n".join(code), encoding="utf-8")
    empty.mkdir()
    done = warm_python(script, empty)
    assert done.returncode == 0, done.stderr
    assert all(word in done.stdout for word in ("actor_state.parquet", "steps", "action_type", "fine day", "stood at"))
