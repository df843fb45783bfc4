"""Keeps a number of connections busy with one request after the other and measures: `python -m benchmarks.gateway_load`.

It is a protocol of callbacks, so that it takes little of the core that it shares with the mock provider.
"""

import argparse
import asyncio
import json
import os
import resource
import time
from typing import cast

import uvloop

MESSAGE = "You are a villager. It is getting dark, you are hungry and it may rain. What do you do next? Answer in one line."


def request(port: int, path: str, model: str, *, streamed: bool, headers: str = "") -> bytes:
    """The bytes of one request."""
    document = {"model": model, "messages": [{"role": "user", "content": MESSAGE}], "max_tokens": 64}
    if streamed:
        document["stream"] = True
    body = json.dumps(document).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n{headers}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class Tally:
    """What was measured after the warm-up."""

    def __init__(self) -> None:
        self.took_s: list[float] = []
        self.errors = 0
        self.measuring = False


class LoadConnection(asyncio.Protocol):
    """Sends the next request as soon as the reply to the last one is whole."""

    def __init__(self, payload: bytes, tally: Tally) -> None:
        self._payload = payload
        self._tally = tally
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._sent_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        """Look for the end of the reply."""
        self._buffer = data = self._buffer + data if self._buffer else data
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return
        at = data.find(b"ontent-length:", 0, end)
        at = at if at >= 0 else data.find(b"ontent-Length:", 0, end)
        if at >= 0:
            if len(data) < end + 4 + int(data[at + 14 : data.index(b"\r\n", at)]):
                return
        elif not data.endswith(b"0\r\n\r\n"):
            return
        if self._tally.measuring:
            self._tally.took_s.append(time.perf_counter() - self._sent_s)
            if data[9:12] != b"200":
                self._tally.errors += 1
        self._buffer = b""
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the loop's signature
        """A lost connection is an error, unless it was us."""
        if self._tally.measuring:
            self._tally.errors += 1

    def _send(self) -> None:
        self._sent_s = time.perf_counter()
        assert self._transport is not None
        self._transport.write(self._payload)


async def _run(options: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    tally = Tally()
    payloads = [
        request(
            options.port,
            options.path,
            options.model,
            streamed=options.stream,
            headers=f"x-tickmind-session: game-{i % options.sessions}\r\n" + "".join(f"{h}\r\n" for h in options.header),
        )
        for i in range(options.connections)
    ]
    transports = [
        (await loop.create_connection(lambda payload=payload: LoadConnection(payload, tally), "127.0.0.1", options.port))[0]
        for payload in payloads
    ]
    await asyncio.sleep(options.warm_up)
    began_s, began_cpu_s = time.perf_counter(), _cpu_s()
    tally.measuring = True
    await asyncio.sleep(options.seconds)
    tally.measuring = False
    took_s, cpu_s = time.perf_counter() - began_s, _cpu_s() - began_cpu_s
    for transport in transports:
        transport.abort()
    times = sorted(tally.took_s) or [float("nan")]
    print(
        json.dumps(
            {
                "requests_per_s": len(tally.took_s) / took_s,
                "p50_ms": 1000 * times[len(times) // 2],
                "p99_ms": 1000 * times[min(len(times) - 1, len(times) * 99 // 100)],
                "errors": tally.errors,
                "load_cpu": cpu_s / took_s,
            }
        )
    )


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure one gateway and print the figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--path", default="/v1/chat/completions")
    parser.add_argument("--model", default="mock")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--warm-up", type=float, default=1.0)
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("--core", type=int, default=-1)
    options = parser.parse_args()
    if options.core >= 0:
        os.sched_setaffinity(0, {options.core})
    uvloop.run(_run(options))


if __name__ == "__main__":
    main()
