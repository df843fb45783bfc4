import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import tickmind
from tickmind.world.kernels import compiled, resolve_moves
from tickmind.world.kernels.movement import _resolve

SRC = Path(tickmind.__file__).parents[1]

# Has imported numba and nothing of ours. For each line of input it starts a fork, which compiles one kernel and tells
# what was loaded from disk and what was compiled.
STARTS = """
import json, logging, os, sys
import numba
from numba.core import config
def start(source, environment):
    logged = []
    class Collect(logging.Handler):
        def emit(self, record):
            logged.append(record.getMessage())
    logging.getLogger().addHandler(Collect())
    sys.path.insert(0, source)
    os.environ.update(environment)
    config.reload_config()
    from tickmind.world.kernels.bitmap import _pack
    stats = _pack.prepare().stats
    print(json.dumps([sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), logged]), flush=True)
for line in sys.stdin:
    if not os.fork():
        start(*json.loads(line))
        os._exit(0)
    _, status = os.wait()
    if status:
        print("null", flush=True)
"""


@pytest.fixture(scope="module")
def start():
    """Starts a process that needs a kernel: `start(NUMBA_CACHE_DIR=...)`; gives loaded, compiled and logged."""
    settings = {
        name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG", "PYTHONPATH"))
    }
    settings |= {"PYTHONDONTWRITEBYTECODE": "1"}
    program = [sys.executable, "-c", STARTS]
    with subprocess.Popen(program, env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, told = process.stdin, process.stdout

        def start(source=SRC, **environment):
            asked.write(json.dumps([str(source), environment]) + "\n")
            asked.flush()
            return json.loads(told.readline())

        yield start
        asked.close()


@pytest.mark.slow
def test_machine_code_lies_in_the_users_cache_and_nothing_is_written_beside_the_source(start, tmp_path):
    before = sorted(SRC.rglob("*.nb?"))
    assert start(XDG_CACHE_HOME=str(tmp_path)) == [0, 1, []]
    assert list((tmp_path / "tickmind" / "kernels").rglob("*.nbc"))
    assert sorted(SRC.rglob("*.nb?")) == before
    assert start(XDG_CACHE_HOME=str(tmp_path)) == [1, 0, []]


@pytest.mark.slow
def test_where_nothing_can_be_written_kernels_still_run_and_say_so(start, tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")
    hits, _, logged = start(NUMBA_CACHE_DIR=str(in_the_way), HOME=str(in_the_way))
    assert hits == 0
    assert len(logged) == 1
    assert "NUMBA_CACHE_DIR" in logged[0]


@pytest.mark.slow
def test_a_second_start_compiles_nothing_until_a_file_of_the_kernels_changes(start, tmp_path):
    copy = tmp_path / "src"
    cache = str(tmp_path / "cache")
    subprocess.run(["cp", "-r", str(SRC), str(copy)], check=True)
    assert start(copy, NUMBA_CACHE_DIR=cache) == [0, 1, []]
    assert start(copy, NUMBA_CACHE_DIR=cache) == [1, 0, []]
    with (copy / "tickmind" / "world" / "kernels" / "compiled.py").open("a") as file:
        file.write("# changed\n")
    assert start(copy, NUMBA_CACHE_DIR=cache)[:2] == [0, 1]


@pytest.mark.slow
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


def test_kernels_load_no_scipy_and_a_users_own_function_finds_it_later(warm):
    code = (
        "import sys; assert 'numba.np.arraymath' in sys.modules; assert 'scipy.linalg' not in sys.modules\n"
        "from numba.np.linalg import ensure_blas; ensure_blas(); assert 'scipy.linalg' in sys.modules"
    )
    process = warm.start(["-c", code], stderr=subprocess.PIPE)
    _, errors = process.communicate()
    assert process.returncode == 0, errors


def test_whether_the_kernels_are_on_disk_is_known_before_they_are_loaded(monkeypatch, tmp_path):
    monkeypatch.setattr(compiled, "_kernels", [])  # as if there were nothing to compile
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert not compiled.is_compiled()
    compiled.warm_up()
    assert compiled.is_compiled()
    monkeypatch.setattr(numba, "__version__", "99.0")
    assert not compiled.is_compiled()
    monkeypatch.setattr(numba.config, "CACHE_DIR", "/dev/null")
    compiled.warm_up()  # nothing can be kept there, which is no reason to fail
    assert not compiled.is_compiled()
