"""`tickmind doctor`: what this machine has and allows, and what to do about what it has not."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

PORTS = {"world": 50051, "gateway": 8766, "page": 8700}  # where `tickmind demo` and `tickmind up` put their parts
LOW_DISK_MB = 500
SLOW_SYNC_MS = 50.0
_VILLAGE = {
    "world": ("grpc", "numba", "numpy"),
    "gateway": ("httptools", "msgspec", "uvloop"),
    "record": ("pyarrow",),
    "report": ("duckdb",),
    "viewer": ("aiohttp",),
}  # extra -> what it brings; `tickmind demo` needs them all
_MORE = {"gif": ("PIL",), "local": ("xllamacpp",), "openai": ("openai",), "redis": ("redis",)}
_BY_NAMESPACES = "namespaces: nothing that an agent forks outlives it, not even if all of this is killed"
_KEPT_BY = {
    "pid-namespace": f"PID {_BY_NAMESPACES}",
    "user-namespace": f"user and PID {_BY_NAMESPACES}",
    "subreaper": (
        "a subreaper, because namespaces are not allowed here: what agents fork is ended one by one; allow user "
        "namespaces (sysctl user.max_user_namespaces) to have better"
    ),
}
_TASKS_CAPPED = (
    "between two looks at how many processes an agent has, the kernel holds it to {per_process} tasks, threads and "
    "all, for each that it may have"
)
_TASKS_NOT_CAPPED = (
    "between two looks at how many processes an agent has, nothing holds a fork bomb: run as another user than root, "
    "or with Linux 6.14 or newer and namespaces"
)


class Severity(StrEnum):
    """How bad a finding is."""

    GOOD = "good"
    NOTE = "note"  # something is less than it could be
    MEND = "mend"  # something that is installed will not work like this


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, and what to do if it is not well."""

    what: str
    verdict: Severity
    text: str


def doctor(
    runs: Annotated[Path, typer.Option(help="The folder in which runs are recorded.")] = Path("runs"),
) -> None:
    """Check this machine: Python, parts, model, ports, browser, disk, and how agents are kept; say what to do.

    Ends with 1 if something has to be mended before what is installed can work. Parts that are not installed are noted.
    """
    worst_is_mend = False
    for finding in _findings(runs):
        typer.echo(f"{finding.verdict}  {finding.what}: {finding.text}")
        worst_is_mend |= finding.verdict is Severity.MEND
    if worst_is_mend:
        typer.echo("Do what is said where it says mend, and ask the doctor again.")
        raise typer.Exit(1)
    if all(_is_installed(name) for modules in _VILLAGE.values() for name in modules):
        typer.echo("`tickmind demo` can run here.")
    else:
        typer.echo("What is installed can run here; `tickmind demo` needs more: `pip install 'tickmind[village]'`.")


def _findings(runs: Path) -> Iterator[Finding]:
    system = os.uname()
    cores = os.cpu_count() or 1
    python = f"{sys.version.split()[0]} on {system.sysname} {system.release}, {cores} cores"
    yield Finding("python", Severity.GOOD, python)
    for extra, modules in _VILLAGE.items():
        yield _extra(extra, modules, "the whole village: tickmind[village]")
    for extra, modules in _MORE.items():
        yield _extra(extra, modules, "not needed for the demo")
    yield page()
    yield model()
    yield from runtimes()
    yield ports(PORTS)
    yield browser()
    if _is_installed("pyarrow"):
        yield disk(runs)
    if _is_installed("grpc"):
        yield agents()


def _extra(extra: str, modules: tuple[str, ...], hint: str) -> Finding:
    if all(_is_installed(name) for name in modules):
        return Finding(extra, Severity.GOOD, "installed")
    return Finding(extra, Severity.NOTE, f"`pip install 'tickmind[{extra}]'` to have it ({hint})")


def how_to_install(module: str) -> str | None:
    """The command that brings a module, or None if it is none of an extra's."""
    package = module.partition(".")[0]
    for extra, modules in (_VILLAGE | _MORE).items():
        if package in modules:
            whole = ", or the whole village with `pip install 'tickmind[village]'`" if extra in _VILLAGE else ""
            return f"`pip install 'tickmind[{extra}]'`{whole}"
    return None


def _is_installed(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def page() -> Finding:
    """Whether the viewer's page is there to be served."""
    if not _is_installed("aiohttp"):
        return Finding("page", Severity.NOTE, "its server needs tickmind[viewer]")
    from tickmind.viewer.errors import PageMissingError
    from tickmind.viewer.page import page_files

    try:
        size = sum(len(file.data) for file in page_files().values())
    except PageMissingError as error:
        return Finding("page", Severity.NOTE, str(error))
    return Finding("page", Severity.GOOD, f"built, {size / 1000:,.0f} kB")


def model() -> Finding:
    """Which model would answer, if one would."""
    from tickmind.base import TickmindError
    from tickmind.llm.local.model_choice import choose_model

    try:
        choice = choose_model()
    except TickmindError as error:
        return Finding("model", Severity.MEND, str(error))
    return Finding("model", Severity.GOOD if choice.is_real else Severity.NOTE, choice.why)


def runtimes() -> Iterator[Finding]:
    """How fast the llama.cpp servers are, if the model that would answer runs on this machine."""
    from tickmind.base import TickmindError
    from tickmind.cli.model.commands import describe_rungs
    from tickmind.llm.local.model_choice import choose_model
    from tickmind.llm.local.runtimes.ladder import RuntimeLadder
    from tickmind.llm.local.weights import WeightStore

    store = WeightStore()
    try:
        weights = choose_model().weights
        rungs = RuntimeLadder(store.cache).rungs(store.path(weights)) if weights else ()
    except TickmindError:
        return  # what is wrong was found with the model
    if rungs:
        trial = rungs[0].trial
        verdict = Severity.GOOD if trial is not None and trial.works else Severity.NOTE
        yield Finding("runtime", verdict, describe_rungs(rungs))


def ports(wanted: dict[str, int]) -> Finding:
    """Whether the ports of the demo are free on this machine."""
    from tickmind.cli.ports import why_taken

    taken = [f"{port} ({name})" for name, port in wanted.items() if why_taken(port)]
    if taken:
        text = f"{', '.join(taken)} taken by another program; end it, or use `tickmind demo --any-ports`"
        return Finding("ports", Severity.NOTE, text)
    return Finding("ports", Severity.GOOD, f"{', '.join(map(str, wanted.values()))} are free")


def browser() -> Finding:
    """Whether the page can be opened by itself."""
    import webbrowser

    try:
        found = webbrowser.get()
    except webbrowser.Error:
        text = "none here that can be opened by itself; open the address that is printed in one of yours"
        return Finding("browser", Severity.NOTE, text)
    return Finding("browser", Severity.GOOD, f"{getattr(found, 'name', 'the default one')} opens the page")


def disk(runs: Path) -> Finding:
    """Whether runs can be kept: the folder can be written, has room, and a tick is on disk in time."""
    import shutil
    import tempfile
    import time

    place = next(folder for folder in (runs.absolute(), *runs.absolute().parents) if folder.is_dir())
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"tick")
            file.flush()
            began = time.perf_counter()
            os.fsync(file.fileno())
            sync_ms = (time.perf_counter() - began) * 1000
    except OSError as error:
        text = f"{place} can't be written ({error.strerror}); go to another folder, or say --runs FOLDER"
        return Finding("disk", Severity.MEND, text)
    free_mb = shutil.disk_usage(place).free // 1_000_000
    text = f"{free_mb:,} MB free for {runs}, {sync_ms:.1f} ms to keep a tick"
    if free_mb < LOW_DISK_MB:
        return Finding("disk", Severity.MEND, f"{text}; make room: a world stops when its disk is full")
    if sync_ms > SLOW_SYNC_MS:
        return Finding("disk", Severity.NOTE, f"{text}, which is slow; `tickmind world --sync` can wait for fewer")
    return Finding("disk", Severity.GOOD, text)


def agents() -> Finding:
    """How strictly a runner can keep its agents here."""
    if not sys.platform.startswith("linux"):
        return Finding("agents", Severity.MEND, "a runner needs Linux")
    import asyncio

    from tickmind.runner import Isolation, Warden
    from tickmind.runner.warden.isolation import TASKS_PER_PROCESS, can_cap_tasks

    async def ask() -> Isolation:
        async with Warden() as warden:
            return await warden.isolation()

    isolation = asyncio.run(ask())
    capped = can_cap_tasks(isolation)
    good = capped and isolation is not Isolation.SUBREAPER
    bomb = _TASKS_CAPPED.format(per_process=TASKS_PER_PROCESS) if capped else _TASKS_NOT_CAPPED
    return Finding("agents", Severity.GOOD if good else Severity.NOTE, f"kept by {_KEPT_BY[isolation]}; {bomb}")
