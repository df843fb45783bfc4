"""The TypeScript client: its types are those of the schema, and its own tests pass with messages that Python wrote."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.kits.json_vectors import vectors

ROOT = Path(__file__).parents[3]
CLIENT = ROOT / "clients" / "typescript"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_types_are_those_of_the_schema(tmp_path):
    made = tmp_path / "protocol.ts"
    command = [sys.executable, ROOT / "proto" / "generate.py", tmp_path / "v1", made]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert made.read_text() == (CLIENT / "src" / "protocol.ts").read_text(), "run make proto"


@pytest.mark.skipif(
    not (shutil.which("node") and (CLIENT / "dist" / "index.js").exists()),
    reason="the client's tests need node, and `make client` to have built it",
)
def test_the_clients_own_tests_pass_with_messages_of_ours(tmp_path):
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(list(vectors())))
    tests = [str(each) for each in sorted((CLIENT / "test").glob("*.test.mjs"))]
    done = subprocess.run(
        ["node", "--test", "--test-force-exit", *tests],
        env={**os.environ, "CLIENT_VECTORS": str(file)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "# skipped 0" in done.stdout
