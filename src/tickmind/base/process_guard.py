"""Keep secrets out of core dumps and the tracebacks of uncaught errors."""

import sys
import threading
import traceback
from types import TracebackType

from tickmind.base.secret import redact

_NO_DUMP_BYTES = 1  # unlike 0, it also keeps the kernel from starting a program that takes core dumps


def guard_process() -> None:
    """Turn core dumps off, and mask secrets in what is printed of uncaught errors. Programs call it once, first.

    It is for processes that hold secrets: errors of the main thread, of other threads and of finalizers are covered.
    Child processes that are started later inherit the limit for core dumps.
    """
    _turn_core_dumps_off()
    sys.excepthook = _print_masked
    threading.excepthook = _print_masked_of_thread
    sys.unraisablehook = _print_masked_of_finalizer


def _turn_core_dumps_off() -> None:
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no core dumps
        return
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    most = _NO_DUMP_BYTES if hard == resource.RLIM_INFINITY else min(_NO_DUMP_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_CORE, (most, most))


def _print_masked(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    _write("".join(traceback.format_exception(kind, error, trace)))


def _print_masked_of_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_type is SystemExit:  # a thread may end that way; threading's own hook ignores it too
        return
    name = args.thread.name if args.thread is not None else "a thread"
    text = "".join(traceback.format_exception(args.exc_type, args.exc_value, args.exc_traceback))
    _write(f"Exception in thread {name}:\n{text}")


def _print_masked_of_finalizer(args: "sys.UnraisableHookArgs") -> None:
    text = "".join(traceback.format_exception(args.exc_type, args.exc_value, args.exc_traceback))
    _write(f"{args.err_msg or 'Exception ignored in'}: {args.object!r}\n{text}")


def _write(text: str) -> None:
    stream = sys.stderr
    if stream is not None:  # it is None in a process that was started without one
        stream.write(redact(text))
        stream.flush()
