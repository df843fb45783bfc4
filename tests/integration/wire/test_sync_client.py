import numpy as np
import pytest

from tickmind.protocol import UNUSED, Ack, Direction, IntentColumns, Move, Reason
from tickmind.wire import LeaseRefusedError, SyncWorldClient, WireConfigError, WorldEndpoint

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def world(fake_world, run_world_in_thread):
    with run_world_in_thread(fake_world()) as running:
        yield running


@pytest.fixture
def client(world):
    with SyncWorldClient(WorldEndpoint(f"127.0.0.1:{world.port}", timeout_s=30)) as client:
        yield client


def test_plain_calls_and_streams(client, hamlet):
    assert client.is_serving()
    assert client.world() == hamlet
    assert client.entities() == hamlet.actors
    assert [tick.tick_id for tick in client.ticks(retry=None)] == [1, 2]
    assert len(list(client.lifecycle(retry=None))) == 1
    lease = client.acquire("actor:0", "me")
    assert client.renew(lease) == lease
    assert [seen.tick_id for seen in client.observations(lease, retry=None)] == [5, 6]
    assert client.submit(lease, 6, Move(Direction.E)) == Ack(True)
    assert client.release(lease) is Reason.NONE
    assert len(list(client.viewer_events(hamlet, retry=None))) == 1
    assert client.snapshot(hamlet).tick_id >= 0


def test_leaving_an_endless_stream_ends_it(client):
    for _ in client.ticks():
        break


def test_control_blocks(world, client):
    world.ticks_before_pause = 1
    with client.control("actor:0", "me") as session:
        for seen in session:
            if seen.tick_id == 3:
                break
            assert session.submit(seen.tick_id, Move(Direction.N)) == Ack(True)
        assert session.lease.entity_id == "actor:0"
        assert session.controlled
        assert session.statistics().accepted == 2
    assert not session.controlled


def test_a_refusal_is_raised(world, client):
    world.lease_held = True
    with pytest.raises(LeaseRefusedError), client.control("actor:0", "me"):
        pytest.fail("it was not refused")


def test_many_actors_block_too(client, hamlet):
    rows = np.arange(2, dtype=np.int32)
    unused = np.full(2, UNUSED, np.int32)
    with client.control_batch(hamlet, "host", rows) as session:
        assert next(iter(session)).parts == 2
        waits = IntentColumns(rows, np.zeros(2, np.uint8), unused.astype(np.int8), unused, unused, unused, {})
        assert session.submit(1, waits).accepted == 2
        assert len(session.lost()) == 1
        assert session.opened.granted.tolist() == [0, 1]


def test_a_closed_client_says_so(client):
    client.close()
    client.close()
    with pytest.raises(WireConfigError, match="closed"):
        client.is_serving()
