"""`tickmind ask` in a real terminal: dimmed thoughts, fields as they come, nothing that a terminal would obey."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tickmind
from tickmind.llm.messages import ThinkingBlock
from tickmind.llm.testing import FakeProvider, Hang
from tickmind.llm.transport import ModelReply

pytestmark = pytest.mark.slow  # real processes
SRC = Path(tickmind.__file__).parents[1]
DIM, PLAIN = "\x1b[2m", "\x1b[0m"
TIMEOUT_S = 180


def start(provider, *arguments, **streams):
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    env = {**kept, "PYTHONPATH": str(SRC), "LLM_BASE_URL": provider.base_url, "LLM_MODEL": "fake-1", "TERM": "xterm"}
    command = [sys.executable, "-m", "tickmind.cli", "ask", *arguments]
    return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, start_new_session=True, **streams)


def in_terminal(provider, *arguments, piped=False):
    """What a terminal gets, and what a pipe behind stdout gets."""
    control, terminal = pty.openpty()
    out = subprocess.PIPE if piped else terminal
    with start(provider, *arguments, stdout=out, stderr=terminal) as process:
        os.close(terminal)
        seen = b""
        while chunk := read(control):
            seen += chunk
        said, _ = process.communicate(timeout=TIMEOUT_S)
    os.close(control)
    assert process.returncode == 0, seen
    return seen.decode().replace("\r\n", "\n"), (said or b"").decode()


def read(control):
    try:
        return os.read(control, 65_536)
    except OSError:  # how Linux says that the other side is closed
        return b""


THOUGHT = ModelReply("The sky is blue.", "stop", thinking=(ThinkingBlock("Look up first."),))


def test_thinking_is_dimmed_and_the_answer_is_plain():
    with FakeProvider.in_thread([THOUGHT], cut=1000) as provider:
        seen, _ = in_terminal(provider, "What colour is the sky?")
    assert f"{DIM}Look up first.{PLAIN}\nThe sky is blue.\n" in seen


def test_a_pipe_gets_the_answer_alone_while_the_terminal_shows_the_thinking():
    with FakeProvider.in_thread([THOUGHT], cut=1000) as provider:
        seen, piped = in_terminal(provider, "What colour is the sky?", piped=True)
    assert piped == "The sky is blue.\n"
    assert "Look up first." in seen
    assert "blue" not in seen


def test_fields_are_shown_as_they_complete():
    with FakeProvider.in_thread(['{"title": "Dawn", "mood": "calm"}'], cut=4) as provider:
        seen, piped = in_terminal(provider, "--schema", "title,mood", "A poem", piped=True)
    assert f'{DIM}title: "Dawn"{PLAIN}\n{DIM}mood: "calm"{PLAIN}\n' in seen
    assert piped.startswith("{\n")


def test_a_reply_can_not_command_the_terminal():
    with FakeProvider.in_thread(["\x1b]0;mine\x07\x1b[2Jgone"]) as provider:
        seen, _ = in_terminal(provider, "Hi")
    assert "\x1b]0;" not in seen
    assert "\x1b[2J" not in seen
    assert "gone" in seen


def test_ctrl_c_ends_it_with_130_and_one_clean_line():
    arrived = []

    def hang(request):
        arrived.append(request)
        os.kill(process.pid, signal.SIGINT)
        return Hang()

    with FakeProvider.in_thread(hang) as provider:
        process = start(provider, "Hi", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out) == (130, b"")
    assert err.endswith(b"\nStopped.\n")
    assert b"Traceback" not in err
    assert len(arrived) == 1
