"""The places of a pool of connections: each connection takes one, from the dial to the moment it is given up."""

import asyncio
from typing import Any

import pytest
import pytest_asyncio

from tickmind.gateway.http.head_memo import HeadMemo
from tickmind.gateway.http.reply import ReplyHead, UpstreamExchange
from tickmind.gateway.http.upstream import UpstreamAddress, UpstreamPool


class Caller:
    """A listener that keeps the pool's figures of the moment in which its connection was opened."""

    def __init__(self, pool: UpstreamPool) -> None:
        self._pool = pool
        self.opened: asyncio.Future[dict[str, int]] = asyncio.get_running_loop().create_future()

    def carried_by(self, exchange: UpstreamExchange) -> None:
        self.opened.set_result(self._pool.statistics())

    def broken(self, reason: str) -> None:
        self.opened.set_exception(ConnectionError(reason))

    def head(self, head: ReplyHead, length: int) -> None: ...

    def chunks(self, data: bytes) -> bool:
        return False

    def data(self, pieces: list[bytes]) -> None: ...

    def done(self) -> None: ...

    def whole(self, head: ReplyHead, body: bytes) -> None: ...


def pool_of_one(port: int) -> UpstreamPool:
    return UpstreamPool(
        UpstreamAddress.of(f"http://127.0.0.1:{port}/v1"),
        loop=asyncio.get_running_loop(),
        max_connections=1,
        tls_context=lambda: pytest.fail("no TLS here"),
        heads=HeadMemo(),
    )


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


@pytest_asyncio.fixture
async def port() -> Any:
    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.asyncio
async def test_a_connection_never_counts_beside_its_own_dial(port: int) -> None:
    pool = pool_of_one(port)
    caller = Caller(pool)
    pool.send(b"POST", caller)
    assert pool.statistics() == {"open": 0, "idle": 0, "dialing": 1}
    assert await caller.opened == {"open": 1, "idle": 0, "dialing": 0}
    pool.close()


@pytest.mark.asyncio
async def test_a_kept_connection_that_the_provider_closed_leaves_its_place_to_the_next(port: int) -> None:
    pool = pool_of_one(port)
    first = Caller(pool)
    pool.send(b"POST", first)
    await first.opened
    (connection,) = pool._open
    pool.keep(connection)
    connection.eof_received()
    second = Caller(pool)
    pool.send(b"POST", second)
    assert (await second.opened)["open"] == 1
    pool.close()
