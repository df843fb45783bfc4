"""A Python that has imported much of the platform once (nothing with threads), for many small programs."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Each program runs in a fork of its own, from its first line to the end of the interpreter, as it would by itself.
# What was there before the fork is frozen: else each of them would look through all of it for garbage when it ends.
WARM = """
import gc, json, os, runpy, sys
import aiohttp, grpc.aio, numba, rich.console, rich.table, typer
import tickmind.agent, tickmind.ai, tickmind.cli, tickmind.gateway, tickmind.llm.testing, tickmind.protocol
import tickmind.server, tickmind.strategy, tickmind.tick, tickmind.wire, tickmind.world
gc.freeze()
for line in sys.stdin:
    order = json.loads(line)
    if os.fork() == 0:
        break
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
else:
    sys.exit()
for number, file in ((0, os.devnull), (1, order["stdout"]), (2, order["stderr"])):
    opened = os.open(file, os.O_RDWR | os.O_CREAT)
    os.dup2(opened, number)
    os.close(opened)
sys.stdin = open(0)
os.chdir(order["folder"])
sys.argv = [order["script"]]
sys.path[0] = os.path.dirname(order["script"])
runpy.run_path(order["script"], run_name="__main__")
"""


@dataclass(frozen=True)
class Done:
    """How a program ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def warm_python() -> Iterator[Callable[[Path, Path], Done]]:
    """Run a script in a folder, like `python script.py`, in a fork of one process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LLM_", "TICKMIND_", "PYTEST_"))}
    process = subprocess.Popen(
        [sys.executable, "-c", WARM],
        env={**kept, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    orders, answers = process.stdin, process.stdout

    def run(script: Path, folder: Path) -> Done:
        stdout, stderr = script.with_suffix(".stdout"), script.with_suffix(".stderr")
        order = {"script": str(script), "folder": str(folder), "stdout": str(stdout), "stderr": str(stderr)}
        orders.write(json.dumps(order) + "\n")
        orders.flush()
        code = int(answers.readline())
        return Done(code, stdout.read_text(encoding="utf-8"), stderr.read_text(encoding="utf-8"))

    yield run
    process.communicate()
