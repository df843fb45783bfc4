"""The guide's examples with curl and the official OpenAI clients are run as they stand, against a real gateway."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tickmind.base import Secret
from tickmind.gateway import ApiKey, GatewayConfig, GatewayServer, Limits, Provider, Route
from tickmind.llm.testing import FakeProvider

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "gateway.md").read_text(encoding="utf-8")
ANSWER = "I gather wood."

pytestmark = pytest.mark.slow


def example(language: str) -> str:
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    return str(block)


@pytest.fixture
def port() -> Iterator[int]:
    """A gateway in a thread of its own, in front of a fake provider."""
    ready, stop = threading.Event(), threading.Event()
    ports: list[int] = []

    async def serve() -> None:
        async with FakeProvider(default=ANSWER) as fake:
            key = ApiKey("k1", Secret("sk-canary-0123456789"))
            provider = Provider("fake", fake.base_url, keys=(key,), limits=Limits(concurrency=8, burst=8))
            config = GatewayConfig(providers={"fake": provider}, exact={"m": Route((("fake", None),))}, port=0)
            async with GatewayServer(config) as server:
                ports.append(server.port)
                ready.set()
                await asyncio.get_running_loop().run_in_executor(None, stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(60)
        yield ports[0]
    finally:
        stop.set()
        thread.join(60)


def run(command: list[str], folder: Path, **env: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(
        command, cwd=folder, env={**kept, **env}, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def test_curl_asks_through_the_gateway(port: int, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    script = example("zsh").replace("8766", str(port))
    assert ANSWER in run(["sh", "-c", script], tmp_path)


def test_the_official_python_client_works_unchanged(port: int, tmp_path: Path) -> None:
    script = tmp_path / "ask.py"
    script.write_text(example("python3").replace("8766", str(port)), encoding="utf-8")
    assert run([sys.executable, str(script)], tmp_path).count(ANSWER) == 2


def test_the_official_javascript_client_works_unchanged(port: int, tmp_path: Path) -> None:
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not installed")
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(ROOT / "tests" / "node" / name, tmp_path)
    cache = {"npm_config_cache": str(tmp_path / "cache")}
    run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], tmp_path, **cache)
    (tmp_path / "ask.mjs").write_text(example("javascript").replace("8766", str(port)), encoding="utf-8")
    assert ANSWER in run(["node", "ask.mjs"], tmp_path)
