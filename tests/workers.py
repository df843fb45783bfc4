"""Workers that run collected tests: forks of the process that collected them.

Collecting takes ten seconds and imports nearly everything, so it is done once and not once per worker. A worker takes a
whole file at a time, so that what a file's tests share is set up once.
"""

import gc
import multiprocessing
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import pytest

FORK: Final = multiprocessing.get_context("fork")
File = Sequence[pytest.Item]  # the tests of one file, in their order


def freeze_collected() -> None:
    """Take what a collection made out of the garbage collector's sight: it stays to the end, and is a million objects.

    Without it each full collection looks through all of them, which takes half a second.
    """
    gc.collect()
    gc.freeze()


def by_file(items: Sequence[pytest.Item]) -> list[File]:
    """Return the tests file by file, and first what takes long by its marks: what is left for the end is short."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    return sorted(files.values(), key=lambda file: -sum(map(_weight, file)))


def _weight(item: pytest.Item) -> int:
    """Return how long a test takes, in slow tests."""
    marker = item.get_closest_marker("slow")
    return 0 if marker is None else int(marker.kwargs.get("weight", 1))


@dataclass
class Worker:
    """A running worker, seen from the process that collected the tests."""

    process: BaseProcess
    line: "Connection[Any, Any]"
    file: File = ()  # what it was given last, without what it has begun
    running: pytest.Item | None = None


class Workers:
    """Runs tests in forks and passes on what they report to the plugins of this process."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._started = 0
        self._index = {item: index for index, item in enumerate(session.items)}
        _temporary_files(session.config).getbasetemp()  # made here, for all

    def run(self, items: Sequence[pytest.Item], count: int) -> None:
        """Run the tests in at most `count` workers; raise `RuntimeError` if a worker ends badly after its last test."""
        files = deque(by_file(items))
        workers = {worker.line: worker for worker in (self._start() for _ in range(min(count, len(files))))}
        try:
            while workers:
                for line in wait(list(workers)):
                    worker = workers[line]  # type: ignore[index]  # only lines are waited for
                    try:
                        self._hear(worker, files)
                    except EOFError:
                        del workers[worker.line]
                        self._end(worker)
                        if worker.running is not None:
                            self._report_crash(worker)
                            files.appendleft(worker.file)
                            replacement = self._start()
                            workers[replacement.line] = replacement
        finally:
            for worker in workers.values():
                worker.process.kill()
                worker.process.join()

    def _start(self) -> Worker:
        self._started += 1
        ours, theirs = FORK.Pipe()
        process = FORK.Process(target=work, args=(self._session, f"worker-{self._started}", theirs, ours))
        process.start()
        theirs.close()
        return Worker(process, ours)

    def _hear(self, worker: Worker, files: deque[File]) -> None:
        hook = self._session.config.hook
        match worker.line.recv():
            case "next":
                worker.file = next((file for file in _popped(files) if file), ())
                worker.line.send([self._index[item] for item in worker.file])
            case "begins":
                worker.running, *worker.file = worker.file
            case "finished", nodeid, location:
                worker.running = None
                hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
            case "report", data:
                report = hook.pytest_report_from_serializable(config=self._session.config, data=data)
                hook.pytest_runtest_logreport(report=report)

    def _end(self, worker: Worker) -> None:
        worker.line.close()
        worker.process.join()
        if worker.running is None and worker.process.exitcode != 0:
            raise RuntimeError(f"a worker ended with exit code {worker.process.exitcode} after its tests")

    def _report_crash(self, worker: Worker) -> None:
        assert worker.running is not None
        nodeid, location = worker.running.nodeid, worker.running.location
        why = f"the worker that ran this test ended with exit code {worker.process.exitcode}"
        report = pytest.TestReport(nodeid, location, {}, "failed", why, "call")
        self._session.config.hook.pytest_runtest_logreport(report=report)
        self._session.config.hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)


def _temporary_files(config: pytest.Config) -> pytest.TempPathFactory:
    factory = config._tmp_path_factory  # type: ignore[attr-defined]  # where pytest's own fixture takes it from
    assert isinstance(factory, pytest.TempPathFactory)
    return factory


def _popped(files: deque[File]) -> Iterator[File]:
    while files:
        yield files.popleft()


# In the worker


class Sender:
    """Passes on what becomes of each test, instead of the terminal's reporter."""

    def __init__(self, config: pytest.Config, line: "Connection[Any, Any]") -> None:
        self._config = config
        self._line = line

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._line.send(("report", data))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._line.send(("finished", nodeid, location))


def work(session: pytest.Session, name: str, line: "Connection[Any, Any]", other_end: "Connection[Any, Any]") -> None:
    """Run what the first process gives, until it gives nothing more."""
    other_end.close()  # so that the end of the first process is noticed
    config = session.config
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(Sender(config, line))
    # The files that hold captured output, and the folder for temporary files, are the first process's.
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
    factory = _temporary_files(config)
    factory._basetemp = factory.mktemp(name, numbered=False)
    items = given(session, line)
    item = next(items, None)
    usual = gc.unfreeze
    with patch.object(gc, "unfreeze", side_effect=usual) as unfreeze:
        while item is not None:
            line.send("begins")
            following = next(items, None)  # what both share is kept
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if unfreeze.called:  # by a world that has ended, say
                gc.freeze()
                unfreeze.reset_mock()
            item = following
    config.hook.pytest_unconfigure(config=config)  # raises what went wrong where nothing could be raised


def given(session: pytest.Session, line: "Connection[Any, Any]") -> Iterator[pytest.Item]:
    """Yield the tests of this worker, and ask for another file only when the last one begins."""
    while True:
        line.send("next")
        indices = line.recv()
        if not indices:
            return
        yield from (session.items[index] for index in indices)
