"""How the village ends. That it lives is tried with the installed package, in test_package."""

import json
import signal
import subprocess
import sys
import time

import psutil
import pytest

DEMO = (sys.executable, "-m", "tickmind.cli", "demo", "--scripted", "--no-browser", "--any-ports", "--tps", "4")


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
