"""Many small programs, each a fork of one Python."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.acceptance.test_documents import fresh_environment
from tests.warm import WarmPython


@dataclass(frozen=True)
class Done:
    """How a program ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def warm_python(warm: WarmPython) -> Callable[..., Done]:
    """Run a script in a folder, like `python script.py`, in a fork of one process."""

    def run(script: Path, folder: Path, *arguments: str) -> Done:
        stdout, stderr = (folder.parent / f"{script.stem}.{kind}" for kind in ("stdout", "stderr"))
        with stdout.open("wb") as out, stderr.open("wb") as err:
            process = warm.start([script, *arguments], cwd=folder, env=fresh_environment(), stdout=out, stderr=err)
        code = process.wait()
        return Done(code, stdout.read_text(encoding="utf-8"), stderr.read_text(encoding="utf-8"))

    return run
