"""A provider that costs next to nothing, so that what is measured is the gateway: `python -m benchmarks.gateway_mock`.

It answers every POST with the same chat completion, whole or as a stream of 20 events, as the request asks.
"""

import argparse
import asyncio
import os
import sys
from typing import cast

import uvloop

_BODY = (
    b'{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"mock","choices":[{"index":0,'
    b'"message":{"role":"assistant","content":"I gather wood and build a shelter before the night comes."},'
    b'"finish_reason":"stop"}],"usage":{"prompt_tokens":42,"completion_tokens":12,"total_tokens":54}}'
)
_WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(_BODY), _BODY)
CHUNKS = 20


def _event(text: bytes, finish: bytes = b"null") -> bytes:
    data = (
        b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"mock","choices":'
        b'[{"index":0,"delta":{"content":"%b"},"finish_reason":%b}]}\n\n' % (text, finish)
    )
    return b"%x\r\n%b\r\n" % (len(data), data)


_STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"".join(_event(b"word ") for _ in range(CHUNKS - 2))
    + _event(b"", b'"stop"')
    + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
)


class MockProvider(asyncio.Protocol):
    """Reads requests by their length and writes a canned reply."""

    def __init__(self) -> None:
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
            streamed = b'"stream":true' in body or b'"stream": true' in body
            assert self._transport is not None
            self._transport.write(_STREAM if streamed else _WHOLE)
        self._buffer = data


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(MockProvider, "127.0.0.1", port)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)  # until the parent is gone
    server.close()


def main() -> None:
    """Serve until standard input closes; prints the port."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--core", type=int, default=-1)
    options = parser.parse_args()
    if options.core >= 0:
        os.sched_setaffinity(0, {options.core})
    uvloop.run(_serve(options.port))


if __name__ == "__main__":
    main()
