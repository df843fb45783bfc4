"""What `pip install tickmind` gives: the built wheel, in an environment and a folder of its own, without Node."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from numba.core.caching import UserProvidedCacheLocator
from tests.long import LONG

from tickmind.record import RunStore
from tickmind.world import kernels
from tickmind.world.kernels import compiled

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist, built as a release is."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def test_a_package_without_the_page_is_not_built_and_says_why(tmp_path):
    """From a fresh clone, say, where nobody has run Node."""
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "proto" / "tickmind").mkdir(parents=True)
    page = tmp_path / "src" / "tickmind" / "viewer" / "page"
    page.parent.mkdir(parents=True)
    (tmp_path / "src" / "tickmind" / "__init__.py").write_text("")

    def build(target):
        command = [sys.executable, "-m", "hatchling", "build", "-t", target]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)

    for target in ("wheel", "sdist"):
        done = build(target)
        assert done.returncode != 0
        assert "page/index.html is missing" in done.stderr
        assert "run `make page` first (it needs Node)" in done.stderr
    assert not list(tmp_path.glob("dist/*"))
    page.mkdir()
    (page / "index.html").write_text("<p>the page")
    done = build("wheel")
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("dist/*.whl")
    assert "tickmind/viewer/page/index.html" in zipfile.ZipFile(wheel).namelist()


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """A new environment with the wheel; what it depends on is lent by ours, or fetched by pip with LONG=1."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=LONG)
    wheel, _ = built
    program = folder / "bin" / "python"
    if LONG:
        subprocess.run([program, "-m", "pip", "install", "--quiet", f"{wheel}[village]"], check=True, timeout=900)
        return program
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    # A plain path in a .pth file lends the packages there, but not the editable tickmind among them.
    (packages / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return program


def lend_machine_code(program, home):
    """Lay the rules of the world, as they are compiled here, where the installed ones look: they are the same.

    Numba finds what it keeps by the folder of a source and by the time of its last change.
    """
    kernels.warm_up()
    ours = Path(kernels.__file__)
    (theirs,) = program.parents[1].glob("lib/python*/site-packages/tickmind/world/kernels/__init__.py")
    for file in ours.parent.glob("*.py"):
        changed = file.stat()
        os.utime(theirs.parent / file.name, ns=(changed.st_atime_ns, changed.st_mtime_ns))
    kept = compiled._cache_root(os.environ.get("NUMBA_CACHE_DIR", "")) / compiled._fingerprint()
    lent = home / ".cache" / "tickmind" / "kernels" / kept.name
    subfolder = UserProvidedCacheLocator.get_suitable_cache_subpath
    shutil.copytree(kept / subfolder(str(ours)), lent / subfolder(str(theirs)))


def run(program, *arguments, cwd):
    """The installed program with nothing of this checkout or of Node in its way."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(cwd)}
    command = [program, "-I", "-m", "tickmind.cli", *arguments]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_wheel_and_the_sdist_hold_the_page_the_scenarios_and_no_tests(built):
    wheel, sdist = built
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert "tickmind/py.typed" in names
    assert "tickmind/scenarios/willowbrook.yaml" in names
    assert "tickmind/viewer/page/index.html" in names
    schema = {file.relative_to(ROOT).as_posix() for file in (ROOT / "proto" / "tickmind").rglob("*.proto")}
    assert {f"tickmind/{name}" for name in schema} <= names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/")) or name.endswith(".ts")]
    with tarfile.open(sdist) as source:
        kept = {name.split("/", 1)[1] for name in source.getnames() if "/" in name}
    assert {"scenarios/willowbrook.yaml", "src/tickmind/viewer/page/index.html", "README.md", "LICENSE"} <= kept
    assert schema <= kept


@pytest.mark.slow(weight=8)
@pytest.mark.timeout(900)
def test_the_installed_village_lives_without_node_and_outside_the_checkout(installed, tmp_path):
    where = subprocess.run(
        [installed, "-I", "-c", "import tickmind; print(tickmind.__file__)"], capture_output=True, text=True, check=True
    )
    assert not Path(where.stdout.strip()).is_relative_to(ROOT)
    if not LONG:
        lend_machine_code(installed, tmp_path)
    options = ("--ticks", "40", "--lockstep", "--scripted", "--no-browser", "--any-ports")
    done = run(installed, "demo", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Watch it at http://127.0.0.1:" in done.stderr
    (run_id,) = (folder.name for folder in (tmp_path / "runs").iterdir())
    assert f"tickmind replay {run_id}" in done.stdout
    with RunStore(tmp_path / "runs").open(run_id) as kept:
        assert kept.meta.finished
        assert (kept.first_tick_id, kept.last_tick_id) == (1, 40)
        results = [result for record in kept.records() for result in record.action_results()]
        assert "Move" in {str(result.action_type) for result in results if result.ok}
        thoughts = list(kept.thoughts())
        assert {one.thought.error_type for one in thoughts} <= {"", "outdated"}  # a plan may come too late to fit
        assert any(one.thought.directives.get("plan") for one in thoughts)
