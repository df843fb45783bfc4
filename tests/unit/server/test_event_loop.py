"""The event loop of a world, and how gRPC is woken on it."""

import socket

import grpc.aio
import pytest

from tickmind.server import event_loop

pytestmark = pytest.mark.timeout(120)


def test_one_byte_is_left_of_all_that_wait():
    here, there = socket.socketpair()
    with here, there:
        here.setblocking(False)
        there.send(b"1" * 500)
        taken = []
        event_loop._wake_once(here, lambda size: taken.append(here.recv(size)), (100,))
        event_loop._wake_once(here, taken.append, ("nothing waits",))
        assert taken == [b"1"]


def test_grpc_is_known_by_the_reader_that_it_adds(monkeypatch):
    pytest.importorskip("uvloop")
    woken = []
    wake_once = event_loop._wake_once

    def count(waker, callback, args):
        woken.append(waker)
        wake_once(waker, callback, args)

    async def ask():
        server = grpc.aio.server()
        calls = {"Echo": grpc.unary_unary_rpc_method_handler(echo)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Echo", calls),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            said = [await channel.unary_unary("/test.Echo/Echo")(b"%d" % number) for number in range(20)]
        await server.stop(None)
        return said

    async def echo(data, context):
        return data

    monkeypatch.setattr(event_loop, "_wake_once", count)
    assert event_loop.run_on_quick_loop(ask()) == [b"%d" % number for number in range(20)]
    assert woken
