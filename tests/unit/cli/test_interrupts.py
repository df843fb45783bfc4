"""Ctrl-C at any moment: in good order first, then at once, and never with a traceback."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tickmind
from tickmind.cli.ensemble.ensemble import _ready
from tickmind.cli.ensemble.parts import PartError
from tickmind.cli.interrupts import Interrupts

SRC = Path(tickmind.__file__).parents[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_stops_and_the_second_hurries(number: int) -> None:
    said: list[str] = []

    async def run() -> None:
        done = asyncio.Event()

        def hurry() -> None:
            said.append("hurry")
            done.set()

        interrupts = Interrupts(lambda: said.append("stop"), hurry)
        with interrupts.caught():
            os.kill(os.getpid(), number)
            while not said:  # noqa: ASYNC110 - a signal has no event
                await asyncio.sleep(0)
            os.kill(os.getpid(), number)
            await done.wait()

    asyncio.run(run())
    assert said == ["stop", "hurry"]


def test_a_task_that_is_cancelled_by_a_signal_ends_as_ctrl_c_does() -> None:
    async def run() -> None:
        task = asyncio.current_task()
        assert task is not None
        with Interrupts(task.cancel, task.cancel).caught():
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run())


def test_a_task_that_others_cancel_is_cancelled() -> None:
    async def run() -> None:
        task = asyncio.current_task()
        assert task is not None
        with Interrupts(task.cancel, task.cancel).caught():
            task.cancel()
            await asyncio.Event().wait()

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())


def test_ctrl_c_while_the_program_is_imported_is_silent() -> None:
    program = (
        "import sys\n"
        "class Interrupting:\n"
        "    @staticmethod\n"
        "    def find_spec(name, *_given):\n"
        "        if name == 'tickmind.cli.app':\n"
        "            raise KeyboardInterrupt\n"
        "from tickmind.cli import main\n"
        "sys.meta_path.insert(0, Interrupting)\n"
        "main()\n"
    )
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


class FakePart:
    """A part that never says where it is; `error` is what ended it."""

    def __init__(self, error: PartError | None = None) -> None:
        self.error = error

    async def address(self) -> str:
        await asyncio.Event().wait()
        return ""

    def complain(self) -> None:
        if self.error is not None:
            raise self.error


@pytest.mark.asyncio
async def test_nobody_waits_for_a_world_after_another_part_has_gone_down() -> None:
    """Or a page whose port was taken is reported after a minute, when the world is ready."""
    gone = asyncio.Event()
    world: Any = FakePart()
    viewer: Any = FakePart(PartError("the viewer did not start"))
    asyncio.get_running_loop().call_soon(gone.set)
    with pytest.raises(PartError, match="the viewer did not start"):
        await _ready(world, [world, viewer], gone)
    with pytest.raises(PartError, match="ended before all parts were up"):
        await _ready(world, [world], gone)
