"""A name server that changes its answer leads nobody elsewhere: connections go to the addresses that were checked.

The listeners are real and share a port; which of them a name leads to is decided by the test.
"""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tickmind.gateway.http.head_memo import HeadMemo
from tickmind.gateway.http.upstream import UpstreamAddress, UpstreamPool
from tickmind.gateway.routing.origins import Pin

pytestmark = pytest.mark.asyncio

NAME = "models.example"
CHECKED, ELSEWHERE, SILENT = "127.0.0.1", "127.0.0.2", "127.0.0.3"


class Listeners:
    """Servers at several addresses and one port; each answers with its address."""

    def __init__(self) -> None:
        self.heads: dict[str, list[bytes]] = {CHECKED: [], ELSEWHERE: []}
        self.port = 0

    @asynccontextmanager
    async def listen(self, context: ssl.SSLContext | None = None) -> AsyncIterator["Listeners"]:
        async with AsyncExitStack() as stack:
            for address in self.heads:
                server = await asyncio.start_server(self._answer, address, self.port, ssl=context)
                await stack.enter_async_context(server)
                self.port = server.sockets[0].getsockname()[1]
            yield self

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("sockname")[0]
        try:
            self.heads[address].append(await reader.readuntil(b"\r\n\r\n"))
            body = b'{"choices":[{"message":{"content":"From %b."}}]}' % address.encode()
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
            await writer.drain()
        finally:
            writer.close()


class NameServer:
    """Answers differently each time that it is asked for the name; the last answer stays."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = list(answers)
        self.asked = 0

    def answer(self) -> list[str]:
        self.asked += 1
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


@pytest.fixture
def name_server(monkeypatch: pytest.MonkeyPatch) -> Callable[..., NameServer]:
    """Be what this process asks for names, whoever asks."""

    def make(*answers: list[str]) -> NameServer:
        loop, made = asyncio.get_running_loop(), NameServer(*answers)
        by_system = loop.getaddrinfo

        async def getaddrinfo(host: Any, port: Any, **more: Any) -> Any:
            if host != NAME:
                return await by_system(host, port, **more)
            found = [await by_system(address, port, **more) for address in made.answer()]
            return [entry for entries in found for entry in entries]

        monkeypatch.setattr(loop, "getaddrinfo", getaddrinfo)
        return made

    return make


async def test_a_second_answer_of_a_name_server_leads_no_connection_elsewhere(
    housing: Any, name_server: Callable[..., NameServer]
) -> None:
    async with Listeners().listen() as listeners:
        names = name_server([CHECKED], [ELSEWHERE])
        url = f"http://{NAME}:{listeners.port}/v1"
        async with housing(one=(), settings={"private_base_urls": (url,)}) as house:
            for _ in range(3):  # a new connection each
                reply = await house.generate(customConfig={"baseUrl": url, "apiKey": "tm-own-key", "model": "theirs"})
                assert (reply.status, reply.json["text"]) == (200, f"From {CHECKED}.")
        assert listeners.heads[ELSEWHERE] == []
        assert all(f"\r\nHost: {NAME}:{listeners.port}\r\n".encode() in head for head in listeners.heads[CHECKED])
        assert names.asked == 1


@pytest.mark.parametrize(("first", "served"), [([SILENT, CHECKED], True), ([SILENT], False)])
async def test_only_checked_addresses_are_tried_one_after_the_other(
    housing: Any, name_server: Callable[..., NameServer], first: list[str], served: bool
) -> None:
    async with Listeners().listen() as listeners:
        names = name_server(first, [ELSEWHERE])
        url = f"http://{NAME}:{listeners.port}/v1"
        async with housing(one=(), settings={"private_base_urls": (url,)}) as house:
            reply = await house.generate(customConfig={"baseUrl": url, "apiKey": "tm-own-key", "model": "theirs"})
            assert (reply.status == 200) == served
        assert len(listeners.heads[CHECKED]) == served
        assert listeners.heads[ELSEWHERE] == []
        assert names.asked == 1


@pytest.mark.parametrize("answer", [[ELSEWHERE, "169.254.169.254"], ["169.254.169.254"], ["::ffff:169.254.169.254"]])
async def test_a_name_with_one_forbidden_address_is_not_dialled_at_all(
    housing: Any, name_server: Callable[..., NameServer], answer: list[str]
) -> None:
    async with Listeners().listen() as listeners:
        name_server(answer)
        url = f"http://{NAME}:{listeners.port}/v1"
        async with housing(one=(), settings={"private_base_urls": (url,)}) as house:
            reply = await house.generate(customConfig={"baseUrl": url, "apiKey": "tm-own-key", "model": "theirs"})
            assert reply.status == 403
        assert listeners.heads == {CHECKED: [], ELSEWHERE: []}


class Caller:
    """A listener of one exchange that keeps how it ended."""

    def __init__(self) -> None:
        self.ended: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def carried_by(self, exchange: Any) -> None: ...

    def broken(self, reason: str) -> None:
        self.ended.set_result(reason)

    def head(self, head: Any, length: int) -> None: ...

    def chunks(self, data: bytes) -> bool:
        return False

    def data(self, pieces: list[bytes]) -> None: ...

    def done(self) -> None:
        self.ended.set_result("done")

    def whole(self, head: Any, body: bytes) -> None:
        self.ended.set_result("done")


def pool_to(url: str, pin: Pin, context: ssl.SSLContext | None = None) -> UpstreamPool:
    def tls_context() -> ssl.SSLContext:
        assert context is not None
        return context

    return UpstreamPool(
        UpstreamAddress.of(url, pin),
        loop=asyncio.get_running_loop(),
        max_connections=9,
        tls_context=tls_context,
        heads=HeadMemo(),
    )


async def test_a_request_that_waited_while_its_name_lost_its_addresses_dials_nothing(
    name_server: Callable[..., NameServer],
) -> None:
    async with Listeners().listen() as listeners:
        names = name_server([ELSEWHERE])
        pin = Pin(NAME, listeners.port, f"{NAME}:{listeners.port}", tls=False, addresses=(CHECKED,))
        pool, caller = pool_to(f"http://{NAME}:{listeners.port}/v1", pin), Caller()
        pin.addresses = ()
        pool.send(b"POST / HTTP/1.1\r\n\r\n", caller)
        assert "does not resolve" in await asyncio.wait_for(caller.ended, 30)
        assert (names.asked, listeners.heads) == (0, {CHECKED: [], ELSEWHERE: []})
        pool.close()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A folder with a key and a certificate for the name."""
    if not shutil.which("openssl"):
        pytest.skip("openssl makes the certificate")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", f"/CN={NAME}"),
            *("-addext", f"subjectAltName=DNS:{NAME}"),
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=60,
    )
    return tmp_path


async def test_the_certificate_is_checked_against_the_name_and_the_address_is_the_checked_one(
    certificate: Path, name_server: Callable[..., NameServer]
) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    asked_for: list[str | None] = []
    serving.sni_callback = lambda _socket, name, _context: asked_for.append(name)
    trusting = ssl.create_default_context(cafile=certificate / "cert.pem")
    async with Listeners().listen(serving) as listeners:
        names = name_server([ELSEWHERE])
        ended = []
        for name in (NAME, "other.example"):
            pin = Pin(name, listeners.port, f"{name}:{listeners.port}", tls=True, addresses=(CHECKED,))
            pool, caller = pool_to(f"https://{name}:{listeners.port}/v1", pin, trusting), Caller()
            pool.send(b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", caller)
            ended.append(await asyncio.wait_for(caller.ended, 30))
            pool.close()
        assert ended[0] == "done"
        assert "certificate" in ended[1].lower()
        assert asked_for == [NAME, "other.example"]
        assert (len(listeners.heads[CHECKED]), listeners.heads[ELSEWHERE], names.asked) == (1, [], 0)
