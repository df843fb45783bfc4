"""An agent's process that dies of an error nobody caught shows none of its secrets, and leaves no core dump."""

import os
import subprocess
import sys
from pathlib import Path

import tickmind
from tickmind.agent import encode_secrets
from tickmind.base import Secret

SRC = Path(tickmind.__file__).parents[1]
CANARY = "plain-canary-77b2c4d6e8"  # of no shape that is masked by itself
PROGRAM = """
import resource
from tickmind.agent import run

resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)

def make_host(stage):
    print(resource.getrlimit(resource.RLIMIT_CORE)[0], flush=True)
    raise RuntimeError(f"can't use {stage.secrets['LLM_API_KEY'].reveal()}")

run(make_host)
"""


def test_an_agent_that_crashes_shows_no_secret_and_leaves_no_core_dump(tmp_path):
    secrets = tmp_path / "secrets.json"
    secrets.touch(0o600)
    secrets.write_bytes(encode_secrets({"LLM_API_KEY": Secret(CANARY)}))
    env = {**os.environ, "PYTHONPATH": str(SRC), "ENTITY_ID": "entity:1", "AGENT_SECRETS_PATH": str(secrets)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 1
    assert int(done.stdout) <= 1
    assert "RuntimeError: can't use ***" in done.stderr
    assert CANARY not in done.stderr
