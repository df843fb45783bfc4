"""The world of the manifests, started by their own script: a rolling restart loses no tick that anybody saw."""

import re
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.acceptance.test_documents import ROOT, RUN_CLI, fresh_environment

from tickmind.base.access.small_ca import SmallCa
from tickmind.base.access.tls_files import TlsFiles
from tickmind.base.access.token_file import TokenFile, rotate
from tickmind.record import RunStore
from tickmind.wire import SyncWorldClient, Tls, WireError, WorldEndpoint

READY_S = 240
pytestmark = [pytest.mark.slow, pytest.mark.timeout(500)]


def script_of_the_world():
    documents = yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "world.yaml").read_text())
    (workload,) = [one for one in documents if one["kind"] == "StatefulSet"]
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    return container["args"][0], container["readinessProbe"]["exec"]["command"]


class Pod:
    """A machine with the volumes of the world, on which its script and its probe run."""

    def __init__(self, warm, folder):
        self.folder = folder
        self._warm = warm
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = taken.getsockname()[1]
        script, probe = script_of_the_world()
        script = re.sub(r"--metrics-port \d+", f"--port {self.port}", script)
        self._script = script.replace("/data", str(folder / "data")).replace("/etc/tickmind", str(folder / "etc"))
        self._probe = [
            word.replace("50051", str(self.port)).replace("/etc/tickmind", str(folder / "etc")) for word in probe
        ]
        ca = SmallCa.make(folder / "etc" / "ca")
        ca.issue_server(["tickmind-world", "localhost", "127.0.0.1"])
        (folder / "etc" / "ca" / "server").rename(folder / "etc" / "tls")
        for role in ("agents", "viewers", "operators"):
            rotate(folder / "etc" / "tokens" / role)
        programs = folder / "bin"
        programs.mkdir()
        program = programs / "tickmind"
        program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')  # says what the script runs
        program.chmod(0o755)
        environment = fresh_environment()
        self._environment = {**environment, "PATH": f"{programs}:{environment['PATH']}"}
        self._process: Any = None

    @property
    def endpoint(self):
        tls = Tls.load(TlsFiles(self.folder / "etc" / "ca" / "ca.pem"))
        token = TokenFile(self.folder / "etc" / "tokens" / "viewers")
        return WorldEndpoint(f"localhost:{self.port}", tls=tls, token=token, timeout_s=60)

    def _run(self, words, output):
        with (self.folder / output).open("ab") as opened:
            environment = fresh_environment()
            return self._warm.start(
                ["-c", RUN_CLI, *words], cwd=self.folder, env=environment, stdout=opened, stderr=opened
            )

    def start(self):
        """Run the script, and then the command at its end."""
        script = ["sh", "-c", self._script]
        said = subprocess.run(script, env=self._environment, capture_output=True, text=True, check=True, timeout=60)
        self._process = self._run(said.stdout.splitlines(), "output.txt")

    def stop(self):
        self._process.terminate()
        return self._process.wait(120)

    def probe(self):
        assert self._probe[0] == "tickmind"
        status = self._run(self._probe[1:], "probe.txt").wait(120)
        return status, (self.folder / "probe.txt").read_text().strip()

    def watch(self, ticks):
        """See some ticks as a viewer, from as soon as there is a world."""
        end_s = time.monotonic() + READY_S
        seen: list[int] = []
        while not seen:
            assert self._process.poll() is None, (self.folder / "output.txt").read_text()
            assert time.monotonic() < end_s, "there is no world"
            with suppress(WireError), SyncWorldClient(self.endpoint) as client:
                for event in client.viewer_events(client.world(), retry=None):
                    seen.append(event.tick_id)
                    if len(seen) == ticks:
                        break
            time.sleep(0.1)
        return seen


@pytest.fixture
def pod(warm, tmp_path):
    made = Pod(warm, tmp_path)
    yield made
    if made._process is not None and made._process.poll() is None:
        made._process.kill()
        made._process.wait(60)


def test_a_rolling_restart_loses_no_tick(pod):
    pod.start()
    first = pod.watch(4)
    assert pod.probe() == (0, f"localhost:{pod.port} is serving")
    assert pod.stop() == 0
    pod.start()
    second = pod.watch(4)
    assert pod.stop() == 0
    assert second[0] > first[-1]
    with RunStore(Path(pod.folder / "data" / "runs")).open("village") as reader:
        recorded = [record.tick_id for record in reader.records()]
    assert recorded == list(range(recorded[0], recorded[-1] + 1))
    assert set(first + second) <= set(recorded)
    output = (pod.folder / "output.txt").read_text()
    resumed = re.search(r"resumes after tick ([\d,]+)", output)
    assert resumed, output
    assert int(resumed[1].replace(",", "")) >= first[-1]
