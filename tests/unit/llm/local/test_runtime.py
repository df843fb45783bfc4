"""The runtimes: which are found, in which order they are tried, and what the user forces or forbids."""

import importlib.machinery
from pathlib import Path

import pytest

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.local.machine import Processor, default_threads, read_processor
from tickmind.llm.local.runtimes.runtime import SKULK, XLLAMACPP, Runtime, find_runtimes, runtime_folder


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)


def program(folder: Path, name: str = "llama-server") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o700)
    return path


def test_a_named_server_is_the_only_one(tmp_path: Path) -> None:
    chosen, other = program(tmp_path / "mine", "my-server"), program(tmp_path / "path")
    env = {"TICKMIND_LLAMA_SERVER": str(chosen), "PATH": str(other.parent)}
    (found,) = find_runtimes(env, folder=tmp_path)
    assert found.command == (str(chosen),)
    assert not found.is_package
    assert not found.is_known


def test_a_named_server_that_is_missing_is_an_error_with_the_known_names(tmp_path: Path) -> None:
    with pytest.raises(LLMConfigError, match=r"no such file.*xllamacpp"):
        find_runtimes({"TICKMIND_LLAMA_SERVER": str(tmp_path / "gone")}, folder=tmp_path)


@pytest.mark.usefixtures("no_package")
def test_the_server_on_the_path_is_tried_first_and_the_portable_package_last(tmp_path: Path) -> None:
    other = program(tmp_path / "path")
    for source in (XLLAMACPP, SKULK):
        (runtime_folder(folder=tmp_path, source=source) / source.module).mkdir(parents=True)
    own, skulk, portable = find_runtimes({"PATH": str(other.parent)}, folder=tmp_path)
    assert own.command == (str(other),)
    assert skulk.command == (str(runtime_folder(folder=tmp_path, source=SKULK) / SKULK.module / "bin/llama-server"),)
    assert (skulk.is_package, skulk.is_known, str(skulk)) == (False, True, f"{SKULK.package} {SKULK.version}")
    assert portable.command[-1] == str(runtime_folder(folder=tmp_path, source=XLLAMACPP))
    assert (portable.is_package, portable.is_known) == (True, True)


def test_an_installed_package_is_found_without_importing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.machinery.ModuleSpec("xllamacpp", None, origin=str(tmp_path / "xllamacpp" / "__init__.py"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec if name == "xllamacpp" else None)
    (found,) = find_runtimes({"PATH": ""}, folder=tmp_path)
    assert found.is_package
    assert found.command[-1] == str(tmp_path)


@pytest.mark.usefixtures("no_package")
def test_an_empty_cache_has_none(tmp_path: Path) -> None:
    assert find_runtimes({"PATH": ""}, folder=tmp_path) == ()


@pytest.fixture
def both(tmp_path: Path, no_package: None) -> Path:
    for source in (XLLAMACPP, SKULK):
        (runtime_folder(folder=tmp_path, source=source) / source.module).mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(
    ("env", "names"),
    [
        ({}, [SKULK.package, XLLAMACPP.package]),
        ({"TICKMIND_LLAMA_SERVER": "xllamacpp"}, [XLLAMACPP.package]),
        ({"TICKMIND_LLAMA_SKIP": f" {SKULK.package} , llama-server"}, [XLLAMACPP.package]),
        ({"TICKMIND_LLAMA_SKIP": f"{SKULK.package},{XLLAMACPP.package}"}, []),
    ],
)
def test_names_force_and_forbid(both: Path, env: dict[str, str], names: list[str]) -> None:
    assert [runtime.name for runtime in find_runtimes({"PATH": "", **env}, folder=both)] == names


def test_an_unknown_name_to_skip_is_an_error(both: Path) -> None:
    with pytest.raises(
        LLMConfigError, match="unknown runtime in TICKMIND_LLAMA_SKIP: ollama; there are: llama-server, skulk"
    ):
        find_runtimes({"PATH": "", "TICKMIND_LLAMA_SKIP": "ollama"}, folder=both)


@pytest.mark.usefixtures("no_package")
def test_a_forced_package_that_is_not_here_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(LLMConfigError, match="not on this machine; `tickmind model install"):
        find_runtimes({"PATH": "", "TICKMIND_LLAMA_SERVER": "xllamacpp"}, folder=tmp_path)


def test_a_program_that_has_gone_still_has_an_identity(tmp_path: Path) -> None:
    assert "gone" in Runtime((str(tmp_path / "gone"),), "nowhere").identity


CPUINFO = """processor\t: 0
model name\t: Toy CPU @ 1 MHz
flags\t\t: fpu avx2 avx512f

processor\t: 1
model name\t: Toy CPU @ 1 MHz
flags\t\t: fpu avx2 avx512f
"""


def test_the_processor_is_read_from_the_system(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(CPUINFO)
    processor = read_processor(path)
    assert processor.model == "Toy CPU @ 1 MHz"
    assert processor.flags == {"fpu", "avx2", "avx512f"}
    assert processor.cores >= default_threads()


def test_a_system_that_says_nothing_of_its_processor_has_an_identity_too(tmp_path: Path) -> None:
    assert read_processor(tmp_path / "gone").flags == frozenset()
    assert "2 cores" in Processor("linux", "x86_64", "", frozenset(), 2).identity


def test_a_runtime_that_needs_more_than_the_processor_has_is_not_suited() -> None:
    old = Processor("linux", "x86_64", "Toy", frozenset({"avx2"}), 2)
    assert "lacks avx512_bf16" in SKULK.unsuited(old)
    assert SKULK.unsuited(Processor("linux", "x86_64", "Toy", SKULK.flags | {"avx2"}, 2)) == ""
    assert "x86_64" in SKULK.unsuited(Processor("linux", "aarch64", "Toy", SKULK.flags, 2))
    assert XLLAMACPP.unsuited(old) == ""
