"""What goes to a model and what comes of it: a proxy before a llama.cpp server that counts.

With `queued` it is also what a gateway was: one queue, the oldest first, each request cut off at its own deadline.
"""

import asyncio
import json
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from typing import Any

HOST = "127.0.0.1"
_POLL_S = 0.05
_DEFAULT_TIMEOUT_MS = 120_000
_GIVEN_UP = 499  # the status of what was given up while the model was at work


@dataclass
class Served:
    """One request that the model began with."""

    at_s: float  # of the monotonic clock, which all processes share
    agent: str
    body: bytes
    took_s: float = 0.0
    status: int = 0  # of the reply; 0: under way
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0

    @property
    def used(self) -> bool:
        """Whether the caller got an answer."""
        return self.status == 200


class Meter:
    """The proxy. `model_port` and `key` are the llama.cpp server's."""

    def __init__(self, model_port: int, key: str, *, queued: bool) -> None:
        self._model_port = model_port
        self._key = key
        self._turn = asyncio.Lock() if queued else None
        self.served: list[Served] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        try:
            while (request := await _read_request(reader)) is not None:
                status, body = await self._answer(reader, *request)
                head = f"HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
                writer.write(head.encode() + body)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the caller is gone, which is counted where it matters, or the meter ends
        finally:
            writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, bytes]:
        if not path.endswith("/chat/completions"):
            return 200, b"{}"  # heartbeats
        asking = asyncio.create_task(self._ask(headers, body))
        gone = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({asking, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                raise ConnectionResetError
            return asking.result()
        finally:
            asking.cancel()
            gone.cancel()
            await asyncio.wait({asking, gone})  # else the connection would still be read from

    async def _ask(self, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        if self._turn is None:
            return await self._forward(headers, body)
        began_s = time.monotonic()
        timeout_s = int(headers.get("x-tickmind-timeout-ms", _DEFAULT_TIMEOUT_MS)) / 1000
        useful_s = min(timeout_s, int(headers.get("x-tickmind-drop-after-ms", _DEFAULT_TIMEOUT_MS)) / 1000)
        try:
            async with asyncio.timeout(useful_s):
                await self._turn.acquire()
        except TimeoutError:
            return _refusal(410, "EXPIRED")
        try:
            async with asyncio.timeout(timeout_s - (time.monotonic() - began_s)):
                return await self._forward(headers, body)
        except TimeoutError:
            return _refusal(504, "DEADLINE")
        finally:
            self._turn.release()

    async def _forward(self, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        served = Served(time.monotonic(), headers.get("x-tickmind-agent", ""), body)
        self.served.append(served)
        status = _GIVEN_UP
        try:
            status, reply = await self._exchange(body)
        finally:
            served.took_s = time.monotonic() - served.at_s
            served.status = status
        if status == 200:
            usage = json.loads(reply)["usage"]
            served.prompt_tokens, served.completion_tokens = usage["prompt_tokens"], usage["completion_tokens"]
            served.cached_tokens = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
        return status, reply

    async def _exchange(self, body: bytes) -> tuple[int, bytes]:
        reader, writer = await asyncio.open_connection(HOST, self._model_port)
        try:
            writer.write(_request(self._key, body))
            return _read_reply(await reader.read())
        finally:
            writer.close()  # a request that is given up ends the model's work on it


def _refusal(status: int, code: str) -> tuple[int, bytes]:
    return status, json.dumps({"error": {"code": code, "message": "too late", "type": "server_error"}}).encode()


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes] | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return first.split()[1], headers, await reader.readexactly(int(headers.get("content-length", 0)))


def _request(key: str, body: bytes) -> bytes:
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: {HOST}\r\nauthorization: Bearer {key}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


def _read_reply(data: bytes) -> tuple[int, bytes]:
    head, _, body = data.partition(b"\r\n\r\n")
    if not head:
        raise ConnectionResetError("the model closed the connection")
    if b"transfer-encoding: chunked" in head.lower():
        parts, rest = [], body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            length = int(size, 16)
            parts.append(rest[:length])
            rest = rest[length + 2 :] if length else b""
        body = b"".join(parts)
    return int(head.split(None, 2)[1]), body


def ask_once(model_port: int, key: str, body: bytes) -> None:
    """Send one request to the model itself, and wait for the answer."""
    import socket

    with socket.create_connection((HOST, model_port)) as connection:
        connection.sendall(_request(key, body))
        data = b""
        while piece := connection.recv(1 << 16):
            data += piece
    status, reply = _read_reply(data)
    if status != 200:
        raise RuntimeError(f"the model answered {status}: {reply[:200]!r}")


def _run(pipe: Pipe, model_port: int, key: str, queued: bool) -> None:
    asyncio.run(_serve_until_told(pipe, model_port, key, queued))


async def _serve_until_told(pipe: Pipe, model_port: int, key: str, queued: bool) -> None:
    meter = Meter(model_port, key, queued=queued)
    async with await asyncio.start_server(meter.serve, HOST, 0) as server:
        pipe.send(server.sockets[0].getsockname()[1])
        while not pipe.poll():  # noqa: ASYNC110 - a pipe has no event
            await asyncio.sleep(_POLL_S)
        pipe.send(meter.served)


class MeterProcess:
    """A meter in a process of its own, as the rest of this process sees it."""

    def __init__(self, port: int, pipe: Pipe) -> None:
        self.port = port
        self._pipe = pipe

    def stop(self) -> list[Served]:
        """End it; gives what the model began with, in order."""
        self._pipe.send("stop")
        served: list[Served] = self._pipe.recv()
        return served


@contextmanager
def meter(model_port: int, key: str, *, queued: bool) -> Iterator[MeterProcess]:
    """A meter before a model."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    arguments: tuple[Any, ...] = (there, model_port, key, queued)
    process = context.Process(target=_run, args=arguments, daemon=True)
    process.start()
    try:
        yield MeterProcess(here.recv(), here)
    finally:
        process.terminate()
        process.join(10)
