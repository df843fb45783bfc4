"""The OpenAPI document and the gateway say the same, as a tool sees it that tries all kinds of requests."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from tickmind.gateway.settings.config import Caller, QueueConfig
from tickmind.gateway.sharing.caller_keys import hash_key

pytest.importorskip("schemathesis", reason="schemathesis is a development dependency; see pyproject.toml")
KEY = "sk-tm-schemathesis"
# A request may be right and still come too late (410, 504). What the OpenAI surface passes on is for the provider to
# judge, and a header that nobody knows is no mistake.
CONFIG = """\
[checks.positive_data_acceptance]
expected-statuses = [200, 403, 404, 409, 410, 429, "5xx"]

[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 503, 504]

[[operations]]
include-path-regex = "^/v1/(chat|responses)"
checks.negative_data_rejection.expected-statuses = [200, "4xx"]
checks.positive_data_acceptance.expected-statuses = [200, 400, 403, 404, 409, 410, 429, "5xx"]
"""


async def run_tool(house: Any, folder: Path, *arguments: str) -> tuple[int | None, str]:
    """Run it against a gateway; gives its exit code and what it said."""
    (folder / "schemathesis.toml").write_text(CONFIG)
    command = [
        "-m",
        "schemathesis.cli",
        "--config-file",
        "schemathesis.toml",
        "run",
        f"{house.server.url}/openapi.json",
    ]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        *("--checks", "all", "--generation-deterministic", "--max-examples", "15"),
        *("--phases", "examples,coverage,fuzzing", "--suppress-health-check", "all", "--no-color", *arguments),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), 400)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, said.decode(errors="replace")


@pytest.mark.slow
@pytest.mark.asyncio
@pytest.mark.parametrize("keys", [False, True], ids=["open", "with keys"])
async def test_no_request_gets_an_answer_that_the_document_does_not_promise(
    housing: Any, tmp_path: Path, keys: bool
) -> None:
    settings: dict[str, Any] = {"queue": QueueConfig(max_wait_s=1.0)}
    arguments: tuple[str, ...] = ()
    if keys:
        settings["callers"] = (Caller("tool", hash_key(KEY)),)
        arguments = ("--header", f"Authorization: Bearer {KEY}")
    async with housing(one=(), settings=settings) as house:
        code, said = await run_tool(house, tmp_path, *arguments)
        assert code == 0, said[-8000:]
        operations = sum(map(len, (await house.get("/openapi.json")).json["paths"].values()))
        assert f"Tested: {operations}\n" in said
        assert house.providers["one"].seen
        await house.settle()
