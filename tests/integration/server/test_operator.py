"""The operator's orders over gRPC, and as commands."""

import asyncio
import re

import pytest
from tests.unit.server.test_placements import INN
from typer.testing import CliRunner

from tickmind.base import Secret
from tickmind.cli.app import app
from tickmind.protocol import Reason
from tickmind.server import ServerConfig
from tickmind.wire import NotAllowedError
from tickmind.world import parse_scenario

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(180)]
CLIENT, OPERATOR, OTHER = (Secret(f"a-token-of-{name}") for name in ("this-client", "this-operator", "someone-else"))


async def test_an_order_is_answered_over_the_network_once_it_is_carried_out(serve, talk):
    async with serve(scenario=parse_scenario(INN)) as server, talk(server) as client:
        come = await client.spawn("guest")
        assert (come.reason, come.at) == (Reason.NONE, (1, 0))
        assert "guest" in [actor.entity_id for actor in await client.entities()]
        assert (await client.spawn("guest", (3, 0))).reason is Reason.ALREADY_THERE
        gone = await client.despawn("guest")
        assert (gone.reason, gone.at) == (Reason.NONE, None)
        assert gone.tick_id > come.tick_id
        assert (await client.spawn("ghost")).reason is Reason.UNKNOWN_ENTITY


async def test_a_client_that_gives_up_takes_its_order_back(serve, talk, until):
    async with serve(scenario=parse_scenario(INN), running=False) as server, talk(server) as client:
        waiting = asyncio.create_task(client.spawn("guest"))
        queue = server.authority.placements
        await until(lambda: queue._waiting)
        waiting.cancel()
        await until(lambda: not queue._waiting)
        assert queue.take() == []


@pytest.mark.parametrize(
    ("tokens", "operators", "given", "allowed"),
    [
        ((), (), None, True),
        ((), (OPERATOR,), None, False),
        ((), (OPERATOR,), OTHER, False),
        ((), (OPERATOR,), OPERATOR, True),
        ((CLIENT,), (OPERATOR,), OPERATOR, True),
        ((CLIENT,), (OPERATOR,), CLIENT, False),
        ((CLIENT,), (), CLIENT, False),
    ],
)
async def test_only_an_operator_gives_orders(serve, talk, tokens, operators, given, allowed):
    config = ServerConfig("127.0.0.1:0", tokens=tokens, operator_tokens=operators)
    async with serve(scenario=parse_scenario(INN), config=config) as server, talk(server, token=given) as client:
        assert await client.entities()
        if allowed:
            assert (await client.spawn("guest")).ok
            return
        with pytest.raises(NotAllowedError, match="operator-token-file"):
            await client.spawn("guest")
        with pytest.raises(NotAllowedError, match="operator-token-file"):
            await client.despawn("host")
        assert server.authority.world.present.tolist() == [False, True]


async def run(server, *arguments):
    command = ["world", *arguments, "--world", server.address]
    return await asyncio.to_thread(CliRunner().invoke, app, command)


async def test_the_commands_bring_actors_and_send_them_away_or_say_why_not(serve):
    async with serve(scenario=parse_scenario(INN)) as server:
        come = await run(server, "spawn", "guest", "--at", "4,0")
        assert come.exit_code == 0, come.output
        assert re.search(r"^guest is in the world from tick \d+ on, at 4, 0\.\n\Z", come.output, re.MULTILINE)
        gone = await run(server, "despawn", "host")
        assert re.search(r"^host is away from tick \d+ on", gone.output, re.MULTILINE)
        for arguments, said in [
            (("spawn", "gest"), "the world has no actor 'gest' (did you mean 'guest'?)"),
            (("spawn", "guest"), "guest is in the world already"),
            (("despawn", "host"), "host is not in the world"),
            (("spawn", "host", "--at", "4,0"), "another actor stands at (4, 0)"),
            (("spawn", "host", "--at", "9,9"), "(9, 9) is not on the map"),
            (("spawn", "host", "--at", "here"), "--at is a tile as X,Y"),
        ]:
            refused = await run(server, *arguments)
            assert refused.exit_code == 1, refused.output
            assert said in refused.output
