"""`LocalModel`: weights served by a llama.cpp server of our own."""

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tickmind.base import Clock, SystemClock
from tickmind.llm.config import ModelConfig
from tickmind.llm.errors import LLMConfigError, LLMResponseError
from tickmind.llm.local.kept_prompts import KeptPrompts
from tickmind.llm.local.machine import default_threads
from tickmind.llm.local.runtimes.ladder import RuntimeLadder
from tickmind.llm.local.runtimes.process import HOST, LlamaServer, ServerOptions
from tickmind.llm.local.runtimes.runtime import Runtime
from tickmind.llm.local.slots import SlotPins
from tickmind.llm.local.weights import WeightStore
from tickmind.llm.messages import MessagesLike, as_messages
from tickmind.llm.transport import Capabilities
from tickmind.llm.transports.chat import encode_message

DEFAULT_CONTEXT_TOKENS = 4096
DEFAULT_PROMPT_CACHE_MB = 1024
START_TIMEOUT_S = 120.0
PRIME_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Primed:
    """The result of priming a slot: how long the prompt is, and how much of it was already evaluated."""

    slot: int
    prompt_tokens: int
    cached_tokens: int


class LocalModel:
    """Serve weights on a free port of this machine, under a key that only this process knows.

    Use it as `with` or `async with`; `weights` is a known name or the path of any GGUF file, `context` the tokens that
    each of the `slots` has. The fastest llama.cpp server that works here runs them, unless `runtime` is given; the
    first start may try several, which takes some seconds. The server ends with the context, and with this process.

        async with LocalModel("smollm2-135m") as model, ModelClient(model.model_config()) as client:
            print((await client.complete("Say hello.")).content)
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
        env: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._pins = SlotPins(slots)
        self._threads = default_threads() if threads is None else threads
        if self._threads < 1 or context < 1:
            raise LLMConfigError(f"threads ({self._threads}) and context ({context}) must be at least 1")
        self._weights, self._context, self._port = weights, context, port
        self._prompt_cache_mb, self._start_timeout_s = prompt_cache_mb, start_timeout_s
        self._store, self._runtime, self._env = store or WeightStore(env=env), runtime, env
        self._kept = KeptPrompts(self._store.cache / "prompts")
        self._keeps = False  # whether prompts can be kept
        self._identity: tuple[Path, tuple[str, ...]] | None = None  # of what runs: the weights' file, and the program
        self._clock = clock or SystemClock()
        self._name = weights if isinstance(weights, str) and "/" not in weights else Path(weights).stem
        self._server: LlamaServer | None = None
        self._endpoint: ModelConfig | None = None
        self._given_up = threading.Event()

    def __repr__(self) -> str:
        where = self._endpoint.base_url if self._endpoint else "not running"
        return f"LocalModel({self._name!r}, slots={self._pins.slots}, {where})"

    # Life

    def start(self) -> Self:
        """Start the server and wait until it answers.

        :raises LLMConfigError: weights or runtime are missing, or no runtime works
        :raises LLMConnectionError: the server ended while starting, or was not ready in time
        """
        if self._server is not None:
            raise LLMConfigError("this model is already running; stop it first, or make a second LocalModel")
        path = self._store.resolve(self._weights)
        runtime = self._runtime or self._choose_runtime(path)
        self._keeps = self._kept.make_folder()
        options = ServerOptions(
            alias=self._name,
            slots=self._pins.slots,
            context=self._context,
            threads=self._threads,
            port=self._port,
            prompt_cache_mb=self._prompt_cache_mb,
            prompts=self._kept.folder if self._keeps else None,
        )
        self._identity = path, runtime.command
        self._server = LlamaServer(runtime, path, options, given_up=self._given_up, clock=self._clock)
        try:
            self._server.start(self._start_timeout_s)
        except BaseException:
            self.stop()
            raise
        self._endpoint = ModelConfig(
            base_url=f"http://{HOST}:{self._server.port}/v1",
            api_key=self._server.key,
            model=self._name,
            context_limit=self._context,
            # its own form of JSON schemas pretty-prints, and small models answer its tools with prose
            capabilities=Capabilities(output="grammar", tools=False),
        )
        return self

    def stop(self) -> None:
        """End the server and wait until it is gone; calling it again does nothing."""
        server, self._server, self._endpoint = self._server, None, None
        if server is not None:
            server.stop()

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

    def __exit__(self, *exc: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await self.astart()

    async def __aexit__(self, *exc: object) -> None:
        await self.astop()

    # Use

    @property
    def running(self) -> bool:
        """Whether the server is up."""
        return self._endpoint is not None and self._server is not None and self._server.running

    @property
    def base_url(self) -> str:
        """Where clients send requests, such as `http://127.0.0.1:40001/v1`."""
        return self.model_config().base_url

    @property
    def log_tail(self) -> str:
        """The last lines that the server printed; prompts are not among them."""
        return self._server.log_tail if self._server else ""

    def model_config(self) -> ModelConfig:
        """Return the config of a `ModelClient` for it; raises `LLMConfigError` if it is not running."""
        if self._endpoint is None:
            raise LLMConfigError("the local model is not running; use it inside `with LocalModel(...) as model:`")
        return self._endpoint

    def slot_for(self, character_id: str) -> int:
        """Return the slot that a character keeps."""
        return self._pins.slot_for(character_id)

    def extra_for(self, character_id: str) -> Mapping[str, Any]:
        """Return the fields that keep a character's requests in its slot, for `ModelRequest.extra`."""
        return self._pins.extra_for(character_id)

    def release(self, character_id: str) -> None:
        """Forget a character that is gone."""
        self._pins.release(character_id)

    def prime(self, character_id: str, messages: MessagesLike, *, keep: bool = False) -> Primed:
        """Have the beginning of a character's prompt evaluated ahead, so that its first answer comes sooner.

        With `keep` the evaluation stays in the cache, if possible, and the same weights reuse it for an equal
        prompt.
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

    def _choose_runtime(self, path: Path) -> Runtime:
        ladder = RuntimeLadder(self._store.cache, env=self._env)
        return ladder.choose(path, counts=self._store.is_known(path), given_up=self._given_up)

    def _kept_name(self, messages: Sequence[Any]) -> str:
        assert self._identity is not None, "the model is running"
        weights, program = self._identity
        return KeptPrompts.name(weights, program, self._context, messages)

    def _restored(self, character_id: str, messages: Sequence[Any]) -> Primed | None:
        """Restore the kept evaluation into the character's slot; None if there is none, or none that can be read."""
        self.model_config()  # raises if it is not running
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

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.model_config()  # raises if it is not running
        assert self._server is not None, "it has an endpoint"
        return self._server.post(path, body, timeout_s=PRIME_TIMEOUT_S)
