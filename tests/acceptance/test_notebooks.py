"""The notebooks among the examples run from top to bottom, as a person would run them."""

import json
import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PRINTED = {  # notebook -> words of what it prints
    "30_open_a_run.ipynb": ("actor_state.parquet", "steps", "action_type", "fine day", "stood at"),
    "31_market_and_news.ipynb": ("4 trials of 40 ticks are done", "knows", "p (Holm)", "permutation"),
}
STUDY = EXAMPLES / "31_market_and_news.ipynb"


def code_cells(notebook):
    """The cells with code of a notebook."""
    return [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]


def test_every_notebook_is_known():
    assert {path.name for path in EXAMPLES.glob("*.ipynb")} == set(PRINTED)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRINTED)
def test_a_notebook_runs(name, tmp_path, warm_python, monkeypatch):
    monkeypatch.setenv("SEEDS", "2")
    monkeypatch.setenv("TICKS", "40")
    script, folder = tmp_path / "notebook.py", tmp_path / "folder"
    script.write_text("\n".join("".join(cell["source"]) for cell in code_cells(EXAMPLES / name)), encoding="utf-8")
    folder.mkdir()
    shutil.copy(EXAMPLES / "market_and_news.yaml", folder)
    done = warm_python(script, folder)
    assert done.returncode == 0, done.stderr
    assert [word for word in PRINTED[name] if word not in done.stdout] == []


def test_the_notebook_that_makes_its_run_keeps_no_output():
    assert [cell["outputs"] for cell in code_cells(EXAMPLES / "30_open_a_run.ipynb") if cell["outputs"]] == []


def test_the_study_keeps_the_output_of_all_its_trials():
    outputs = [output for cell in code_cells(STUDY) for output in cell["outputs"]]
    printed = "".join("".join(output.get("text", ())) for output in outputs)
    assert all(cell["outputs"] for cell in code_cells(STUDY))
    assert "40 trials of 600 ticks are done" in printed
    assert sum("image/svg+xml" in output.get("data", {}) for output in outputs) == 2
