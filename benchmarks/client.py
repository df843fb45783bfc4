"""What a model call costs this process: ours beside the `openai` SDK, against a server in another process.

The HTTP client under it is measured by itself too, beside aiohttp: with the same bodies, deadlines and event reader.

Both sides take turns within one run, so that a busy machine is unfair to neither; each figure is the least of several.
"""

import argparse
import asyncio
import gc
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from benchmarks.harness import Result, paired

CALLS = 200  # per round
STREAMS = 10  # per round
CHUNKS = 200  # per stream
ROUNDS = 5
CONCURRENT_STREAMS = 1000
CONCURRENT_CHUNKS = 40
CONCURRENT_GAP_S = 0.1
STALL_BAR_MS = 50.0
PROMPT = "Where do you go next?"
PEER = "openai SDK"


# the server, in a process of its own


def _completion() -> bytes:
    message = {"role": "assistant", "content": "I go to the well and look for the bucket. " * 4}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 20, "completion_tokens": 48, "total_tokens": 68}
    body = orjson.dumps(
        {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    )
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def _event(content: str, finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": content} if content else {}, "finish_reason": finish_reason}
    body = orjson.dumps({"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})
    return b"%x\r\ndata: %s\n\n\r\n" % (len(body) + 8, body)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    completion, last = _completion(), _event("", "stop") + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
    start = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            request = orjson.loads(await reader.readexactly(length))
            if not request.get("stream"):
                writer.write(completion)
                continue
            count, gap_s = request.get("seed", CHUNKS), request.get("temperature") or 0.0
            writer.write(start)
            for number in range(count):
                writer.write(_event(f"word{number} "))
                await asyncio.sleep(gap_s)
            writer.write(last)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


# the measurements


async def _cpu_us(work: Callable[[], Awaitable[int]]) -> float:
    started = time.process_time()
    count = await work()
    return (time.process_time() - started) / count * 1e6


async def _compare(url: str, gap_s: float) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Processor time in microseconds, ours and the SDK's, round by round."""
    import openai

    from tickmind.llm.client import ModelClient
    from tickmind.llm.config import CallConfig, ModelConfig

    stream_call = CallConfig(temperature=gap_s, seed=CHUNKS)
    messages: Any = [{"role": "user", "content": PROMPT}]
    async with (
        ModelClient(ModelConfig(base_url=url, model="m")) as client,
        openai.AsyncOpenAI(base_url=url, api_key="x", max_retries=0) as sdk,
    ):

        async def our_calls() -> int:
            for _ in range(CALLS):
                await client.complete(messages)
            return CALLS

        async def our_chunks() -> int:
            count = 0
            for _ in range(STREAMS):
                async with client.stream(messages, stream_call) as stream:
                    async for _chunk in stream:
                        count += 1
            return count

        async def their_calls() -> int:
            for _ in range(CALLS):
                await sdk.chat.completions.create(model="m", messages=messages, temperature=1.0, max_tokens=900)
            return CALLS

        async def their_chunks() -> int:
            count = 0
            for _ in range(STREAMS):
                chunks: Any = await sdk.chat.completions.create(
                    model="m", messages=messages, temperature=gap_s, seed=CHUNKS, max_tokens=900, stream=True
                )
                async for _chunk in chunks:
                    count += 1
            return count

        ours: dict[str, list[float]] = {"call": [], "chunk": []}
        theirs: dict[str, list[float]] = {"call": [], "chunk": []}
        for _ in range(ROUNDS):
            ours["call"].append(await _cpu_us(our_calls))
            theirs["call"].append(await _cpu_us(their_calls))
            ours["chunk"].append(await _cpu_us(our_chunks))
            theirs["chunk"].append(await _cpu_us(their_chunks))
    return ours, theirs


async def _compare_http(url: str) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Processor time in microseconds of our HTTP client and of aiohttp, round by round."""
    import aiohttp

    from tickmind.llm.http.client import HttpClient
    from tickmind.llm.http.sse import SseDecoder

    question = {"model": "m", "messages": [{"role": "user", "content": PROMPT}]}
    call_body = orjson.dumps(question)
    stream_body = orjson.dumps({**question, "stream": True, "seed": CHUNKS})
    headers = {"Content-Type": "application/json"}
    timeout_s = 60.0
    path, timeout = "/chat/completions", aiohttp.ClientTimeout(total=timeout_s)
    http = HttpClient(url)
    async with aiohttp.ClientSession(timeout=timeout, headers=headers, auto_decompress=False) as session:

        async def our_calls() -> int:
            for _ in range(CALLS):
                await http.post(path, {}, call_body, timeout_s=timeout_s)
            return CALLS

        async def our_chunks() -> int:
            count = 0
            for _ in range(STREAMS):
                async with http.stream(path, {}, stream_body, timeout_s=timeout_s) as events:
                    while found := await events.next_events():
                        count += len(found)
            return count

        async def their_calls() -> int:
            for _ in range(CALLS):
                async with session.post(url + path, data=call_body) as reply:
                    await reply.read()
            return CALLS

        async def their_chunks() -> int:
            count = 0
            for _ in range(STREAMS):
                decoder = SseDecoder()
                async with session.post(url + path, data=stream_body) as reply:
                    async for piece in reply.content.iter_any():
                        count += len(decoder.feed(piece))
                count -= 1  # the end of the stream
            return count

        ours: dict[str, list[float]] = {"call": [], "chunk": []}
        theirs: dict[str, list[float]] = {"call": [], "chunk": []}
        for _ in range(ROUNDS):
            ours["call"].append(await _cpu_us(our_calls))
            theirs["call"].append(await _cpu_us(their_calls))
            ours["chunk"].append(await _cpu_us(our_chunks))
            theirs["chunk"].append(await _cpu_us(their_chunks))
    await http.aclose()
    return ours, theirs


async def _longest_stall_ms(url: str) -> float:
    """The longest gap between two turns of the loop while many streams run."""
    from tickmind.llm.client import ModelClient
    from tickmind.llm.config import CallConfig, ModelConfig

    call = CallConfig(temperature=CONCURRENT_GAP_S, seed=CONCURRENT_CHUNKS)
    longest_s = 0.0

    async def watch() -> None:
        nonlocal longest_s
        last = time.monotonic()
        while True:
            await asyncio.sleep(0)
            now = time.monotonic()
            longest_s = max(longest_s, now - last)
            last = now

    async with ModelClient(ModelConfig(base_url=url, model="m", max_connections=CONCURRENT_STREAMS)) as client:

        async def one() -> int:
            async with client.stream(PROMPT, call) as stream:
                return len((await stream.result).content.split())

        await one()
        gc.collect()
        gc.freeze()  # as a program that runs for long does after its start
        watcher = asyncio.create_task(watch())
        counts = await asyncio.gather(*(one() for _ in range(CONCURRENT_STREAMS)))
        watcher.cancel()
    if counts != [CONCURRENT_CHUNKS] * CONCURRENT_STREAMS:
        raise RuntimeError("a stream lost chunks")
    return longest_s * 1000


def _stall_in_own_process(url: str) -> float:
    """Without the peer, whose objects would lengthen every garbage collection."""
    program = [sys.executable, "-m", "benchmarks.client", "--stall", url]
    return float(subprocess.run(program, check=True, capture_output=True, text=True).stdout)


_IMPORT = """
import pathlib, resource, time
def pages():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1])
before, started = pages(), time.process_time()
{statement}
print(time.process_time() - started, (pages() - before) * resource.getpagesize() / 1e6)
"""


def _import_cost(statement: str) -> tuple[list[float], list[float]]:
    """Processor milliseconds and MB of several fresh processes."""
    runs = []
    for _ in range(5):
        program = [sys.executable, "-c", _IMPORT.format(statement=statement)]
        out = subprocess.run(program, check=True, capture_output=True, text=True).stdout.split()
        runs.append((float(out[0]) * 1000, float(out[1])))
    return [run[0] for run in runs], [run[1] for run in runs]


@contextmanager
def _server() -> Iterator[str]:
    server = subprocess.Popen([sys.executable, "-m", "benchmarks.client", "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    finally:
        server.kill()
        server.wait()


def calls(*, gap_s: float = 0.0) -> list[Result]:
    """Processor time per call and per streamed chunk, beside the `openai` SDK."""
    with _server() as url:
        ours, theirs = asyncio.run(_compare(url, gap_s))
    return [
        paired("client/cpu-per-call", ours["call"], theirs["call"], unit="us", peer_name=PEER, bar=8.0),
        paired("client/cpu-per-chunk", ours["chunk"], theirs["chunk"], unit="us", peer_name=PEER, bar=5.0),
    ]


def http() -> list[Result]:
    """Processor time of our HTTP client per call and per streamed event, beside aiohttp."""
    with _server() as url:
        ours, theirs = asyncio.run(_compare_http(url))
    return [
        paired("client/http-per-call", ours["call"], theirs["call"], unit="us", peer_name="aiohttp", bar=1.5),
        paired("client/http-per-event", ours["chunk"], theirs["chunk"], unit="us", peer_name="aiohttp", bar=1.0),
    ]


def imports() -> list[Result]:
    """What `import tickmind.llm` costs, beside `import openai`."""
    ours_ms, ours_mb = _import_cost("import tickmind.llm")
    peer_ms, peer_mb = _import_cost("import openai")
    return [
        paired("client/import-time", ours_ms, peer_ms, unit="ms", peer_name=PEER, bar=2.0),
        paired("client/import-memory", ours_mb, peer_mb, unit="MB", peer_name=PEER, bar=2.0),
    ]


def stall() -> list[Result]:
    """The loop's longest stall under 1,000 concurrent streams, in three runs."""
    with _server() as url:
        times = [_stall_in_own_process(url) for _ in range(3)]
    limit = [STALL_BAR_MS] * len(times)
    return [paired("client/stall-1000-streams", times, limit, unit="ms", peer_name="the limit", bar=1.0)]


BENCHMARKS = (calls, http, imports, stall)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--serve", action="store_true", help="be the server")
    options.add_argument("--gap", type=float, default=0.0, help="seconds between the chunks of a compared stream")
    options.add_argument("--stall", metavar="URL", help="run the concurrent streams and print the longest stall in ms")
    chosen = options.parse_args()
    if chosen.serve:
        asyncio.run(_serve())
    elif chosen.stall:
        print(asyncio.run(_longest_stall_ms(chosen.stall)))
    else:
        for result in (*calls(gap_s=chosen.gap), *http()):
            print(result)
