"""A provider that costs next to nothing, so that what is measured is the gateway: `python -m benchmarks.gateway_mock`.

It answers every POST with the same chat completion, whole or as a stream of 20 events, as the request asks; the events
come together, or one by one to who asks for the model `mock-apart`. With `--requests-per-minute` it enforces a limit as
a real provider does: by what it took within the last minute, with 429 and Retry-After. A GET tells how many requests it
served and how many it refused since the last GET, and begins anew: as if the last minute had been used evenly, so that
a short run meets the limit just as a long one does.
"""

import argparse
import asyncio
import json
import math
import os
import sys
import time
from collections import deque
from typing import cast

import uvloop

_BODY = (
    b'{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"mock","choices":[{"index":0,'
    b'"message":{"role":"assistant","content":"I gather wood and build a shelter before the night comes."},'
    b'"finish_reason":"stop"}],"usage":{"prompt_tokens":42,"completion_tokens":12,"total_tokens":54}}'
)
_WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(_BODY), _BODY)
CHUNKS = 20
MINUTE_S = 60.0
USED = 0.98  # of a minute's allowance, when a run begins


def _event(text: bytes, finish: bytes = b"null") -> bytes:
    data = (
        b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"mock","choices":'
        b'[{"index":0,"delta":{"content":"%b"},"finish_reason":%b}]}\n\n' % (text, finish)
    )
    return b"%x\r\n%b\r\n" % (len(data), data)


_STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_LAST = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
_EVENTS = (*(_event(b"word ") for _ in range(CHUNKS - 2)), _event(b"", b'"stop"'), _LAST)
_STREAM = _STREAM_HEAD + b"".join(_EVENTS)


class Allowance:
    """How many requests a provider takes in any minute; 0 is no limit."""

    def __init__(self, requests_per_minute: int) -> None:
        self.served = 0
        self.refused = 0
        self._most = requests_per_minute
        self._taken_s: deque[float] = deque()  # when the requests of the last minute came

    def begin(self) -> None:
        """Count from 0, after a minute of even use."""
        self.served = self.refused = 0
        now_s, used = time.monotonic(), int(USED * self._most)
        self._taken_s = deque(now_s - MINUTE_S * (1 - number / used) for number in range(1, used + 1))

    def wait_s(self) -> float:
        """Take a request now: 0, or refuse it: how long to wait."""
        if self._most:
            now_s, taken_s = time.monotonic(), self._taken_s
            while taken_s and taken_s[0] <= now_s - MINUTE_S:
                taken_s.popleft()
            if len(taken_s) >= self._most:
                self.refused += 1
                return taken_s[0] + MINUTE_S - now_s
            taken_s.append(now_s)
        self.served += 1
        return 0.0


class MockProvider(asyncio.Protocol):
    """Reads requests by their length and writes canned replies, `latency_s` later."""

    def __init__(self, allowance: Allowance, latency_s: float) -> None:
        self._allowance = allowance
        self._latency_s = latency_s
        self._loop = asyncio.get_running_loop()
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep it."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer each whole request."""
        data = self._buffer + data if self._buffer else data
        while True:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                break
            head = data[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(data) < end + 4 + length:
                break
            body = data[end + 4 : end + 4 + length]
            data = data[end + 4 + length :]
            self._answer(body, counts=head.startswith(b"get "))
        self._buffer = data

    def _answer(self, body: bytes, *, counts: bool) -> None:
        if counts:
            self._write(_counts(self._allowance))
            self._allowance.begin()
        elif wait_s := self._allowance.wait_s():
            self._write(_refusal(wait_s))
        elif self._latency_s:
            self._loop.call_later(self._latency_s, self._reply, body)
        else:
            self._reply(body)

    def _reply(self, body: bytes) -> None:
        if b'"stream":true' not in body and b'"stream": true' not in body:
            self._write(_WHOLE)
        elif b'"mock-apart"' in body:
            self._write(_STREAM_HEAD)
            self._loop.call_soon(self._next_event, 0)
        else:
            self._write(_STREAM)

    def _next_event(self, number: int) -> None:
        self._write(_EVENTS[number])
        if number + 1 < len(_EVENTS):
            self._loop.call_soon(self._next_event, number + 1)

    def _write(self, data: bytes) -> None:
        assert self._transport is not None
        if not self._transport.is_closing():
            self._transport.write(data)


def _refusal(wait_s: float) -> bytes:
    body = b'{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}'
    head = f"HTTP/1.1 429 Too Many Requests\r\nRetry-After: {math.ceil(wait_s)}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _counts(allowance: Allowance) -> bytes:
    body = json.dumps({"served": allowance.served, "refused": allowance.refused}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


async def _serve(options: argparse.Namespace) -> None:
    allowance = Allowance(options.requests_per_minute)
    loop = asyncio.get_running_loop()
    latency_s = options.latency_ms / 1000
    server = await loop.create_server(lambda: MockProvider(allowance, latency_s), "127.0.0.1", options.port)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)  # until the parent is gone
    server.close()


def main() -> None:
    """Serve until standard input closes; prints the port."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--requests-per-minute", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--core", type=int, default=-1)
    options = parser.parse_args()
    if options.core >= 0:
        os.sched_setaffinity(0, {options.core})
    uvloop.run(_serve(options))


if __name__ == "__main__":
    main()
