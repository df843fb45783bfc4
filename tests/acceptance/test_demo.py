"""How the village bears outages, and how it ends. That it lives is tried in test_package, as it is installed."""

import asyncio
import json
import os
import re
import subprocess
import sys

import psutil
import pytest
from tests.terminal import in_terminal

from tickmind.record import RunStore

DEMO = (sys.executable, "-m", "tickmind.cli", "demo", "--scripted", "--no-browser", "--any-ports", "--tps", "4")
SHOWN = (r"tick \d+: 12 characters", r"models: .* [1-9]\d* answered", r"villager +running +held +\w+ in \d")
CTRL_C = b"\x03"
HIDE_CURSOR, SHOW_CURSOR = b"\x1b[?25l", b"\x1b[?25h"


@pytest.mark.slow(weight=12)
@pytest.mark.realtime  # no tick is missed, at four ticks a second
@pytest.mark.timeout(600)
def test_outages_and_kills_lose_nothing_and_stop_nobody(tmp_path):
    command = [*DEMO[:4], "--drill", "--no-browser", "--any-ports", "--tps", "4"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)
    said = done.stdout[done.stdout.find("The drill:") :]
    assert done.returncode == 0, said + done.stderr[-3000:]
    for name in (
        "missed ticks",
        "world stood still",
        "lost ticks",
        "orphans",
        "calls before Retry-After",
        "behaviour stopped",
    ):
        assert re.search(rf"^{name} +0 ", said, re.MULTILINE), said
    assert "it ticks again after" in " ".join(said.split())
    (run_id,) = (folder.name for folder in (tmp_path / "runs").iterdir())
    page = (tmp_path / "runs" / run_id / "report.html").read_text()
    for trouble in (
        "the provider is away",
        "the provider limits all callers",
        "an agent is killed",
        "the world is killed",
    ):
        assert trouble in page
    with RunStore(tmp_path / "runs").open(run_id) as run:
        ticks = [record.tick_id for record in run.records()]
        assert ticks == list(range(1, len(ticks) + 1))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.asyncio
async def test_a_terminal_shows_the_village_until_ctrl_c_ends_all_of_it_and_finishes_the_run(tmp_path):
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    async with in_terminal(*DEMO, env={**env, "TERM": "xterm"}, cwd=tmp_path) as screen:
        await screen.until(lambda: all(re.search(shown, screen.text()) for shown in SHOWN), within_s=240)
        family = psutil.Process(screen.process.pid).children(recursive=True)
        assert len(family) >= 4
        screen.press(CTRL_C)
        assert await asyncio.wait_for(screen.process.wait(), 300) == 0, screen.text()[-3000:]
        await screen.until(lambda: "tickmind report" in screen.text())
        assert "Watch it at http://" in screen.text()
        assert screen.seen.rfind(SHOW_CURSOR) > screen.seen.rfind(HIDE_CURSOR) > 0
    _, left = psutil.wait_procs(family, timeout=30)
    assert left == []
    (run_id,) = (folder.name for folder in (tmp_path / "runs").iterdir())
    assert json.loads((tmp_path / "runs" / run_id / "meta.json").read_text())["finished"] is True
