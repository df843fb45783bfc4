"""Keeps connections busy with one request after the other and measures: `python -m benchmarks.gateway_load`.

It is a protocol of callbacks, so that it takes little of the core that it shares with the mock provider. It measures
for a time, or with `--requests` for so many requests; what the gateway itself used is read with `--pid`. A key for the
gateway is taken from the environment variable `BENCH_KEY`.
"""

import argparse
import asyncio
import json
import os
import time
from functools import partial
from pathlib import Path
from typing import cast

import uvloop

MESSAGE = (
    "You are a villager. It is getting dark, you are hungry and it may rain. What do you do next? Answer in one line."
)


def request(port: int, path: str, model: str, *, streamed: bool, headers: str = "") -> bytes:
    """The bytes of one request."""
    document = {"model": model, "messages": [{"role": "user", "content": MESSAGE}], "max_tokens": 64}
    if streamed:
        document["stream"] = True
    body = json.dumps(document).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n{headers}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def cpu_s(pid: int) -> float:
    """Processor time that a process has used, all of its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Tally:
    """What was measured after the warm-up; `full` is set after `most` requests."""

    def __init__(self, most: int) -> None:
        self.took_s: list[float] = []
        self.errors = 0
        self.measuring = False
        self.full = asyncio.Event()
        self._most = most

    def note(self, took_s: float, *, good: bool) -> None:
        """A reply is whole."""
        if self.measuring:
            self.took_s.append(took_s)
            self.errors += not good
            if len(self.took_s) == self._most:
                self.full.set()


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
        self._tally.note(time.perf_counter() - self._sent_s, good=data[9:12] == b"200")
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
    tally = Tally(options.requests)
    key = os.environ.get("BENCH_KEY", "")
    authorization = f"Authorization: Bearer {key}\r\n" if key else ""
    payloads = [
        request(
            options.port,
            options.path,
            options.model,
            streamed=options.stream,
            headers=f"x-tickmind-session: game-{number % options.sessions}\r\n{authorization}",
        )
        for number in range(options.connections)
    ]
    transports = []
    for payload in payloads:
        connect = loop.create_connection(partial(LoadConnection, payload, tally), "127.0.0.1", options.port)
        transports.append((await connect)[0])
    await asyncio.sleep(options.warm_up)
    pids = [os.getpid(), options.pid or os.getpid()]
    began_s, began_cpu_s = time.perf_counter(), [cpu_s(pid) for pid in pids]
    tally.measuring = True
    if options.requests:
        await tally.full.wait()
    else:
        await asyncio.sleep(options.seconds)
    tally.measuring = False
    took_s = time.perf_counter() - began_s
    load_cpu_s, gateway_cpu_s = (cpu_s(pid) - before for pid, before in zip(pids, began_cpu_s, strict=True))
    for transport in transports:
        transport.abort()
    times = sorted(tally.took_s) or [float("nan")]
    figures = {
        "requests": len(tally.took_s),
        "requests_per_s": len(tally.took_s) / took_s,
        "p50_ms": 1000 * times[len(times) // 2],
        "p99_ms": 1000 * times[min(len(times) - 1, len(times) * 99 // 100)],
        "errors": tally.errors,
        "load_cpu": load_cpu_s / took_s,
        "cpu_us": 1e6 * gateway_cpu_s / max(1, len(tally.took_s)),
    }
    print(json.dumps(figures))


def main() -> None:
    """Measure one gateway and print the figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--path", default="/v1/chat/completions")
    parser.add_argument("--model", default="mock")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--requests", type=int, default=0, help="instead of seconds")
    parser.add_argument("--warm-up", type=float, default=1.0)
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--pid", type=int, default=0, help="the gateway's process")
    parser.add_argument("--core", type=int, default=-1)
    options = parser.parse_args()
    if options.core >= 0:
        os.sched_setaffinity(0, {options.core})
    uvloop.run(_run(options))


if __name__ == "__main__":
    main()
