"""What the gateway's guide shows is run: its file, its commands and the clients, against a gateway in a process."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.acceptance.test_documents import BLOCKS, ROOT, RUN_CLI, commands_of, fresh_environment
from tests.kits.node_packages import installed_node_packages

from tickmind.gateway.settings.config import CircuitConfig, QueueConfig, RetryConfig, SharingConfig, WireConfig
from tickmind.llm.testing import FakeProvider

GUIDE = ROOT / "docs" / "guides" / "gateway.md"
THREE_GAMES = GUIDE.with_name("three-games.md")
ADDRESS = "127.0.0.1:8766"
WAIT_S = 120


def blocks(language: str) -> list[str]:
    return [block.text for block in BLOCKS[GUIDE] if block.language == language]


CURLS = [
    words
    for block in BLOCKS[GUIDE]
    if block.language == "console"
    for words in commands_of(block)
    if words[0] == "curl"
]


@pytest.fixture(scope="module")
def gateway() -> Iterator[str]:
    """A gateway with the guide's own file, but for the address of its provider; gives where it listens."""
    with FakeProvider.in_thread() as provider, tempfile.TemporaryDirectory() as folder:
        (settings,) = map(yaml.safe_load, blocks("yaml"))
        settings["providers"]["workshop"]["base_url"] = provider.base_url
        file = Path(folder) / "gateway.yaml"
        file.write_text(yaml.safe_dump(settings))
        log = Path(folder) / "log"
        command = [sys.executable, "-c", RUN_CLI, "gateway", "--config", str(file), "--port", "0"]
        with log.open("wb") as opened:
            process = subprocess.Popen(command, cwd=folder, env=fresh_environment(), stdout=opened, stderr=opened)
        try:
            until_s = time.monotonic() + WAIT_S
            while "The gateway is at http://" not in (said := log.read_text()):
                assert process.poll() is None, said
                assert time.monotonic() < until_s, said
                time.sleep(0.05)
            yield said.partition("http://")[2].partition(";")[0]
        finally:
            process.terminate()
            process.wait(30)


def run(command: list[str], **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT_S, **options)  # type: ignore[call-overload]  # as they come
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    shown: str = done.stdout
    return shown


@pytest.mark.slow
@pytest.mark.parametrize("code", blocks("python"))
def test_the_official_python_client_works_unchanged(code: str, gateway: str, tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="openai is in the extra `openai`")
    assert ADDRESS in code
    script = tmp_path / "snippet.py"
    script.write_text(code.replace(ADDRESS, gateway))
    shown = run([sys.executable, str(script)], cwd=tmp_path, env=fresh_environment())
    assert 'workshop {"nextAllowedAt":' in shown


@pytest.mark.slow
def test_three_games_share_one_key_as_their_guide_shows(gateway: str, tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="openai is in the extra `openai`")
    (code,) = (block.text for block in BLOCKS[THREE_GAMES] if block.language == "python")
    script = tmp_path / "snippet.py"
    script.write_text(code.replace(ADDRESS, gateway))
    shown = run([sys.executable, str(script)], cwd=tmp_path, env=fresh_environment())
    assert [line.split()[0] for line in shown.splitlines() if line] == ["village", "arena", "quest"]


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """The folder of the pinned packages."""
    return installed_node_packages()


@pytest.mark.slow
@pytest.mark.parametrize("code", blocks("javascript"))
def test_the_official_node_client_works_unchanged(code: str, gateway: str, node_modules: Path) -> None:
    assert ADDRESS in code
    code = code.replace(ADDRESS, gateway)
    shown = run(["node", "--input-type=module", "--eval", code], cwd=node_modules, env={"PATH": os.environ["PATH"]})
    assert shown.strip()


@pytest.mark.slow
@pytest.mark.parametrize("words", CURLS, ids=[words[2].rpartition(ADDRESS)[2] for words in CURLS])
def test_a_command_of_the_guide_is_answered(words: list[str], gateway: str) -> None:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    shown = json.loads(run([word.replace(ADDRESS, gateway) for word in words]))
    assert not shown.get("error")


def test_the_lock_file_names_no_registry() -> None:
    assert "resolved" not in (ROOT / "tests" / "node" / "package-lock.json").read_text()


def test_the_limits_in_the_guide_are_those_of_the_settings() -> None:
    sections = {
        "queue": QueueConfig(),
        "wire": WireConfig(),
        "sharing": SharingConfig(),
        "retry": RetryConfig(),
        "circuit": CircuitConfig(),
    }
    shown = {
        100: "100", 60.0: "60 s", 120.0: "120 s", 600.0: "600 s", 4 << 20: "4 MiB", 32 << 10: "32 KiB",
        64 << 20: "64 MiB", 4096: "4,096", 1024: "1,024", 10.0: "10 s", 75.0: "75 s", 10_000: "10,000", 5: "5",
        15.0: "15 s", 3600.0: "1 h",
    }  # fmt: skip
    checked = 0
    for line in GUIDE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 3 or "`" not in cells[2] or "retry.ratio" in line:
            continue
        names = [name.strip("`").split(".") for name in cells[2].split(", ")]
        for value, (section, *rest) in zip(cells[1].split("; "), names, strict=False):
            if section in sections:
                assert value == shown[getattr(sections[section], rest[0])], line
                checked += 1
    assert checked >= 15
