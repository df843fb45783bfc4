"""Plant the faults of a target and see which of them its tests find: `python -m tests.mutation.run leases`.

The tests are collected once. A first fork runs them all and notes which functions each of them calls; then every mutant
gets a fork of its own, in which the code of the function is exchanged and only the tests that call it run.
"""

import argparse
import contextlib
import gc
import importlib
import json
import math
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from tests.mutation.mutants import ROOT, Mutant, codes_of, mutants_of, mutated, source_of
from tests.mutation.targets import TARGETS, Target

LEAST_CPU_S = 15.0  # a mutant that spins is found by it; the tests of one take a second or two
LEAST_S = 120.0  # one that waits for ever is found by it; long, because a busy machine finds no fault
MORE_MEMORY_BYTES = 2 << 30
POLL_S = 0.005


@dataclass
class Outcome:
    """What became of the mutants of a target."""

    tried: int = 0
    equivalent: int = 0
    survivors: list[str] = field(default_factory=list)
    unused_tests: list[str] = field(default_factory=list)  # fail without a fault when traced

    @property
    def rate(self) -> float:
        """The share of those that change something and are found."""
        return 1 - len(self.survivors) / max(1, self.tried)


@dataclass(frozen=True)
class Called:
    """What the run without faults has shown."""

    tests: dict[str, list[list[Any]]]  # test -> [file, first line] of each function of the target that it calls
    durations_s: dict[str, float]
    failed: list[str]


def plant(mutant: Mutant) -> None:
    """Exchange the code of the functions that a mutant changes, in this process."""
    module = importlib.import_module(mutant.module)
    changed = codes_of(mutant.module, mutated(mutant.module, mutant.number))
    file = str(source_of(mutant.module))
    planted = 0
    gc.unfreeze()  # what the tests' workers froze is not listed otherwise
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__module__ == module.__name__:
            old = function.__code__
            new = changed.get((old.co_qualname, old.co_firstlineno))
            if new is not None and Path(old.co_filename) == Path(file) and new != old:
                function.__code__ = new
                planted += 1
    assert planted, f"{mutant} changes no function"


class MutationRun:
    """The pytest plugin that runs all mutants instead of the tests once."""

    def __init__(self, target: Target, workers: int, only: str = "", again: Container[str] | None = None) -> None:
        self._target = target
        self._workers = workers
        self._only = only
        self._again = again  # the mutants to try, if not all
        self.outcome = Outcome()

    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings  # pytest must have seen it first

        settings.register_profile(
            "mutants", settings.default, phases=[Phase.explicit, Phase.generate], derandomize=True, database=None
        )
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for module in self._target.modules:
            importlib.import_module(module)
        called = _in_fork(lambda: _trace(session, self._target.modules))
        self.outcome.unused_tests = called.failed
        mutants = [mutant for module in self._target.modules for mutant in mutants_of(module)]
        for mutant, found in self._try_all(session, called, mutants):
            reason = self._target.equivalent.get(f"{mutant.module.rpartition('.')[2]}: {mutant.name}")
            if not found and reason is not None:
                self.outcome.equivalent += 1
                continue
            self.outcome.tried += 1
            if not found:
                self.outcome.survivors.append(str(mutant))
        return True

    def _try_all(
        self, session: pytest.Session, called: Called, mutants: Sequence[Mutant]
    ) -> Iterator[tuple[Mutant, bool]]:
        items = {item.nodeid: item for item in session.items}
        running: dict[int, tuple[Mutant, float]] = {}  # process -> its mutant, and until when it may run
        for mutant in mutants:
            if self._only not in str(mutant) or (self._again is not None and str(mutant) not in self._again):
                continue
            place = [str(source_of(mutant.module)), mutant.function_line]
            names = [name for name, places in called.tests.items() if place in places and name not in called.failed]
            names.sort(key=lambda name: called.durations_s[name])
            if not names:
                yield mutant, False
                continue
            while len(running) >= self._workers:
                yield from _ended(running)
            took_s = sum(called.durations_s[name] for name in names)
            process = _fork_mutant(session, mutant, [items[name] for name in names], LEAST_CPU_S + 4 * took_s)
            running[process] = mutant, time.monotonic() + LEAST_S + 4 * took_s
        while running:
            yield from _ended(running)


def _ended(running: dict[int, tuple[Mutant, float]]) -> Iterator[tuple[Mutant, bool]]:
    """Wait a moment, and yield the mutants whose tests are over with whether they failed."""
    time.sleep(POLL_S)
    for process, (mutant, until_s) in list(running.items()):
        ended, status = os.waitpid(process, os.WNOHANG)
        if not ended and time.monotonic() > until_s:
            os.killpg(process, signal.SIGKILL)
            ended, status = os.waitpid(process, 0)
        if ended:
            del running[process]
            yield mutant, status != 0


def _quiet() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _fork_mutant(session: pytest.Session, mutant: Mutant, items: Sequence[pytest.Item], most_cpu_s: float) -> int:
    process = os.fork()
    if process:
        return process
    try:
        os.setsid()
        _quiet()
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MORE_MEMORY_BYTES, used + MORE_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(most_cpu_s), math.ceil(most_cpu_s)))
        plant(mutant)
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                os._exit(1)
        os._exit(0)
    finally:
        os._exit(1)


def _in_fork(work: Callable[[], Called]) -> Called:
    """Do something in a process of its own, so that this one stays as it was after collecting."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        try:
            os.close(reading)
            _quiet()
            with os.fdopen(writing, "w") as pipe:
                json.dump(work().__dict__, pipe)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(process, 0)
    if status:
        raise RuntimeError("the run without faults ended before it was done; run the tests by themselves")
    return Called(**json.loads(text))


def _trace(session: pytest.Session, modules: Sequence[str]) -> Called:
    """Run all tests, and note which functions of the modules each of them calls."""
    files = {str(source_of(module)) for module in modules}
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename in files:
            seen.add(frame.f_code)

    called = Called({}, {}, [])
    for item, following in zip(session.items, [*session.items[1:], None], strict=True):
        seen.clear()
        failed, began_s = session.testsfailed, time.monotonic()
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        called.durations_s[item.nodeid] = time.monotonic() - began_s
        called.tests[item.nodeid] = [[code.co_filename, code.co_firstlineno] for code in list(seen)]
        if session.testsfailed > failed:
            called.failed.append(item.nodeid)
    return called


def survivors(name: str, workers: int, only: str = "", again: Container[str] | None = None) -> Outcome:
    """Run the mutants of a target in this process, which pytest must not have run in before."""
    target = TARGETS[name]
    run = MutationRun(target, workers, only, again)
    options = ["-q", "-p", "no:cacheprovider", "-m", "not realtime and not slow"]
    with contextlib.chdir(ROOT):
        pytest.main([*options, *target.tests], plugins=[run])
    if not run.outcome.tried + run.outcome.equivalent:
        raise RuntimeError(f"no mutant of {name} was tried; pytest says above why")
    return run.outcome


def main() -> None:
    """Try the mutants of one target from the command line, and print what became of them as JSON."""
    parser = argparse.ArgumentParser(description="Plant small faults and see which of them no test finds.")
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--report", type=Path, help="also write it to this file")
    parser.add_argument("--again", type=Path, help="only those that survived by this earlier report")
    parser.add_argument("--only", default="", help="the mutants whose description contains this")
    arguments = parser.parse_args()
    again = None if arguments.again is None else json.loads(arguments.again.read_text())["survivors"]
    outcome = survivors(arguments.target, arguments.workers, arguments.only, again)
    text = json.dumps({**outcome.__dict__, "rate": round(outcome.rate, 4)}, indent=1)
    print(text)  # noqa: T201  # the command's own output
    if arguments.report is not None:
        arguments.report.write_text(text)


if __name__ == "__main__":
    main()
