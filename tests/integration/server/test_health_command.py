"""`tickmind health`: what probes of containers ask."""

import asyncio

import pytest

from tickmind.base import ConfigError, Secret
from tickmind.base.access.small_ca import SmallCa
from tickmind.base.access.tls_files import server_context
from tickmind.base.telemetry.metrics_page import MetricsPage
from tickmind.cli.access.health import check_health
from tickmind.gateway.server import GatewayServer
from tickmind.gateway.settings.config import GatewayConfig
from tickmind.server import ServerConfig, ServerTls
from tickmind.wire import TlsError, UnreachableError

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    ca = SmallCa.make(folder)
    ca.issue_server(["127.0.0.1"])
    ca.issue_client("probe")
    SmallCa.make(folder / "other")
    return folder


async def ask(target, **given):
    """Run the command, with its other parameters as they are by default."""
    given = {"ca": None, "certificate": None, "timeout_s": 60.0, **given}
    await asyncio.to_thread(check_health, target, **given)


async def test_a_world_is_asked_without_a_token(serve, certificates):
    tls = ServerTls.load(certificates / "server", certificates / "ca.pem")
    config = ServerConfig("127.0.0.1:0", tls=tls, tokens=(Secret("a-token-of-this-world"),))
    own = {"certificate": certificates / "clients" / "probe"}
    async with serve(config=config, running=False) as server:
        await ask(server.address, ca=certificates / "ca.pem", **own)
        with pytest.raises(TlsError, match="requires a client's certificate"):
            await ask(server.address, ca=certificates / "ca.pem")
        with pytest.raises(TlsError, match="the given CA did not sign"):
            await ask(server.address, ca=certificates / "other" / "ca.pem", **own)
    with pytest.raises(UnreachableError):
        await ask(server.address, ca=certificates / "ca.pem", **own)


async def test_a_gateway_is_asked_over_https(certificates):
    async with GatewayServer(GatewayConfig(port=0), tls=server_context(certificates / "server")) as server:
        await ask(f"{server.url}/healthz", ca=certificates / "ca.pem")
        with pytest.raises(ConfigError, match="CERTIFICATE_VERIFY_FAILED"):
            await ask(f"{server.url}/healthz", ca=certificates / "other" / "ca.pem")
        with pytest.raises(ConfigError, match="status 404"):
            await ask(f"{server.url}/nothing", ca=certificates / "ca.pem")


async def test_a_page_of_metrics_tells_its_health():
    page = await MetricsPage.open(lambda: pytest.fail("health needs no metrics"), 0)
    await ask(page.url.replace("/metrics", "/healthz"))
    await page.close()
    with pytest.raises(ConfigError, match="does not answer"):
        await ask(page.url.replace("/metrics", "/healthz"))


@pytest.mark.parametrize("target", ["http://", "https://[", "http://:99999/"])
async def test_what_is_no_address_is_said(target):
    with pytest.raises(ConfigError, match="is no address"):
        await ask(target)
