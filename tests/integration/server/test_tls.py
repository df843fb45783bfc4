"""A world behind TLS: who gets in, in which role, for how long, and what those are told that do not."""

import datetime
from dataclasses import replace

import grpc.aio
import pytest

from tickmind.base import Secret
from tickmind.base.access.small_ca import SmallCa
from tickmind.base.access.tls_files import TlsFiles
from tickmind.base.access.token_file import TokenFile, rotate
from tickmind.cli.conformance.relay import Relay
from tickmind.protocol import Direction, Move, Reason, Wait
from tickmind.server import ServerConfig, ServerTls
from tickmind.viewer.sources.live import LiveSource
from tickmind.wire import (
    LeaseRefusedError,
    NotAllowedError,
    Tls,
    TlsError,
    UnreachableError,
    WireConfigError,
    WorldClient,
    WorldEndpoint,
)
from tickmind.wire.v1 import control_pb2

CONTROL, CONTROL_BATCH = (f"/tickmind.v1.ControlService/{name}" for name in ("Control", "ControlBatch"))
OPEN = control_pb2.ControlRequest(open=control_pb2.ControlOpen(entity_id="entity:1", controller_id="me"))
OPEN_MANY = control_pb2.ControlBatchRequest(open=control_pb2.ControlBatchOpen(controller_id="me", actor=bytes(4)))
pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(180)]
AGENT, OTHER = Secret("a-token-of-host-a"), Secret("a-token-of-host-b")
VIEWER, OPERATOR = Secret("a-token-of-viewers"), Secret("a-token-of-operators")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Three authorities: that of the world, another one, and one whose certificate for this host has expired."""
    folder = tmp_path_factory.mktemp("certificates")
    world = SmallCa.make(folder / "world")
    world.issue_server(["127.0.0.1"])
    world.issue_client("host-a")
    other = SmallCa.make(folder / "other")
    other.issue_server(["world.example"])
    other.issue_client("host-b")
    past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=9)
    SmallCa.make(folder / "expired").issue_server(["127.0.0.1"], days=2, now=past)
    return folder


@pytest.fixture
def trusting(certificates):
    """TLS of a client that trusts an authority, with a certificate of its own or without."""

    def trust(authority="world", client=""):
        folder = certificates / authority
        own = folder / "clients" / client
        pair = (own / "cert.pem", own / "key.pem") if client else ()
        return Tls.load(TlsFiles(folder / "ca.pem", *pair))

    return trust


@pytest.fixture
def behind(certificates):
    """The config of a world behind TLS, with tokens for each role."""

    def config(authority="world", *, client_ca=None, **given):
        tls = ServerTls.load(certificates / authority / "server", client_ca and certificates / client_ca / "ca.pem")
        return ServerConfig("127.0.0.1:0", tls=tls, **{"tokens": (AGENT,), **given})

    return config


async def test_an_agent_acts_and_a_viewer_watches_over_tls(serve, talk, behind, trusting):
    async with (
        serve(config=behind(viewer_tokens=(VIEWER,))) as server,
        talk(server, tls=trusting(), token=AGENT) as agent,
        talk(server, tls=trusting(), token=VIEWER) as viewer,
        agent.control("entity:1", "me") as session,
    ):
        assert (await anext(aiter(session))).me.entity_id == "entity:1"
        world = await viewer.world()
        assert (await anext(aiter(viewer.viewer_events(world, retry=None)))).tick_id


REFUSALS = [
    ("world", "other", "the given CA did not sign; use the ca.pem"),
    ("expired", "expired", "a certificate that has expired; renew it"),
    ("other", "other", "a certificate for another host; connect by a name that is in it"),
    ("world", None, "closed the connection at once; it may require TLS, so give its CA"),
    (None, "world", "does not speak TLS; start it with --tls"),
]


@pytest.mark.parametrize(("of_world", "of_client", "words"), REFUSALS)
async def test_a_handshake_that_fails_says_what_to_do(serve, talk, behind, trusting, of_world, of_client, words):
    config = behind(of_world) if of_world else ServerConfig("127.0.0.1:0")
    tls = trusting(of_client) if of_client else None
    async with serve(config=config, running=False) as server, talk(server, tls=tls, token=AGENT) as client:
        with pytest.raises(TlsError, match=words) as refused:
            await client.entities()
        assert AGENT.reveal() not in str(refused.value)
        with pytest.raises(TlsError, match=words):
            async with client.control("entity:1", "me"):
                pytest.fail("it was let in")


@pytest.mark.parametrize(("authority", "token", "words"), [("other", AGENT, "did not sign"), ("world", None, "token")])
async def test_a_viewer_that_is_not_let_in_knows_why(serve, talk, until, behind, trusting, authority, token, words):
    async with (
        serve(config=behind(), running=False) as server,
        talk(server, tls=trusting(authority), token=token) as client,
        LiveSource(client) as source,
    ):
        await until(lambda: words in source.refused)
        assert not source.span().connected


async def test_where_nobody_listens_no_certificate_is_blamed(trusting, unused_tcp_port):
    async with WorldClient(WorldEndpoint(f"127.0.0.1:{unused_tcp_port}", tls=trusting(), timeout_s=60)) as client:
        with pytest.raises(UnreachableError, match="is it running there") as refused:
            await client.entities()
    assert not isinstance(refused.value, TlsError)


async def test_another_machine_is_not_reached_without_tls():
    with pytest.raises(WireConfigError, match="would travel in the clear"):
        WorldEndpoint("192.0.2.7:50051", token=AGENT)


async def test_with_mutual_tls_only_certificates_of_its_clients_get_in(serve, talk, behind, trusting):
    async with serve(config=behind(client_ca="world"), running=False) as server:
        async with talk(server, tls=trusting(client="host-a"), token=AGENT) as client:
            assert len(await client.entities()) == 4
        stranger = replace(trusting("other", "host-b"), root_certificates=trusting().root_certificates)
        for tls in (trusting(), stranger):
            async with talk(server, tls=tls, token=AGENT) as client:
                with pytest.raises(TlsError, match="or requires a client's certificate"):
                    await client.entities()


async def test_a_viewer_looks_and_does_nothing_else(serve, talk, behind, trusting):
    config = behind(viewer_tokens=(VIEWER,), operator_tokens=(OPERATOR,))
    async with serve(config=config, running=False) as server, talk(server, tls=trusting(), token=VIEWER) as viewer:
        assert len(await viewer.entities()) == 4
        for refused in (
            viewer.acquire("entity:1", "me"),
            viewer.control("entity:1", "me").__aenter__(),
            viewer.spawn("entity:1"),
        ):
            with pytest.raises(NotAllowedError, match=r"may look and not control|token of the operator"):
                await refused
        async with talk(server, tls=trusting(), token=OPERATOR) as operator:
            assert (await operator.acquire("entity:1", "me")).entity_id == "entity:1"


async def test_a_stolen_lease_is_worth_nothing_to_another_holder_of_a_token(serve, talk, tmp_path):
    path = tmp_path / "tokens"
    path.touch(0o600)
    path.write_text(f"host-a: {AGENT.reveal()}\nhost-b: {OTHER.reveal()}\n")
    async with serve(config=ServerConfig("127.0.0.1:0", tokens=TokenFile(path)), running=False) as server:
        server.authority.begin()
        async with talk(server, token=AGENT) as owner, talk(server, token=OTHER) as thief:
            stolen = await owner.acquire("entity:1", "me")
            assert (await thief.submit(stolen, 1, Move(Direction.E))).reason is Reason.INVALID_LEASE
            assert await thief.release(stolen) is Reason.INVALID_LEASE
            with pytest.raises(LeaseRefusedError, match="invalid_lease"):
                await thief.renew(stolen)
            with pytest.raises(LeaseRefusedError, match="lease_held"):
                await thief.acquire("entity:1", "me", previous=stolen.lease_id)
            with pytest.raises(LeaseRefusedError, match="lease_held"):
                async with thief.control("entity:1", "me", previous=stolen.lease_id):
                    pytest.fail("it was let in")
            assert (await owner.submit(stolen, 1, Wait())).reason is Reason.NONE
            rotate(path, "host-a")
            async with talk(server, token=TokenFile(path)) as same_holder:
                assert (await same_holder.renew(stolen)).entity_id == "entity:1"


async def test_tokens_are_rotated_while_the_world_runs(serve, talk, until, tmp_path):
    """Two are valid during the rotation; then the streams of the withdrawn one end, and those of its file go on."""
    path, stale = tmp_path / "tokens", tmp_path / "stale"
    rotate(path)
    stale.touch(0o600)
    stale.write_bytes(path.read_bytes())
    async with (
        serve(config=ServerConfig("127.0.0.1:0", tokens=TokenFile(path))) as server,
        talk(server, token=TokenFile(path)) as following,
        talk(server, token=TokenFile(stale)) as left_behind,
    ):
        kept, ending = aiter(following.ticks()), aiter(left_behind.ticks(retry=None))
        await anext(kept)
        await anext(ending)
        rotate(path)
        assert await following.entities()
        assert await left_behind.entities()
        rotate(path, only=True)
        with pytest.raises(NotAllowedError, match="was withdrawn; connect again"):
            await exhaust(ending)
        with pytest.raises(NotAllowedError, match="missing or wrong token"):
            await left_behind.entities()
        await until(lambda: server.authority.streams.cut == 2)
        last = (await anext(kept)).tick_id
        while (await anext(kept)).tick_id < last + 3:
            pass


@pytest.mark.parametrize(("method", "opening"), [(CONTROL, OPEN), (CONTROL_BATCH, OPEN_MANY)])
async def test_control_that_is_opened_late_is_not_given_to_a_withdrawn_token(serve, until, tmp_path, method, opening):
    """The call began while the token was valid, and its first frame comes when it is not."""
    path = tmp_path / "tokens"
    rotate(path)
    stale = TokenFile(path).newest().reveal()
    async with (
        serve(config=ServerConfig("127.0.0.1:0", tokens=TokenFile(path)), running=False) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        call = channel.stream_stream(method)(metadata=(("authorization", f"Bearer {stale}"),))
        await until(lambda: len(server.authority.streams) == 1)
        rotate(path)
        rotate(path, only=True)
        await until(lambda: server.authority.streams.cut == 1)
        await call.write(opening.SerializeToString())
        assert (await call.code(), "was withdrawn" in await call.details()) == (grpc.StatusCode.UNAUTHENTICATED, True)
        assert len(server.authority.leases) == 0


async def exhaust(stream):
    async for _ in stream:
        pass


async def test_a_token_file_that_is_damaged_meanwhile_withdraws_nothing(serve, talk, tmp_path):
    path = tmp_path / "tokens"
    rotate(path)
    token = TokenFile(path).newest()
    async with serve(config=ServerConfig("127.0.0.1:0", tokens=TokenFile(path)), running=False) as server:
        path.write_text("short")
        async with talk(server, token=token) as client:
            assert await client.entities()
        async with talk(server, token=Secret("short")) as client:
            with pytest.raises(NotAllowedError):
                await client.entities()


async def test_all_streams_and_calls_of_a_client_cost_one_handshake(serve, behind, trusting):
    async with serve(config=behind()) as server, Relay() as relay:
        relay.lead_to(server.address)
        endpoint = WorldEndpoint(relay.address, tls=trusting(), token=AGENT, timeout_s=60)
        async with WorldClient(endpoint) as client, client.control("entity:1", "me") as session:
            world = await client.world()
            watched = 0
            async for event in client.viewer_events(world, retry=None):
                watched += 1
                session.submit_nowait(event.tick_id + 1, Wait())
                assert await client.entities()
                if watched == 10:
                    break
        assert relay.connections == 1
