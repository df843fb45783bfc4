"""TLS with a certificate of our own, straight and through a proxy's tunnel."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tickmind.base import Secret
from tickmind.llm.client import ModelClient
from tickmind.llm.config import ModelConfig
from tickmind.llm.errors import LLMConnectionError

OPENSSL = shutil.which("openssl")
BODY = b'{"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}'
pytestmark = [
    pytest.mark.skipif(OPENSSL is None, reason="openssl makes the certificate"),
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("lasting_connections"),
]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        [
            str(OPENSSL), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, cert


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY))
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


class Proxy:
    """Opens tunnels and remembers what it was asked."""

    def __init__(self, *, refuse: bool = False) -> None:
        self.heads: list[str] = []
        self.refuse = refuse

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        if self.refuse:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            writer.close()
            return
        port = int(self.heads[-1].split()[1].rpartition(":")[2])
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(pipe(reader, far_writer), pipe(far_reader, writer))


async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    except ConnectionError:
        pass
    finally:
        writer.close()


async def close(server: asyncio.Server) -> None:
    """Close a server whose clients have left, and wait until its connections have said goodbye."""
    goodbye = asyncio.create_task(server.wait_closed())
    await asyncio.sleep(0)  # before Python 3.12 the waiting has to begin before the closing
    server.close()
    await asyncio.wait_for(goodbye, 60)


@asynccontextmanager
async def secure_server(certificate: tuple[Path, Path]) -> AsyncIterator[int]:
    key, cert = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        await close(server)


def config(port: int, *, trust_proxy_env: bool = False) -> ModelConfig:
    return ModelConfig(
        base_url=f"https://localhost:{port}/v1", api_key=Secret("k" * 20), timeout_s=60, trust_proxy_env=trust_proxy_env
    )


@pytest.mark.asyncio
async def test_tls_works_with_a_trusted_certificate(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    async with secure_server(certificate) as port, ModelClient(config(port)) as client:
        for _ in range(2):
            assert (await client.complete("hi")).content == "hello"


@pytest.mark.asyncio
async def test_an_untrusted_certificate_is_refused(certificate: tuple[Path, Path]) -> None:
    async with secure_server(certificate) as port, ModelClient(config(port)) as client:
        with pytest.raises(LLMConnectionError, match="certificate"):
            await client.complete("hi")


@pytest.mark.asyncio
async def test_tls_goes_through_a_proxy_by_a_tunnel(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = Proxy()
    listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    monkeypatch.setenv("https_proxy", f"http://user:pw@127.0.0.1:{listener.sockets[0].getsockname()[1]}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    async with secure_server(certificate) as port, ModelClient(config(port, trust_proxy_env=True)) as client:
        for _ in range(2):
            assert (await client.complete("hi")).content == "hello"
    await close(listener)
    assert len(proxy.heads) == 1
    assert proxy.heads[0].startswith(f"CONNECT localhost:{port} HTTP/1.1")
    assert "Proxy-Authorization: Basic dXNlcjpwdw==" in proxy.heads[0]


@pytest.mark.asyncio
async def test_a_proxy_that_refuses_is_named(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    listener = await asyncio.start_server(Proxy(refuse=True).serve, "127.0.0.1", 0)
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    async with secure_server(certificate) as port, ModelClient(config(port, trust_proxy_env=True)) as client:
        with pytest.raises(LLMConnectionError, match="407"):
            await client.complete("hi")
    await close(listener)
