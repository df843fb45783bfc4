"""`tickmind new` writes what runs."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tickmind.cli.app import app

ROOT = Path(__file__).parents[3]


def run(*arguments):
    return CliRunner().invoke(app, ["new", *map(str, arguments)])


def test_a_new_agent_is_written_with_its_test(tmp_path):
    done = run("agent", "gatherer", "--folder", tmp_path / "mine")
    assert done.exit_code == 0, done.output
    assert sorted(file.name for file in (tmp_path / "mine").iterdir()) == ["gatherer.py", "test_gatherer.py"]
    assert "ENTITY_ID=entity:1 python" in done.output


@pytest.mark.parametrize("name", ["Gatherer", "berry picker", "class", "../x", "", "1st", "größe"])
def test_a_name_that_is_none_is_refused(tmp_path, name):
    done = run("agent", name, "--folder", tmp_path)
    assert done.exit_code == 1
    assert "is no valid file name" in done.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["pytest", "conftest", "tickmind", "numpy", "structlog", "json"])
def test_a_name_that_would_hide_a_module_is_refused(tmp_path, name):
    """Or the agent's own test, or the agent, imports the agent in the place of what it needs."""
    done = run("agent", name, "--folder", tmp_path)
    assert done.exit_code == 1
    assert f"{name}.py would shadow" in done.output
    assert f"such as my_{name}" in done.output
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "test_gatherer.py").write_text("mine")
    done = run("agent", "gatherer", "--folder", tmp_path)
    assert done.exit_code == 1
    assert "exists already" in done.output
    assert [file.read_text() for file in tmp_path.iterdir()] == ["mine"]


def without(plugin):
    return "-p", f"no:{plugin}"


@pytest.mark.slow
def test_the_test_that_is_written_passes_and_the_code_is_clean(tmp_path):
    assert run("agent", "berry_picker", "--folder", tmp_path).exit_code == 0
    env = {"PYTHONPATH": str(ROOT / "src"), "PATH": ""}
    checks = [
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            *without("cacheprovider"),
            *without("schemathesis"),
            "test_berry_picker.py",
        ],
        [sys.executable, "-m", "ruff", "check", "--no-cache", "--isolated", "--line-length", "120", "."],
        [sys.executable, "-m", "ruff", "format", "--no-cache", "--isolated", "--line-length", "120", "--check", "."],
    ]
    for check in checks:
        done = subprocess.run(check, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["random", "queue", "tickmind"])
def test_a_name_that_would_hide_a_module_of_python_is_refused(tmp_path, name):
    done = run("agent", name, "--folder", tmp_path)
    assert done.exit_code == 1
    assert f"choose another name, such as my_{name}" in done.output
    assert list(tmp_path.iterdir()) == []
