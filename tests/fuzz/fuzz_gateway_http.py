"""Random and mutated bytes on both sides of a real gateway, over real connections, until it is stopped.

Every request carries a token that its reply must bring back. Whatever is sent: the gateway does not fail, what it
answers is well-formed, no reply goes to another request or caller, and nothing is left afterwards. A finding names
the seed of its round; `python -m tests.fuzz.fuzz_gateway_http SEED` begins with it.
"""

import asyncio
import contextlib
import logging
import random
import re
import sys
import zlib
from dataclasses import dataclass, field

from tickmind.base import Secret
from tickmind.gateway.server import GatewayServer
from tickmind.gateway.settings.config import (
    ApiKey,
    CircuitConfig,
    GatewayConfig,
    Limits,
    Provider,
    RetryConfig,
    Route,
    WireConfig,
)

KEY = b"fuzz-canary-4d1f77c0"
TOKEN = re.compile(rb"tok-[0-9a-f]{16}-end")
CALLERS = 36  # at once
SILENCE_S = 0.3  # after which nothing more is expected where a request was spoiled
PATIENCE_S = 60.0  # for replies that must come
_SPICE = (b"\r\n", b"\n", b"\0", b":", b" ", b"HTTP/1.1", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n",
          b"0\r\n\r\n", b"ffffffff", b"Connection: close\r\n", b"\xff", b"GET / HTTP/1.1\r\n\r\n", b"-1")  # fmt: skip


class FuzzError(AssertionError):
    """The gateway did what it must not."""


def token_of(number: int) -> bytes:
    """A token that no mutation turns into another one."""
    return b"tok-%08x%08x-end" % (number, zlib.crc32(b"%d" % number))


def mutate(data: bytes, chance: random.Random, times: int) -> bytes:
    """Some bytes changed, cut out, doubled or put in."""
    for _ in range(times):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(5):
            case 0:
                data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
            case 1:
                data = data[:at] + data[at + chance.randrange(1, 30) :]
            case 2:
                data = data[:at] + chance.choice(_SPICE) + data[at:]
            case 3:
                data = data[:at] + data[at : at + 20] * 2 + data[at + 20 :]
            case _:
                data = data[:at]
    return data


def cuts(data: bytes, chance: random.Random) -> list[bytes]:
    """The data in pieces, most often few."""
    places = sorted(chance.randrange(len(data) + 1) for _ in range(chance.choice((0, 0, 1, 2, 10))))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


def read_replies(data: bytes) -> tuple[list[tuple[int, bytes]], bytes]:
    """The whole replies in the bytes (status and body), and what is left; raises for what is no reply."""
    replies = []
    while data:
        head, end, rest = data.partition(b"\r\n\r\n")
        if not b"HTTP/1.1 "[: len(data)].startswith(data[:9]):
            raise FuzzError(f"this is no reply: {data[:200]!r}")
        if not end:
            break
        status = int(head[9:12])
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
        if status in {100, 204}:
            body = b""
        elif b"content-length" in fields:
            size = int(fields[b"content-length"])
            body, rest = rest[:size], rest[size:]
            if len(body) < size:
                break
        else:
            if fields.get(b"transfer-encoding") != b"chunked":
                raise FuzzError(f"a reply without a length: {head!r}")
            parts = _dechunk(rest)
            if parts is None:
                break
            body, rest = parts
        if KEY in head + body:
            raise FuzzError("the key came back")
        if status != 100:
            replies.append((status, body))
        data = rest
    return replies, data


def _dechunk(data: bytes) -> tuple[bytes, bytes] | None:
    """A body in chunks and what follows it; None if it is not whole yet."""
    body = b""
    while True:
        line, end, rest = data.partition(b"\r\n")
        if not end:
            return None
        size = int(line, 16)
        if len(rest) < size + 2:
            return None
        if rest[size : size + 2] != b"\r\n":
            raise FuzzError(f"a chunk that does not end: {data[:200]!r}")
        body, data = body + rest[:size], rest[size + 2 :]
        if not size:
            return body, data


@dataclass
class Fuzz:
    """The gateway, its provider and its callers."""

    seed: int
    served: int = 0  # replies with the right token
    rounds: int = 0
    _tokens: int = 0
    _faults: list[str] = field(default_factory=list)
    _providing: set[asyncio.Task[None]] = field(default_factory=set)

    async def run(self, rounds: int | None = None) -> None:
        """Go on for a number of rounds, or for ever."""
        watch = logging.Handler(logging.ERROR)
        watch.emit = lambda record: self._faults.append(record.getMessage())  # type: ignore[method-assign]  # a double
        logging.getLogger().addHandler(watch)
        asyncio.get_running_loop().set_exception_handler(lambda _, context: self._faults.append(str(context)))
        provider = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        base_url = f"http://127.0.0.1:{provider.sockets[0].getsockname()[1]}/v1"
        try:
            async with GatewayServer(_config(base_url)) as server:
                while rounds is None or self.rounds < rounds:
                    await self._round(server)
        finally:
            provider.close()
            for task in self._providing:
                task.cancel()
            await asyncio.gather(*self._providing, return_exceptions=True)
            logging.getLogger().removeHandler(watch)

    async def _round(self, server: GatewayServer) -> None:
        seed = self.seed + self.rounds
        chance = random.Random(seed)
        try:
            await asyncio.gather(*(self._call(server, random.Random(chance.random())) for _ in range(CALLERS)))
            await self._settle(server)
            if self._faults:
                raise FuzzError(f"the gateway failed: {self._faults[:3]}")
        except (AssertionError, TimeoutError) as exc:
            exc.add_note(f"in the round of seed {seed}")
            raise
        self.rounds += 1

    async def _call(self, server: GatewayServer, chance: random.Random) -> None:
        """One connection: some requests, perhaps spoiled, in any pieces; then what came back is checked."""
        tokens, parts = [], []
        for _ in range(chance.choice((1, 1, 2, 5))):
            self._tokens += 1
            token = token_of(self._tokens)
            tokens.append(token)
            parts.append(_request(token, server.port, chance))
        data, spoiled = b"".join(parts), chance.random() < 0.5
        if spoiled:
            data = mutate(data, chance, chance.choice((1, 1, 2, 5)))
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        got = b""
        try:
            for piece in cuts(data, chance):
                writer.write(piece)
                await asyncio.sleep(0)
            if not spoiled and chance.random() < 0.1:
                return  # leaves without waiting
            while spoiled or len(read_replies(got)[0]) < len(tokens):
                async with asyncio.timeout(SILENCE_S if spoiled else PATIENCE_S):
                    more = await reader.read(1 << 16)
                if not more:
                    break
                got += more
        except (ConnectionError, RuntimeError):  # uvloop says the latter of a connection that is gone
            pass
        except TimeoutError:
            if not spoiled:
                raise
        finally:
            writer.close()
        self._check(tokens, got, spoiled=spoiled)

    def _check(self, tokens: list[bytes], got: bytes, *, spoiled: bool) -> None:
        replies, rest = read_replies(got)
        if not spoiled and (len(replies) != len(tokens) or rest):
            raise FuzzError(f"{len(tokens)} requests got {len(replies)} replies and {rest[:100]!r}")
        at = -1
        for number, (status, body) in enumerate(replies):
            found = {token for token in TOKEN.findall(body) if token == token_of(int(token[4:12], 16))}
            if found - set(tokens):
                raise FuzzError(f"a reply of another caller: {found} among {tokens}")
            if found and not spoiled and found != {tokens[number]}:
                raise FuzzError(f"a reply of another request: {found} instead of {tokens[number]!r}")
            if found and (place := max(map(tokens.index, found))) < at:
                raise FuzzError(f"replies out of order: {tokens[place]!r}")
            at = max([at, *map(tokens.index, found)])
            self.served += status == 200 and bool(found)

    async def _settle(self, server: GatewayServer) -> None:
        gateway = server.gateway
        async with asyncio.timeout(PATIENCE_S):
            while True:
                figures = gateway.dispatcher.statistics()
                pools = gateway.upstreams.statistics().values()
                busy = sum(pool["open"] - pool["idle"] + pool["dialing"] for pool in pools)
                if not (figures.queued or figures.in_flight or len(gateway.deadlines) or busy):
                    return
                await asyncio.sleep(0.005)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._provide(reader, writer))
        self._providing.add(task)
        task.add_done_callback(self._providing.discard)

    async def _provide(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The provider: says the token again, sometimes in a spoiled reply."""
        with contextlib.closing(writer), contextlib.suppress(OSError, EOFError, RuntimeError):  # it may be gone
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                token = TOKEN.search(body)
                said = token[0] if token else b"nothing"
                chance = random.Random(said)
                reply = _reply(said, streamed=b'"stream":true' in body, chance=chance)
                if chance.random() < 0.3:
                    reply = mutate(reply, chance, chance.choice((1, 2, 5)))
                for piece in cuts(reply, chance):
                    writer.write(piece)
                    await asyncio.sleep(0)
                if chance.random() < 0.1:
                    return


def _config(base_url: str) -> GatewayConfig:
    limits = Limits(burst=10_000, concurrency=8)
    one = Provider("one", base_url, (ApiKey("k", Secret(KEY.decode())),), limits, surfaces=("chat", "responses"))
    return GatewayConfig(
        providers={"one": one},
        exact={"m": Route((("one", None),))},
        default_model="m",
        port=0,
        circuit=CircuitConfig(failures=1_000_000, account_pause_s=0.01),
        retry=RetryConfig(default_wait_s=0.01, max_wait_s=0.01),
        wire=WireConfig(default_timeout_s=0.5, header_timeout_s=1.0, idle_timeout_s=2.0),
    )


def _request(token: bytes, port: int, chance: random.Random) -> bytes:
    path, body = chance.choice(
        (
            (b"/v1/chat/completions", b'{"model":"m","messages":[{"role":"user","content":"%b"}]}'),
            (b"/v1/chat/completions", b'{"stream":true,"model":"m","messages":[{"role":"user","content":"%b"}]}'),
            (b"/v1/responses", b'{"model":"m","input":"%b"}'),
            (b"/api/llm/generate", b'{"agentId":"a","prompt":"%b"}'),
            (b"/api/llm/heartbeat", b'{"sessionId":"%b"}'),
        )
    )
    body %= token
    head = b"POST %b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-Tickmind-Session: s%d\r\n" % (path, port, chance.randrange(3))
    if chance.random() < 0.3:
        at = chance.randrange(1, len(body))
        chunks = b"%x\r\n%b\r\n%x;x=y\r\n%b\r\n0\r\n\r\n" % (at, body[:at], len(body) - at, body[at:])
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks
    return head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _reply(token: bytes, *, streamed: bool, chance: random.Random) -> bytes:
    body = b'{"choices":[{"message":{"content":"%b"}}]}' % token
    if streamed:
        event = b'data: {"choices":[{"delta":{"content":"%b"}}]}\n\ndata: [DONE]\n\n' % token
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        return head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(event), event)
    status = chance.choice((b"200 OK",) * 8 + (b"500 No", b"404 No", b"400 No"))
    return b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


async def _for_ever(seed: int) -> None:
    fuzz = Fuzz(seed)
    task = asyncio.create_task(fuzz.run())
    while not task.done():
        await asyncio.wait([task], timeout=10.0)
        sys.stdout.write(f"seed {seed}: {fuzz.rounds} rounds, {fuzz.served} right replies\n")
        sys.stdout.flush()
    await task


if __name__ == "__main__":
    import uvloop

    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(_for_ever(int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 32)))
