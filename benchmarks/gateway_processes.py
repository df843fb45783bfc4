"""Starts the mock provider, the gateways and the load, each on its core, and ends them all."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.gateway_sides import HOST

PEERS_PYTHON = os.environ.get("BENCH_PEERS", ".venv-bench-gateway/bin/python")
START_LIMIT_S = 300.0  # LiteLLM's proxy takes its time on a busy machine
IN_PEERS_ENVIRONMENT = ("tensorzero", "litellm")
PATHS = {"tensorzero": "/openai/v1/chat/completions"}
MODELS = {"tensorzero": "tensorzero::model_name::mock"}


@dataclass(frozen=True)
class Side:
    """A gateway that runs, or the provider itself."""

    name: str
    port: int
    pid: int
    key: str = field(default="", repr=False)  # that it wants from callers

    @property
    def headers(self) -> dict[str, str]:
        """What its requests carry."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    @property
    def path(self) -> str:
        """Where it takes chat completions."""
        return PATHS.get(self.name, "/v1/chat/completions")

    @property
    def model(self) -> str:
        """What it calls the mock's model."""
        return MODELS.get(self.name, "mock")

    def memory_mb(self) -> float:
        """What it holds in memory now."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


@dataclass(frozen=True)
class Load:
    """What came of one run of the load."""

    requests: int
    requests_per_s: float
    p50_ms: float
    p99_ms: float
    errors: int
    load_cpu: float  # of one core; near 1.0 the load is the bottleneck, and the figures say little of the gateway
    cpu_us: float  # of the gateway, per request


def cores() -> tuple[int, int]:
    """(the gateway's core, the others' core)."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[-1], usable[0]


@contextmanager
def provider(*, requests_per_minute: int = 0, latency_ms: float = 0.0) -> Iterator[Side]:
    """A mock provider."""
    options = {"requests-per-minute": requests_per_minute, "latency-ms": latency_ms}
    arguments = ["-m", "benchmarks.gateway_mock", "--core", str(cores()[1])]
    arguments += [text for name, value in options.items() for text in (f"--{name}", str(value))]
    with _process(sys.executable, arguments) as process:
        yield Side("provider", int(_line(process)), process.pid)


@contextmanager
def gateway(name: str, upstreams: Sequence[Side], *arguments: str) -> Iterator[Side]:
    """One of the sides, in front of these providers."""
    peer = name in IN_PEERS_ENVIRONMENT
    if peer and not Path(PEERS_PYTHON).exists():
        raise SystemExit(f"{PEERS_PYTHON} is missing: run `make bench ONLY=gateway`, which sets the peers up")
    with tempfile.TemporaryDirectory(prefix="tickmind-bench-") as folder:
        own = ["-m", "benchmarks.gateway_sides", name, "--core", str(cores()[0]), "--folder", folder]
        own += ["--port", str(_free_port())]
        own += [text for upstream in upstreams for text in ("--upstream", str(upstream.port))]
        key = f"sk-{secrets.token_hex(32)}" if name == "litellm" else ""  # it does not start without one
        with _process(PEERS_PYTHON if peer else sys.executable, [*own, *arguments], key) as process:
            while not (line := _line(process)).startswith("port "):
                pass
            side = Side(name, int(line.split()[1]), process.pid, key)
            _wait_until_it_answers(side, process)
            yield side


@contextmanager
def gateways(names: Sequence[str], upstreams: Sequence[Side]) -> Iterator[list[Side]]:
    """Several sides."""
    with ExitStack() as stack:
        yield [stack.enter_context(gateway(name, upstreams)) for name in names]


@contextmanager
def paused(sides: Sequence[Side]) -> Iterator[None]:
    """Keep sides from working off what they were left with while another one is measured."""
    for side in sides:
        os.kill(side.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for side in sides:
            os.kill(side.pid, signal.SIGCONT)


def load(side: Side, *arguments: str, model: str = "") -> Load:
    """Keep a side busy and measure."""
    own = ["--port", str(side.port), "--path", side.path, "--model", model or side.model, "--pid", str(side.pid)]
    command = [sys.executable, "-m", "benchmarks.gateway_load", "--core", str(cores()[1]), *own, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=_environment(side.key))
    measured = Load(**json.loads(done.stdout))
    if measured.errors or not measured.requests:
        raise RuntimeError(f"{side.name}: {measured.errors} of {measured.requests} replies were errors")
    return measured


@contextmanager
def _process(python: str, arguments: list[str], key: str = "") -> Iterator["subprocess.Popen[str]"]:
    pipe = subprocess.PIPE
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [python, *arguments], stdin=pipe, stdout=pipe, stderr=errors, text=True, env=_environment(key)
        )
        try:
            yield process
        except ChildProcessError as exc:
            errors.seek(0)
            raise RuntimeError(f"{' '.join(arguments[:3])} ended: {errors.read()[-2000:]}") from exc
        finally:
            process.kill()
            process.communicate()


def _environment(key: str) -> dict[str, str]:
    return {**os.environ, "BENCH_KEY": key}


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise ChildProcessError
    return line.strip()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


def _wait_until_it_answers(side: Side, process: "subprocess.Popen[str]") -> None:
    body = json.dumps({"model": side.model, "messages": [{"role": "user", "content": "Are you there?"}]}).encode()
    url = f"http://{HOST}:{side.port}{side.path}"
    until_s = time.monotonic() + START_LIMIT_S
    while time.monotonic() < until_s:
        request = urllib.request.Request(url, body, {"Content-Type": "application/json", **side.headers})
        try:
            with urllib.request.urlopen(request, timeout=30):
                return
        except urllib.error.HTTPError as exc:
            raise RuntimeError(f"{side.name} answers {exc.code}: {exc.read()[:500]!r}") from exc
        except OSError:
            if process.poll() is not None:
                raise ChildProcessError from None
            time.sleep(0.2)
    raise RuntimeError(f"{side.name} did not answer within {START_LIMIT_S:.0f} s")
