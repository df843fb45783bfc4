"""The Godot add-on reads the JSON form as Python writes it: its shared part in Godot 3 and 4, whichever is there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.kits.godot import ADD_ON, godot3, godot4
from tests.kits.json_vectors import vectors

ROOT = Path(__file__).parents[3]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_table_is_that_of_the_schema(tmp_path):
    made = tmp_path / "protocol.gd"
    command = [sys.executable, ROOT / "proto" / "generate.py", tmp_path / "v1", made]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert made.read_text() == (ADD_ON / "addons" / "tickmind" / "protocol.gd").read_text(), "run make proto"


@pytest.mark.parametrize("version", [3, 4])
def test_the_claims_of_the_shared_part_hold(version, tmp_path):
    program = godot3() if version == 3 else godot4()
    if not program:
        pytest.skip(f"needs Godot {version}" + (" (godot3-server of Debian)" if version == 3 else ""))
    project = shutil.copytree(ADD_ON, tmp_path / "project", ignore=shutil.ignore_patterns(".godot"))
    if version == 3:
        (project / "project.godot").write_text("config_version=4\n")
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(list(vectors()), ensure_ascii=False), encoding="utf-8")  # 3.2 reads no pairs of escapes
    done = subprocess.run(
        [program, *(["--headless"] if version == 4 else []), "--path", project, "-s", f"test/run{version}.gd"],
        env={**os.environ, "HOME": str(tmp_path), "CLIENT_VECTORS": str(file)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert " claims, 0 failed" in done.stdout, done.stdout[-3000:] + done.stderr[-2000:]
    assert "SCRIPT ERROR" not in done.stdout + done.stderr
