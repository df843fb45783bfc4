"""How the village bears outages, and how it ends. That it lives is tried in test_package, as it is installed."""

import json
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tickmind.record import RunStore

DEMO = (sys.executable, "-m", "tickmind.cli", "demo", "--scripted", "--no-browser", "--any-ports", "--tps", "4")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_outages_and_kills_lose_nothing_and_stop_nobody(tmp_path):
    command = [*DEMO[:4], "--drill", "--no-browser", "--any-ports", "--tps", "4"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)
    said = done.stdout[done.stdout.find("The drill:") :]
    assert done.returncode == 0, said + done.stderr[-3000:]
    for name in ("missed ticks", "lost ticks", "orphans", "calls before Retry-After", "behaviour stopped"):
        assert re.search(rf"^{name} +0 ", said, re.MULTILINE), said
    assert "it ticks again after" in " ".join(said.split())
    (run_id,) = (folder.name for folder in (tmp_path / "runs").iterdir())
    page = (tmp_path / "runs" / run_id / "report.html").read_text()
    for trouble in (
        "the provider is away",
        "the provider limits everybody",
        "an agent is killed",
        "the world is killed",
    ):
        assert trouble in page
    with RunStore(tmp_path / "runs").open(run_id) as run:
        ticks = [record.tick_id for record in run.records()]
        assert ticks == list(range(1, len(ticks) + 1))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ctrl_c_ends_all_of_it_and_finishes_the_run(tmp_path):
    with subprocess.Popen(DEMO, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as demo:
        assert demo.stderr is not None
        for line in demo.stderr:
            if "is running" in line:
                break
        family = psutil.Process(demo.pid).children(recursive=True)
        assert len(family) >= 4
        demo.send_signal(signal.SIGINT)
        output, _ = demo.communicate(timeout=300)
    assert "tickmind report" in output
    gone_by = time.monotonic() + 30
    while (left := [one for one in family if one.is_running()]) and time.monotonic() < gone_by:
        psutil.wait_procs(left, timeout=1)
    assert left == []
    (run_id,) = (folder.name for folder in (tmp_path / "runs").iterdir())
    assert json.loads((tmp_path / "runs" / run_id / "meta.json").read_text())["finished"] is True
