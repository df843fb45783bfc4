"""The packages of `tests/node`: other people's clients in JavaScript, installed when a test first needs them."""

import fcntl
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "node"


def installed_node_packages() -> Path:
    """Return the folder with the pinned packages, installed if they are not; or skip and say what is missing."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed")
    with (Path(tempfile.gettempdir()) / "tickmind-install-node.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test workers come all at once
        pinned = json.loads((FOLDER / "package.json").read_text())["dependencies"]
        if any(_version(name) != version for name, version in pinned.items()):
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False, timeout=300)
            if done.returncode:
                pytest.skip(f"the packages in tests/node can't be installed: {done.stderr[-300:]}")
    return FOLDER


def _version(name: str) -> str:
    """Return which version of a package is installed; empty if none is."""
    described = FOLDER / "node_modules" / name / "package.json"
    return json.loads(described.read_text())["version"] if described.exists() else ""
