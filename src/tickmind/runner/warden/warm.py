"""Warm starts: the warden imports once what every agent imports, and each agent is a fork of it.

An agent then starts in milliseconds instead of most of a second, and takes a few megabytes instead of tens. Standard
library only; each order names the modules to import.
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
        """Import modules, if need be; return whether an agent with them may be a fork of this process."""
        wanted = tuple(modules)
        if not wanted or self._broken:
            return False
        if wanted != self._modules:
            self._broken = not _imported(wanted)
            self._modules = wanted
        return not self._broken


def _imported(modules: Sequence[str]) -> bool:
    """Import them as a fresh interpreter would: without the warden's bare packages."""
    site.main()  # the warden itself has started without `site`
    for name in [each for each in sys.modules if each.partition(".")[0] == _OURS]:
        del sys.modules[name]
    kept = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))  # a process with threads must not fork
    try:
        for name in modules:
            importlib.import_module(name)
    except Exception as error:  # noqa: BLE001  whatever it is, the agent's own interpreter will report it
        sys.stderr.write(f"each agent starts its own interpreter, which is slower: {error!r}\n")
        return False
    finally:
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208 - names are all it needs
        sys.stderr.write("each agent starts its own interpreter, which is slower: an import started threads\n")
        return False
    gc.collect()
    gc.freeze()  # so that garbage collection in agents copies no pages
    return True


def be_python(argv: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Act as `python -m MODULE ...` or `python FILE ...` in a forked process, until its end."""
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
            with suppress(OSError, ValueError):  # closed, or without a reader
                stream.flush()
        os._exit(code)


def _lines(descriptor: int) -> TextIO:
    return open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


def _run(arguments: list[str]) -> int:
    """Run the program; return its exit code."""
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
