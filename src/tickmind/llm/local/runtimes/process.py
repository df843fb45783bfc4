"""`LlamaServer`: one llama.cpp server as a guarded child, called over HTTP."""

import http.client
import json
import os
import secrets
import signal
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickmind.base import Clock, Secret, SystemClock
from tickmind.llm.errors import LLMCancelledError, LLMConnectionError, LLMDeadlineError, LLMResponseError
from tickmind.llm.local.child import GuardedChild
from tickmind.llm.local.runtimes.runtime import SERVER_VARIABLE, Runtime

HOST = "127.0.0.1"
MAX_REPLY_BYTES = 1 << 20
NICENESS = 5  # a tick of the world is short, and must not wait for a thought
# Threads wait for each other hundreds of times in each word. With the usual 300,000 polls before one of them sleeps, a
# waiting thread burns, on a busy machine, the very core that the other one needs.
_ENVIRONMENT = {"GOMP_SPINCOUNT": "1000"}
_HEALTH_TIMEOUT_S = 2.0
_POLL_S = 0.05
_SHOWN_LOG_LINES = 12
_COMMAND_NOT_FOUND = 127  # also the exit code of the system's loader when a library is missing
_LOADER_WORDS = ("cannot open shared object file", "GLIBC_", "GLIBCXX_")  # of the loader, also through Python's import


class ServerEndedError(LLMConnectionError):
    """The server ended before it was ready. `exit_code` is as a shell shows it: 128 + n stands for signal n."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code

    @property
    def lacks_instructions(self) -> bool:
        """Whether the processor met an instruction that it does not have."""
        return self.exit_code == 128 + signal.SIGILL

    @property
    def lacks_library(self) -> bool:
        """Whether the system's loader did not find a library, or not in the version that it needs."""
        return self.exit_code == _COMMAND_NOT_FOUND or any(words in str(self) for words in _LOADER_WORDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The start options of a server. `context` is the number of tokens that each of the `slots` has."""

    alias: str
    slots: int = 1
    context: int
    threads: int
    port: int = 0  # 0 lets the system choose
    prompt_cache_mb: int = 0
    prompts: Path | None = None  # where slots may be saved

    def command(self, runtime: Runtime, weights: Path, key_file: Path) -> list[str]:
        """Return the runtime's command with these options."""
        options = [
            *runtime.command,
            *("--model", str(weights), "--alias", self.alias),
            *("--host", HOST, "--port", str(self.port)),
            *("--parallel", str(self.slots), "--ctx-size", str(self.context * self.slots)),
            *("--threads", str(self.threads)),
            *("--api-key-file", str(key_file)),
        ]
        if self.prompts is not None:
            options += ["--slot-save-path", f"{self.prompts}{os.sep}"]
        if runtime.is_known:
            options += ["--cache-ram", str(self.prompt_cache_mb)]
            if not runtime.is_package:  # `serve.py` sets these itself
                options += ["--no-kv-unified", "--no-slots", "--offline", "--cors-origins", ""]
        return options if runtime.is_package else [*options, "--no-webui"]


class LlamaServer:
    """A server of our own on a free port, under a key that only this process knows. Setting `given_up` ends a start."""

    def __init__(
        self,
        runtime: Runtime,
        weights: Path,
        options: ServerOptions,
        *,
        given_up: threading.Event | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.key = Secret(secrets.token_urlsafe(24))
        self.port = 0
        self._runtime, self._weights, self._options = runtime, weights, options
        self._given_up = given_up or threading.Event()
        self._clock = clock or SystemClock()
        self._child: GuardedChild | None = None

    def start(self, timeout_s: float) -> None:
        """Start it and wait until it answers.

        :raises ServerEndedError: it ended before
        :raises LLMDeadlineError: it was not ready in time
        :raises LLMCancelledError: the start was given up
        """
        with tempfile.TemporaryDirectory(prefix="tickmind-model-") as folder:
            key_file = Path(folder) / "key"
            key_file.touch(mode=0o600)
            key_file.write_text(self.key.reveal(), "utf-8")
            command = self._options.command(self._runtime, self._weights, key_file)
            self._child = GuardedChild(command, niceness=NICENESS, env=_ENVIRONMENT)
            try:
                self.port = self._wait_until_healthy(self._child, timeout_s)
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        """End it and wait until it is gone; calling it again does nothing."""
        child, self._child = self._child, None
        if child is not None:
            child.stop()

    def end(self, timeout_s: float) -> ServerEndedError | None:
        """Return how the process ended, None if it has not within that time; for one that broke off in a call."""
        child = self._child
        code = None if child is None else child.wait_for_end(timeout_s)
        if child is None or code is None:
            return None
        child.stop()  # all that it said has been read after this
        return ServerEndedError(f"the llama.cpp server ended: {_explain(code)}{_shown(child)}", code)

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._child is not None and self._child.exit_code() is None

    @property
    def pid(self) -> int | None:
        """The process id of its guard, while there is one."""
        return self._child.pid if self._child else None

    @property
    def log_tail(self) -> str:
        """The last lines that it printed; prompts are not among them."""
        return self._child.log_tail if self._child else ""

    def post(self, path: str, body: Mapping[str, Any], *, timeout_s: float) -> dict[str, Any]:
        """Send one request and return the JSON object of the reply.

        :raises LLMConnectionError: no whole reply came in time
        :raises LLMResponseError: the server refused, or its reply is no JSON object
        """
        connection = http.client.HTTPConnection(HOST, self.port, timeout=timeout_s)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key.reveal()}"}
        try:
            connection.request("POST", path, json.dumps(body), headers)
            return _read_reply(connection.getresponse())
        except (OSError, http.client.HTTPException) as error:
            raise LLMConnectionError(f"the local model does not answer ({error!r}); start it again") from error
        finally:
            connection.close()

    def _wait_until_healthy(self, child: GuardedChild, timeout_s: float) -> int:
        deadline = self._clock.monotonic() + timeout_s
        while True:
            port = child.wait_for_port(_POLL_S)
            if self._given_up.is_set():
                raise LLMCancelledError("the start of the local model was cancelled")
            if (code := child.exit_code()) is not None:
                child.stop()  # all that it said has been read after this
                raise ServerEndedError(
                    f"the llama.cpp server ended while starting: {_explain(code)}{_shown(child)}", code
                )
            if port is not None and is_healthy(port):
                return port
            if self._clock.monotonic() >= deadline:
                raise LLMDeadlineError(
                    f"the llama.cpp server was not ready within {timeout_s:.0f} s; on a slow machine raise "
                    f"start_timeout_s, or use smaller weights{_shown(child)}"
                )
            if port is not None:
                self._clock.sleep(_POLL_S)


def is_healthy(port: int) -> bool:
    """Return whether the server on that port has loaded its weights."""
    connection = http.client.HTTPConnection(HOST, port, timeout=_HEALTH_TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False  # not yet
    finally:
        connection.close()


def _read_reply(response: http.client.HTTPResponse) -> dict[str, Any]:
    text = response.read(MAX_REPLY_BYTES).decode("utf-8", "replace")
    if response.status != http.HTTPStatus.OK:
        raise LLMResponseError(
            f"the local model refused the request ({response.status}): {text[:500]}", status=response.status
        )
    try:
        reply = json.loads(text)
    except ValueError as error:
        raise LLMResponseError("the local model's reply is not JSON; ask again") from error
    if not isinstance(reply, dict):
        raise LLMResponseError("the local model's reply is not a JSON object; ask again")
    return reply


def _explain(code: int) -> str:
    if code == 128 + signal.SIGILL:
        return (
            "this processor lacks instructions that it was built for; install a llama-server built for this machine "
            f"and name it in {SERVER_VARIABLE}"
        )
    if code == 128 + signal.SIGKILL:
        return "it was killed, most likely because memory ran out; use smaller weights, fewer slots or less context"
    if code == _COMMAND_NOT_FOUND:
        return "a program or library that it needs is missing"
    if code > 128:
        return f"signal {code - 128}"
    return f"exit code {code}"


def _shown(child: GuardedChild) -> str:
    lines = child.log_tail.splitlines()[-_SHOWN_LOG_LINES:]
    return "\nIts last lines:\n  " + "\n  ".join(lines) if lines else ""
