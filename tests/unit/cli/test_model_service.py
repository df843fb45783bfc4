"""Models and their gateway, brought up beside everything else."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest

from tickmind.cli.ensemble.model_service import ModelService
from tickmind.cli.ensemble.parts import PartError

pytestmark = pytest.mark.asyncio


class FakePart:
    """A gateway that is told when to end."""

    def __init__(self, told, error=None):
        self.told, self.error, self._gone = told, error, lambda: None

    async def address(self):
        return "http://its.own/address"

    def when_gone(self, call):
        self._gone = call

    def go(self):
        self._gone()

    async def stop(self):
        self.told.append("gateway stopped")

    def complain(self):
        if self.error is not None:
            raise self.error


class House:
    """What happened, in order, and a switch for the models."""

    def __init__(self, error=None):
        self.told: list[str] = []
        self.started: list[tuple[str, list[str], dict[str, str], int]] = []
        self.ready = asyncio.Event()
        self.part = FakePart(self.told, error)

    @asynccontextmanager
    async def models(self):
        try:
            await self.ready.wait()
            yield {"LLM_MODEL": "m"}
        finally:
            self.told.append("models stopped")

    def start(self, name, arguments, env, *descriptors):
        self.started.append((name, list(arguments), dict(env), len(descriptors)))
        return self.part


class NoModels:
    """Models that do not come up."""

    async def __aenter__(self):
        raise PartError("no weights")

    async def __aexit__(self, *exc):
        pass


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - several things may bring it about
            await asyncio.sleep(0)


async def test_with_a_port_its_address_is_known_before_its_models_are_there():
    house = House()
    async with ModelService(["--host", "h"], 0, house.models, house.start) as service:
        address = await service.address()
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        house.ready.set()
        await asyncio.sleep(0)
        assert house.started == []
        service.begin()
        await until(lambda: house.started)
        assert house.started == [("gateway", ["--host", "h", "--fd", "3"], {"LLM_MODEL": "m"}, 1)]
        writer.close()
        del reader
    assert house.told == ["gateway stopped", "models stopped"]


async def test_without_a_port_its_own_address_is_waited_for():
    house = House()
    async with ModelService(["--port", "1"], None, house.models, house.start) as service:
        house.ready.set()
        assert await service.address() == "http://its.own/address"
    assert house.started == [("gateway", ["--port", "1"], {"LLM_MODEL": "m"}, 0)]


async def test_models_that_do_not_come_up_end_it_and_say_why():
    house, gone = House(), []

    async with ModelService(["x"], 0, NoModels, house.start) as service:
        service.when_gone(lambda: gone.append(True))
        service.begin()
        await until(lambda: gone)
        with pytest.raises(PartError, match="no weights"):
            service.complain()
    async with ModelService(["x"], None, NoModels, house.start) as service:
        with pytest.raises(PartError, match="no weights"):
            await service.address()


async def test_a_gateway_that_goes_down_ends_it_and_its_models():
    house, gone = House(PartError("the gateway failed")), []
    async with ModelService(["x"], 0, house.models, house.start) as service:
        service.when_gone(lambda: gone.append(True))
        service.begin()
        service.begin()
        house.ready.set()
        await until(lambda: house.started)
        house.part.go()
        await until(lambda: gone)
        assert house.told[-1] == "models stopped"
        with pytest.raises(PartError, match="failed"):
            service.complain()


async def test_closing_it_while_its_models_start_leaves_nothing():
    house = House()
    async with ModelService(["x"], 0, house.models, house.start) as service:
        service.begin()
        await asyncio.sleep(0)
    assert house.told == ["models stopped"]
    assert house.started == []


async def test_closing_it_before_it_began_leaves_nothing():
    house = House()
    async with ModelService(["x"], 0, house.models, house.start) as service:
        service.complain()
    assert house.told == []
    assert house.started == []


async def test_a_port_that_is_taken_is_told():
    house = House()
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(PartError, match="--any-ports takes free ones"):
        ModelService(["x"], taken.getsockname()[1], house.models, house.start)
