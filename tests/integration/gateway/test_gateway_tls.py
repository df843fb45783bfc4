"""A gateway behind TLS, asked by the client that agents use, with the CA of their launch."""

import pytest

from tickmind.base import ConfigError
from tickmind.base.access.small_ca import SmallCa
from tickmind.base.access.tls_files import TlsFiles, server_context
from tickmind.cli.gateway.figures import GatewayAwayError, GatewayFigures
from tickmind.gateway.server import GatewayServer
from tickmind.gateway.settings.config import GatewayConfig
from tickmind.llm import GatewayClient, LLMConnectionError, load_gateway_config

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    ca = SmallCa.make(folder / "own")
    ca.issue_server(["127.0.0.1"])
    ca.issue_client("host-a")
    SmallCa.make(folder / "other")
    return folder


def client_of(server, ca, **own):
    config = load_gateway_config(url=server.url, env={}, tls=TlsFiles(ca / "ca.pem", **own))
    return GatewayClient(config, session="village")


async def test_agents_reach_it_by_the_ca_of_their_launch_and_by_no_other(certificates):
    async with GatewayServer(GatewayConfig(port=0), tls=server_context(certificates / "own" / "server")) as server:
        assert server.url.startswith("https://")
        async with client_of(server, certificates / "own") as client:
            assert await client.heartbeat() >= 0
        async with client_of(server, certificates / "other") as stranger:
            with pytest.raises(LLMConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
                await stranger.heartbeat()


async def test_with_a_client_ca_it_takes_calls_of_its_own_clients_only(certificates):
    own = certificates / "own"
    context = server_context(own / "server", own / "ca.pem")
    pair = {"certificate": own / "clients" / "host-a" / "cert.pem", "key": own / "clients" / "host-a" / "key.pem"}
    async with GatewayServer(GatewayConfig(port=0), tls=context) as server:
        async with client_of(server, own, **pair) as client:
            assert await client.heartbeat() >= 0
        async with client_of(server, own) as stranger:
            with pytest.raises(LLMConnectionError):
                await stranger.heartbeat()


async def test_a_missing_ca_is_said_before_anything_is_asked(certificates):
    with pytest.raises(ConfigError, match="can't be read"):
        GatewayFigures("https://127.0.0.1:1", ca=certificates / "missing.pem")
    with pytest.raises(GatewayAwayError, match="no gateway answers"):
        GatewayFigures("https://127.0.0.1:1", ca=certificates / "own" / "ca.pem").ask()
