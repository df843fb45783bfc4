import logging
import shutil
import subprocess

import grpc
import numpy as np
import pytest
import pytest_asyncio

from tickmind.base import Secret
from tickmind.protocol import Ack, AgentState, AgentStatus, Direction, Move, Pickup, Reason, Say, Thought, Wait
from tickmind.wire import (
    Backoff,
    DeadlineError,
    LeaseRefusedError,
    MessageError,
    NotAllowedError,
    OverloadedError,
    Tls,
    UnreachableError,
    ViewFilter,
    WorldClient,
    WorldEndpoint,
)
from tickmind.wire.messages.requests import ObservationsRequest, StatusRequest, SubmitRequest

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]
QUICK = Backoff(first_s=0.001, longest_s=0.01)


@pytest_asyncio.fixture
async def world(fake_world, run_world):
    async with run_world(fake_world()) as running:
        yield running


@pytest_asyncio.fixture
async def client(world):
    async with WorldClient(WorldEndpoint(f"127.0.0.1:{world.port}", timeout_s=30)) as client:
        yield client


async def first(stream, number):
    found = []
    async for item in stream:
        found.append(item)
        if len(found) == number:
            break
    await stream.aclose()
    return found


async def test_a_healthy_world_says_so(client):
    assert await client.is_serving()


async def test_ticks_come_in_order(client):
    assert [tick.tick_id for tick in await first(client.ticks(retry=None), 9)] == [1, 2]


async def test_a_broken_stream_of_ticks_is_opened_again(world, client):
    world.tick_failures = 3
    ticks = await first(client.ticks(retry=QUICK), 7)
    assert [tick.tick_id for tick in ticks] == [1, 2, 1, 2, 1, 2, 1]


async def test_a_stream_that_is_refused_for_good_is_not_opened_again(world, client):
    world.token = "letmein-letmein"
    with pytest.raises(NotAllowedError):
        await first(client.ticks(retry=QUICK), 1)


async def test_retries_end(world, run_world, fake_world):
    client = WorldClient(WorldEndpoint("unix:/nonexistent/world.sock", timeout_s=30))
    with pytest.raises(UnreachableError, match="is it running there"):
        await first(client.ticks(retry=Backoff(first_s=0.001, longest_s=0.001, attempts=2)), 1)
    await client.close()


async def test_all_pages_of_entities_are_read(world, client, hamlet):
    assert await client.entities() == hamlet.actors
    world.page = 3
    assert await client.entities() == hamlet.actors


async def test_the_world_is_put_together_from_its_parts(client, hamlet):
    assert await client.world() == hamlet


async def test_lifecycle_events_arrive(client):
    (event,) = await first(client.lifecycle(retry=None), 1)
    assert event.entity.entity_id == "actor:0"


async def test_a_lease_is_acquired_renewed_and_released(client):
    lease = await client.acquire("actor:0", "me")
    assert (lease.entity_id, lease.controller_id, lease.epoch) == ("actor:0", "me", 7)
    assert await client.renew(lease) == lease
    assert await client.release(lease) is Reason.NONE


async def test_a_refused_lease_tells_why_and_when_to_come_back(world, client):
    world.lease_held = True
    with pytest.raises(LeaseRefusedError) as caught:
        await client.acquire("actor:0", "me")
    assert (caught.value.reason, caught.value.retry_after_ms) == (Reason.LEASE_HELD, 2500)


async def test_an_expired_lease_is_not_renewed(world, client):
    lease = await client.acquire("actor:0", "me")
    world.lease_held = True
    with pytest.raises(LeaseRefusedError) as caught:
        await client.renew(lease)
    assert caught.value.reason is Reason.EXPIRED_LEASE


async def test_plain_observations_and_intents(world, client):
    lease = await client.acquire("actor:0", "me")
    observations = await first(client.observations(lease, want_floors=True, retry=None), 2)
    assert [seen.tick_id for seen in observations] == [5, 6]
    assert await client.submit(lease, 6, Move(Direction.E)) == Ack(True)
    assert ObservationsRequest(lease.lease_id, "actor:0", True, once=True) in world.seen
    assert SubmitRequest(lease.lease_id, "actor:0", 6, Move(Direction.E)) in world.seen


async def test_a_text_that_is_too_long_is_refused_with_its_reason(client):
    lease = await client.acquire("actor:0", "me")
    assert await client.submit(lease, 6, Say("x" * 501)) == Ack(False, Reason.TEXT_TOO_LONG)


async def test_thoughts_and_statuses_arrive(world, client):
    lease = await client.acquire("actor:0", "me")
    thought = Thought(1, 2, 3, "You are a villager.", "What now?", directives={"goal": "berries"})
    status = AgentStatus("actor:0", 6, AgentState.RUNNING, intents=3)
    assert await client.report_thought(lease, 6, thought) == Ack(True)
    assert await client.report_status(lease, status) == Ack(True)
    assert world.seen[-2].report.thought == thought
    assert world.seen[-1] == StatusRequest(lease.lease_id, status)


async def test_viewers_get_events_and_snapshots(world, client, hamlet):
    view = ViewFilter(actor_ids=("actor:1",))
    (event,) = await first(client.viewer_events(hamlet, view, retry=None), 1)
    assert isinstance(event.actor, np.ndarray)
    assert view in world.seen
    snapshot = await client.snapshot(hamlet)
    assert len(snapshot.actor) == len(snapshot.state.x)


async def test_a_stream_that_never_opens_says_why_to_one_who_waits_for_it(world, client, hamlet):
    world.token = "letmein-letmein"
    with pytest.raises(NotAllowedError):
        await first(client.viewer_events(hamlet, retry=None, on_open=lambda: None), 1)
    async with WorldClient(WorldEndpoint("unix:/nonexistent/world.sock", timeout_s=20)) as nobody:
        with pytest.raises(UnreachableError):
            await first(nobody.viewer_events(hamlet, retry=None, on_open=lambda: None), 1)


async def test_an_intent_that_can_not_be_written_never_leaves(client):
    lease = await client.acquire("actor:0", "me")
    with pytest.raises(MessageError):
        await client.submit(lease, 6, Pickup("berries", 2**31))
    with pytest.raises(MessageError):
        await client.submit(lease, 2**63, Wait())


async def test_a_missing_world_is_unreachable():
    async with WorldClient(WorldEndpoint("unix:/nonexistent/world.sock", timeout_s=20)) as client:
        with pytest.raises(UnreachableError, match="is it running there"):
            await client.entities()


async def test_a_world_that_does_not_answer_in_time_is_a_deadline(world):
    world.silent = True
    async with WorldClient(WorldEndpoint(f"127.0.0.1:{world.port}", timeout_s=0.5)) as hasty:
        with pytest.raises(DeadlineError):
            await hasty.renew(world.lease())


async def test_a_unix_socket_works(fake_world, run_world, tmp_path):
    address = f"unix:{tmp_path / 'w.sock'}"
    async with run_world(fake_world(), address), WorldClient(WorldEndpoint(address, timeout_s=30)) as client:
        assert await client.is_serving()


async def test_a_token_lets_in_and_no_error_or_log_shows_it(world, caplog):
    caplog.set_level(logging.DEBUG)
    world.token = "the-right-token-123"
    right = WorldEndpoint(f"127.0.0.1:{world.port}", token=Secret(world.token), timeout_s=30)
    async with WorldClient(right) as client:
        assert len(await first(client.ticks(retry=None), 2)) == 2
        assert world.token not in repr(client) + repr(right)
    wrong = WorldEndpoint(f"127.0.0.1:{world.port}", token=Secret("some-wrong-token-456"), timeout_s=30)
    async with WorldClient(wrong) as client:
        with pytest.raises(NotAllowedError) as caught:
            await first(client.ticks(retry=None), 2)
    assert "some-wrong-token-456" not in str(caught.value)
    assert world.token not in caplog.text
    assert "some-wrong-token-456" not in caplog.text


async def test_no_error_log_or_repr_shows_a_lease(world, client, caplog):
    caplog.set_level(logging.DEBUG)
    lease = await client.acquire("actor:0", "me")
    secret = lease.lease_id.reveal()
    world.lease_held = True
    with pytest.raises(LeaseRefusedError) as refused:
        await client.renew(lease)
    with pytest.raises(MessageError) as unwritten:
        await client.submit(lease, 2**63, Wait())
    shown = f"{refused.value!r}{unwritten.value!r}{lease!r}{world.seen!r}{caplog.text}"
    assert secret not in shown


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return key.read_bytes(), cert.read_bytes()


needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")


@needs_openssl
async def test_tls_with_a_token_lets_in_and_a_strange_certificate_does_not(fake_world, run_world, certificate):
    world = fake_world()
    world.token = "the-right-token-123"
    credentials = grpc.ssl_server_credentials([certificate])
    async with run_world(world, "localhost:0", credentials):
        address, token = f"localhost:{world.port}", Secret(world.token)
        trusting = WorldEndpoint(address, tls=Tls(root_certificates=certificate[1]), token=token, timeout_s=30)
        async with WorldClient(trusting) as client:
            assert len(await first(client.ticks(retry=None), 2)) == 2
        async with WorldClient(WorldEndpoint(address, tls=Tls(), token=token, timeout_s=30)) as client:
            with pytest.raises(UnreachableError):
                await client.is_serving()


async def test_a_message_over_the_limit_is_not_sent(client):
    lease = await client.acquire("actor:0", "me")
    with pytest.raises(OverloadedError, match="limit"):
        await client.submit(lease, 6, Say("x" * (5 * 1024 * 1024)))
    assert await client.is_serving()
