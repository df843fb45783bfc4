"""`tickmind doctor`: checks what this machine has and allows, and shows what to do."""

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

PORTS = {"world": 50051, "gateway": 8766, "page": 8700}  # the default ports of `tickmind demo` and `tickmind up`
LOW_DISK_MB = 500
NARROWEST = 40  # columns for which lines are broken
SLOW_SYNC_MS = 50.0
_VILLAGE = {
    "world": ("grpc", "numba", "numpy"),
    "gateway": ("httptools", "msgspec", "uvloop"),
    "record": ("pyarrow",),
    "report": ("duckdb",),
    "viewer": ("aiohttp",),
}  # extra -> what it brings; `tickmind demo` needs them all
_MORE = {
    "certificates": ("cryptography",),
    "gif": ("PIL",),
    "local": ("xllamacpp",),
    "mcp": ("mcp", "starlette", "uvicorn"),
    "mind": ("safetensors", "tokenizers", "wordllama"),
    "openai": ("openai",),
    "otel": ("opentelemetry",),
    "ray": ("ray",),
    "redis": ("redis",),
    "tiled": ("pytiled_parser", "zstandard"),
}
_BY_NAMESPACES = "namespaces: no child of an agent outlives it, not even if the runner is killed"
_KEPT_BY = {
    "pid-namespace": f"PID {_BY_NAMESPACES}",
    "user-namespace": f"user and PID {_BY_NAMESPACES}",
    "subreaper": (
        "a subreaper, because namespaces are not allowed here: children of agents are killed one by one; allow user "
        "namespaces (sysctl user.max_user_namespaces) for better isolation"
    ),
}
_TASKS_CAPPED = (
    "between two checks of an agent's number of processes, the kernel limits it to {per_process} tasks (processes "
    "and threads) per allowed process"
)
_TASKS_NOT_CAPPED = (
    "between two checks of an agent's number of processes, nothing limits a fork bomb: run as another user than root, "
    "or with Linux 6.14 or newer and namespaces"
)


class Severity(StrEnum):
    """How severe a finding is."""

    GOOD = "good"
    NOTE = "note"  # something could be better
    MEND = "mend"  # something installed will not work


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check, and what to do if it failed."""

    what: str
    verdict: Severity
    text: str


def _laid_out(line: str) -> str:
    """Return a line broken between words for a terminal, under where its words begin; whole for a pipe."""
    if not sys.stdout.isatty():
        return line
    width = max(shutil.get_terminal_size().columns, NARROWEST)
    return textwrap.fill(line, width, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False)


def doctor(
    runs: Annotated[Path, typer.Option(help="The folder in which runs are recorded.")] = Path("runs"),
) -> None:
    """Check this machine: Python, parts, model, ports, browser, disk and isolation of agents; show what to do.

    Exits with 1 if something must be fixed before the installed parts can work. Missing parts are only noted.
    """
    worst_is_mend = False
    for finding in _findings(runs):
        typer.echo(_laid_out(f"{finding.verdict}  {finding.what}: {finding.text}"))
        worst_is_mend |= finding.verdict is Severity.MEND
    if worst_is_mend:
        typer.echo("Follow the lines marked `mend`, and run `tickmind doctor` again.")
        raise typer.Exit(1)
    if all(_is_installed(name) for modules in _VILLAGE.values() for name in modules):
        typer.echo("`tickmind demo` can run here.")
    else:
        typer.echo("The installed parts can run here; `tickmind demo` needs more: `pip install 'tickmind[village]'`.")


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
    """Return the command that installs a module, or None if it belongs to no extra."""
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
    """Check that the viewer's page is built."""
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
    """Check which model would answer."""
    from tickmind.base import TickmindError
    from tickmind.llm.local.model_choice import choose_model

    try:
        choice = choose_model()
    except TickmindError as error:
        return Finding("model", Severity.MEND, str(error))
    return Finding("model", Severity.GOOD if choice.is_real else Severity.NOTE, choice.why)


def runtimes() -> Iterator[Finding]:
    """Report the speed of the llama.cpp servers, if the default model runs on this machine."""
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
        return  # the check of the model has reported the problem
    if rungs:
        trial = rungs[0].trial
        verdict = Severity.GOOD if trial is not None and trial.works else Severity.NOTE
        yield Finding("runtime", verdict, describe_rungs(rungs))


def ports(wanted: dict[str, int]) -> Finding:
    """Check that the ports of the demo are free on this machine."""
    from tickmind.cli.ports import why_taken

    taken = [f"{port} ({name})" for name, port in wanted.items() if why_taken(port)]
    if taken:
        text = f"{', '.join(taken)} taken by another program; end it, or use `tickmind demo --any-ports`"
        return Finding("ports", Severity.NOTE, text)
    return Finding("ports", Severity.GOOD, f"{', '.join(map(str, wanted.values()))} are free")


def browser() -> Finding:
    """Check whether a browser can be opened."""
    import webbrowser

    try:
        default = webbrowser.get()
    except webbrowser.Error:
        text = "none can be opened from here; open the printed address in your own browser"
        return Finding("browser", Severity.NOTE, text)
    return Finding("browser", Severity.GOOD, f"{getattr(default, 'name', 'the default one')} opens the page")


def disk(runs: Path) -> Finding:
    """Check the folder of runs: writable, with enough room, and fast enough for a tick."""
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
        text = f"{place} can't be written ({error.strerror}); change to another folder, or use --runs FOLDER"
        return Finding("disk", Severity.MEND, text)
    free_mb = shutil.disk_usage(place).free // 1_000_000
    text = f"{free_mb:,} MB free for {runs}, {sync_ms:.1f} ms to store a tick"
    if free_mb < LOW_DISK_MB:
        return Finding("disk", Severity.MEND, f"{text}; make room: a world stops when its disk is full")
    if sync_ms > SLOW_SYNC_MS:
        return Finding("disk", Severity.NOTE, f"{text}, which is slow; `tickmind world --sync` can wait for fewer")
    return Finding("disk", Severity.GOOD, text)


def agents() -> Finding:
    """Check how strictly a runner can isolate its agents here."""
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
