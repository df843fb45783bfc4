import random

import pytest

from tickmind.base import Secret, TickmindError
from tickmind.wire import Backoff, Tls, WireConfigError, WireError, WorldEndpoint, server_options
from tickmind.wire import errors as wire_errors
from tickmind.wire.client.connection import client_options, is_local


@pytest.mark.parametrize(
    "address", ["127.0.0.1:50051", "localhost:1", "[::1]:50051", "127.9.9.9:80", "unix:/run/w.sock"]
)
def test_addresses_on_this_machine_need_no_tls(address):
    assert is_local(address)
    assert WorldEndpoint(address).address == address


@pytest.mark.parametrize(
    "address", ["10.0.0.1:50051", "world.example:50051", "[2001:db8::1]:1", "0.0.0.0:1", "127.0.0.1.evil.example:1"]
)
def test_other_addresses_need_tls(address):
    with pytest.raises(WireConfigError, match="set tls"):
        WorldEndpoint(address)
    assert WorldEndpoint(address, tls=Tls()).tls


@pytest.mark.parametrize(
    "address",
    [
        "",
        "host",
        "host:",
        ":1",
        "host:0",
        "host:65536",
        "dns:///host:1",
        "a b:1",
        "u@127.0.0.1:1",
        "[nonsense]:1",
        "unix:",
        "127.0.0.1:1\n",
    ],
)
def test_nonsense_is_no_address(address):
    with pytest.raises(WireConfigError):
        WorldEndpoint(address, tls=Tls())


def test_a_connection_shows_no_secret():
    connection = WorldEndpoint("localhost:1", token=Secret("token-token-token"), tls=Tls(private_key=b"PRIVATE"))
    assert "token-token-token" not in repr(connection)
    assert "PRIVATE" not in repr(connection)
    assert connection.metadata == (("authorization", "Bearer token-token-token"),)


def test_sizes_are_limited_on_both_sides_and_fit():
    client, server = dict(client_options(WorldEndpoint("localhost:1"))), dict(server_options())
    assert client["grpc.max_send_message_length"] == server["grpc.max_receive_message_length"] == 4 * 1024 * 1024
    assert client["grpc.max_receive_message_length"] == server["grpc.max_send_message_length"]
    assert client["grpc.enable_retries"] == client["grpc.enable_http_proxy"] == 0
    assert int(client["grpc.keepalive_time_ms"]) > int(server["grpc.http2.min_ping_interval_without_data_ms"])


def test_waits_grow_up_to_a_limit_and_differ():
    backoff, rng = Backoff(first_s=1, longest_s=8), random.Random(1)
    for failures in range(2000):
        assert 0 <= backoff.wait_s(failures, rng) <= min(8, 2**failures)
    assert len({backoff.wait_s(5, rng) for _ in range(10)}) == 10


def test_every_error_is_in_the_tree_and_its_picture():
    for name in dir(wire_errors):
        thing = getattr(wire_errors, name)
        if isinstance(thing, type) and issubclass(thing, TickmindError) and thing.__module__ == wire_errors.__name__:
            assert issubclass(thing, WireError)
            assert name in wire_errors.__doc__
