import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tickmind
from tickmind.world.kernels import resolve_moves
from tickmind.world.kernels.movement import _resolve

SRC = Path(tickmind.__file__).parents[1]

# Compiles one kernel and tells what was loaded from disk and what was compiled.
START = """
import json, logging, sys
logged = []
class Collect(logging.Handler):
    def emit(self, record):
        logged.append(record.getMessage())
logging.getLogger().addHandler(Collect())
import numba
from tickmind.world.kernels.bitmap import _pack
entry = _pack.prepare()
stats = entry.stats
print(json.dumps([sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), logged]))
"""


def start(source=SRC, **environment):
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG"))}
    settings |= {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    program = [sys.executable, "-c", START]
    done = subprocess.run(program, env=settings, capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_second_start_compiles_nothing(tmp_path):
    assert start(NUMBA_CACHE_DIR=str(tmp_path)) == [0, 1, []]
    assert start(NUMBA_CACHE_DIR=str(tmp_path)) == [1, 0, []]


@pytest.mark.slow
def test_machine_code_lies_in_the_users_cache_and_nothing_is_written_beside_the_source(tmp_path):
    before = sorted(SRC.rglob("*.nb?"))
    assert start(XDG_CACHE_HOME=str(tmp_path)) == [0, 1, []]
    assert list((tmp_path / "tickmind" / "kernels").rglob("*.nbc"))
    assert sorted(SRC.rglob("*.nb?")) == before
    assert start(XDG_CACHE_HOME=str(tmp_path)) == [1, 0, []]


@pytest.mark.slow
def test_where_nothing_can_be_written_kernels_still_run_and_say_so(tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")
    hits, _, logged = start(NUMBA_CACHE_DIR=str(in_the_way), HOME=str(in_the_way))
    assert hits == 0
    assert len(logged) == 1
    assert "NUMBA_CACHE_DIR" in logged[0]


@pytest.mark.slow
def test_a_change_in_any_file_of_the_kernels_compiles_anew(tmp_path):
    copy = tmp_path / "src"
    cache = str(tmp_path / "cache")
    subprocess.run(["cp", "-r", str(SRC), str(copy)], check=True)
    assert start(copy, NUMBA_CACHE_DIR=cache)[:2] == [0, 1]
    with (copy / "tickmind" / "world" / "kernels" / "compiled.py").open("a") as file:
        file.write("# changed\n")
    assert start(copy, NUMBA_CACHE_DIR=cache)[:2] == [0, 1]


def test_other_types_are_refused_instead_of_compiled_in_the_middle_of_a_tick():
    narrow, wide = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int64)
    flags, occupancy, ways = (
        np.ones((1, 1), dtype=bool),
        np.zeros((1, 1), dtype=np.int32),
        np.full(1, -1, dtype=np.int8),
    )
    resolve_moves(narrow, narrow.copy(), ways, flags, occupancy)
    with pytest.raises(TypeError):
        resolve_moves(wide, wide, ways, flags, occupancy)  # type: ignore[arg-type]  # on purpose
    assert len(_resolve.prepare().signatures) == 1  # type: ignore[attr-defined]  # numba's own attribute
