"""A process that dies shows no secret: not in a traceback of any kind, and not in a core dump."""

import subprocess
import sys

import pytest

CANARY = "plain-canary-0d9c8b7a6f5e"  # of no shape that is masked by itself
PROGRAM = """
import resource, sys, threading
from tickmind.base import Secret
from tickmind.base.process_guard import guard_process

resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
guard_process()
key = Secret(sys.stdin.read())


def fail():
    try:
        raise KeyError(key.reveal())
    except KeyError as error:
        error.add_note(f"a note with {key.reveal()}")
        raise RuntimeError(f"can't use {key.reveal()}") from error


class Failing:
    def __del__(self):
        fail()
"""


def ended(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"{PROGRAM}\n{program}"]
    return subprocess.run(command, input=CANARY, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("program", "code", "head"),
    [
        ("fail()", 1, "Traceback"),
        ("thread = threading.Thread(target=fail, name='worker'); thread.start(); thread.join()", 0, "in thread worker"),
        ("Failing()", 0, "Failing.__del__"),
    ],
    ids=["main", "thread", "finalizer"],
)
def test_an_uncaught_error_is_shown_without_the_secret_in_it(program: str, code: int, head: str) -> None:
    done = ended(program)
    assert done.returncode == code
    assert head in done.stderr
    assert "RuntimeError: can't use ***" in done.stderr
    assert "a note with ***" in done.stderr
    assert CANARY not in done.stdout + done.stderr


def test_a_thread_may_end_by_exiting_without_a_word() -> None:
    done = ended("thread = threading.Thread(target=sys.exit); thread.start(); thread.join()")
    assert (done.returncode, done.stderr) == (0, "")


def test_there_are_no_core_dumps_of_the_process_or_of_those_that_it_starts() -> None:
    child = "import resource; print(max(resource.getrlimit(resource.RLIMIT_CORE)))"
    done = ended(f"import subprocess; subprocess.run([sys.executable, '-c', {child!r}], check=True)")
    assert int(done.stdout) <= 1
