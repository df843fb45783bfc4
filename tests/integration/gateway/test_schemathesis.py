"""The OpenAPI document and the gateway say the same, as a tool sees it that tries all kinds of requests."""

import asyncio
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.long import short_or_long

from tickmind.gateway.fairness.caller_keys import hash_key
from tickmind.gateway.settings.config import Caller, QueueConfig

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("schemathesis") is None,  # to import it takes a second, in every worker
    reason="schemathesis is a development dependency; see pyproject.toml",
)
KEY = "sk-tm-schemathesis"
EXAMPLES = short_or_long(4, 100)  # by chance, of each operation; those that the tool makes on purpose are always tried
# A request may be right and still come too late (410, 504). What the OpenAI surface passes on is for the provider to
# judge, and a header that nobody knows is no mistake.
CONFIG = """\
[checks.positive_data_acceptance]
expected-statuses = [200, 403, 404, 409, 410, 429, "5xx"]

[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 503, 504]

[[operations]]
include-path-regex = "^/v1/(chat|responses|embeddings)"
checks.negative_data_rejection.expected-statuses = [200, "4xx", 504]  # a deadline may be 1 ms
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
        *("--checks", "all", "--generation-deterministic", "--max-examples", str(EXAMPLES)),
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


@pytest.mark.slow(weight=7)
@pytest.mark.asyncio
async def test_no_request_gets_an_answer_that_the_document_does_not_promise(housing: Any, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "queue": QueueConfig(max_wait_s=1.0),
        "callers": (Caller("tool", hash_key(KEY), admin=True),),
    }
    async with housing(one=(), settings=settings) as house:
        code, said = await run_tool(house, tmp_path, "--header", f"Authorization: Bearer {KEY}")
        assert code == 0, said[-8000:]
        operations = sum(map(len, (await house.get("/openapi.json")).json["paths"].values()))
        assert f"Tested: {operations}\n" in said
        assert house.providers["one"].seen
        await house.settle()


@pytest.mark.asyncio
async def test_without_keys_the_document_and_the_answers_are_the_same_but_for_the_key(housing: Any) -> None:
    """So what the tool finds out about the one holds for the other."""
    callers = {"callers": (Caller("tool", hash_key(KEY), admin=True),)}
    async with housing(one=()) as free, housing(one=(), settings=callers) as locked:
        document, with_keys = [(await house.get("/openapi.json")).json for house in (free, locked)]
        del with_keys["security"], with_keys["components"]["securitySchemes"]
        assert document == with_keys
        for path, operations in document["paths"].items():
            for method in operations:
                ours, theirs = [
                    await house.ask(path, {}, method=method.upper(), authorization=f"Bearer {KEY}")
                    for house in (free, locked)
                ]
                assert ours.status == theirs.status, path
