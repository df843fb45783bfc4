"""A terminal of one's own: no settings of the developer's."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tickmind.cli.app import app

CANARY = "sk-canary-5f1e0d9c8b7a6f5e4d3c"


@pytest.fixture(autouse=True)
def _clean_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "LLM_BASE_URL",
        "LLM_API_KEY",
        "LLM_MODEL",
        "LLM_API",
        "LLM_CONCURRENCY",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TICKMIND_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def tickmind() -> Callable[..., Result]:
    """The whole program, as a person runs it, with what it printed."""

    def run(*arguments: str, stdin: str | bytes = "") -> Result:
        return CliRunner().invoke(app, list(arguments), input=stdin, prog_name="tickmind")

    return run


@pytest.fixture
def canary() -> str:
    """A key that must never be seen."""
    return CANARY
