"""Agents from a warm process: what every agent imports is imported once, by the warden, and each agent is a fork of it.

That is a start in milliseconds instead of most of a second, and a few megabytes instead of tens. Standard library only;
what is imported is named by whoever gives the order.
"""

import atexit
import gc
import importlib
import os
import runpy
import signal
import site
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, TextIO

from tickmind.runner.warden.isolation import set_name

_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_OURS = "tickmind"


class Kit:
    """The modules that the warden's own process has imported for its agents."""

    def __init__(self) -> None:
        self._modules: tuple[str, ...] = ()
        self._broken = False

    def holds(self, modules: Sequence[str]) -> bool:
        """Import modules, if they are not yet; whether an agent that wants them may be a fork of this process."""
        wanted = tuple(modules)
        if not wanted or self._broken:
            return False
        if wanted != self._modules:
            self._broken = not _imported(wanted)
            self._modules = wanted
        return not self._broken


def _imported(modules: Sequence[str]) -> bool:
    """Import them as a fresh interpreter would: without the bare packages that stand in for ours in the warden."""
    site.main()  # the warden itself has started without
    for name in [each for each in sys.modules if each.partition(".")[0] == _OURS]:
        del sys.modules[name]
    kept = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))  # a process with threads must not fork
    try:
        for name in modules:
            importlib.import_module(name)
    except Exception as error:  # noqa: BLE001  whatever it is, an interpreter of its own will tell the agent
        sys.stderr.write(f"each agent starts an interpreter of its own, which takes longer: {error!r}\n")
        return False
    finally:
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208 - names are all it needs
        sys.stderr.write("each agent starts an interpreter of its own, which takes longer: an import started threads\n")
        return False
    gc.collect()
    gc.freeze()  # so that no agent copies all of it by looking through it
    return True


def be_python(argv: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """In a forked process: be what `python -m MODULE ...` or `python FILE ...` would be, until its end."""
    os.environ.clear()
    os.environ.update(env)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.stdout, sys.stderr = _lines(1), _lines(2)  # as PYTHONUNBUFFERED would have it
    code = 1
    try:
        code = _run(list(argv[1:]))
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001  as forked children of multiprocessing do
    finally:
        atexit._run_exitfuncs()  # noqa: SLF001  the same
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # closed, or nobody reads it
                stream.flush()
        os._exit(code)


def _lines(descriptor: int) -> TextIO:
    return open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


def _run(arguments: list[str]) -> int:
    """Run the program; its exit code."""
    try:
        if arguments[0] == "-m":
            set_name(arguments[1].rpartition(".")[2])
            sys.argv = arguments[1:]
            sys.path.insert(0, str(Path.cwd()))
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            set_name(Path(arguments[0]).stem)
            sys.argv = arguments
            sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return (stop.code or 0) & 0xFF
        sys.stderr.write(f"{stop.code}\n")
        return 1
    except BaseException as error:  # noqa: BLE001  the end of a program, whatever ended it
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0
