"""Who may connect: tokens, leases of others, subprotocols and limits."""

import asyncio
import logging
from typing import Any

import aiohttp
import pytest
from tests.kits.socket_client import SUBPROTOCOLS, connected

from tickmind.adapters.websocket import SocketLimits, WebSocketAddressError, WebSocketConfig, WebSocketServer
from tickmind.adapters.websocket.frames import JSON_SUBPROTOCOL
from tickmind.adapters.websocket.limits import MAX_FIRST_FRAME_S, MAX_FRAME_BYTES, MAX_IDLE_S, MAX_SOCKETS
from tickmind.base import ManualClock, Secret
from tickmind.base.access.token_file import TokenFile, rotate
from tickmind.server import ServerConfig
from tickmind.wire import WorldEndpoint
from tickmind.wire.v1 import door_pb2

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]
TOKEN = "a-token-of-this-world"
OPERATOR = "a-token-of-its-operator"
OPENING = {"open": {"entityId": "entity:1", "controllerId": "me"}}
REPORT = {"entityId": "entity:1", "tickId": "1", "state": "AGENT_STATE_RUNNING"}
THOUGHT = {"entityId": "entity:1", "tickId": "1", "thought": {"answeredTick": "1"}}
INSIGHT = {"entityId": "entity:1", "tickId": "1", "whole": True}
FRAMES: dict[str, dict[str, Any]] = {
    "control": {"control": OPENING},
    "play": {"control": {"open": {**OPENING["open"], "play": True}}},
    "watch": {"watch": {}},
    "describe": {"describe": {}},
    "status": {"telemetry": {"status": {"leaseId": "x" * 32, "status": REPORT}}},
    "thought": {"telemetry": {"thought": {"leaseId": "x" * 32, "report": THOUGHT}}},
    "insights": {"telemetry": {"insights": {"leaseId": "x" * 32, "insights": [INSIGHT]}}},
    "snapshot": {"snapshot": {}},
    "world": {"world": {}},
}


def with_tokens():
    return ServerConfig("127.0.0.1:0", tokens=(Secret(TOKEN),), operator_tokens=(Secret(OPERATOR),))


async def test_the_table_names_every_frame_that_a_client_can_begin_with():
    names = {field.name for field in door_pb2.SocketRequest.DESCRIPTOR.oneofs_by_name["frame"].fields}
    reports = {field.name for field in door_pb2.TelemetryReport.DESCRIPTOR.oneofs_by_name["report"].fields}
    assert set(FRAMES) == (names - {"telemetry"}) | reports | {"play"}


async def first_answer(url, frame, *, headers=None, subprotocol=JSON_SUBPROTOCOL):
    async with connected(url, subprotocol, headers) as client:
        await client.send(frame)
        return await client.receive()


async def test_no_frame_is_answered_without_a_token_of_the_world(serve):
    async with serve(config=with_tokens(), running=False) as (world, server):
        tried = {}
        for name, frame in FRAMES.items():
            for kind, token in (
                ("none", {}),
                ("another", {"token": "another-token"}),
                ("longer", {"token": TOKEN + "x"}),
            ):
                tried[name, kind] = first_answer(server.url, frame | token)
            headers = {"Authorization": "Bearer another-token"}
            tried[name, "another header"] = first_answer(server.url, frame, headers=headers)
        answers = dict(zip(tried, await asyncio.gather(*tried.values()), strict=True))
        allowed = door_pb2.SOCKET_ERROR_CODE_NOT_ALLOWED
        assert {case: answer.error.code for case, answer in answers.items()} == dict.fromkeys(tried, allowed)
        assert not [answer for answer in answers.values() if TOKEN in str(answer)]
        assert world.statistics().leases == 0


@pytest.mark.parametrize("header", [f"Basic {TOKEN}", TOKEN, "Bearer ", "Bearer  two words"])
async def test_a_header_without_a_bearer_token_is_refused(serve, header):
    async with serve(config=with_tokens(), running=False) as (_, server):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await first_answer(server.url, FRAMES["describe"], headers={"Authorization": header})
        assert refused.value.status == 401


async def test_a_token_in_the_address_is_no_token(serve):
    async with serve(config=with_tokens(), running=False) as (_, server):
        answer = await first_answer(f"{server.url}?token={TOKEN}", FRAMES["describe"])
        assert answer.error.code == door_pb2.SOCKET_ERROR_CODE_NOT_ALLOWED


async def test_two_tokens_that_differ_are_a_bad_frame(serve):
    async with serve(config=with_tokens(), running=False) as (_, server):
        frame = FRAMES["describe"] | {"token": "another-token-of-the-world"}
        answer = await first_answer(server.url, frame, headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.error.code == door_pb2.SOCKET_ERROR_CODE_BAD_FRAME


@pytest.mark.parametrize("subprotocol", SUBPROTOCOLS)
async def test_every_frame_is_answered_with_a_token_of_the_world_and_no_log_has_it(serve, subprotocol, caplog, capfd):
    """Else the refusals above would prove nothing."""
    caplog.set_level(logging.DEBUG)
    async with serve(config=with_tokens(), running=False) as (world, server):
        world.authority.begin()
        for name, frame in FRAMES.items():
            if name in {"watch", "play"}:
                continue  # the first answers with the next tick, the other takes more than this token
            for given in ({"token": TOKEN}, {}):
                headers = {} if given else {"Authorization": f"Bearer {TOKEN}"}
                answer = await first_answer(server.url, frame | given, headers=headers, subprotocol=subprotocol)
                assert answer.WhichOneof("frame") != "error", (name, answer)
    assert TOKEN not in caplog.text + "".join(capfd.readouterr())


@pytest.mark.parametrize("subprotocol", SUBPROTOCOLS)
async def test_persons_play_with_a_token_of_the_operator_only(serve, subprotocol):
    async with serve(config=with_tokens(), running=False) as (world, server):
        world.authority.begin()
        for token in ("", "another-token", TOKEN):
            answer = await first_answer(server.url, FRAMES["play"] | {"token": token}, subprotocol=subprotocol)
            assert answer.error.code == door_pb2.SOCKET_ERROR_CODE_NOT_ALLOWED, (token, answer)
        assert not world.authority.leases.played.any()
        answer = await first_answer(server.url, FRAMES["play"] | {"token": OPERATOR}, subprotocol=subprotocol)
        assert answer.control.opened.lease.entity_id == "entity:1"
        assert world.authority.leases.played.tolist()[0]


@pytest.mark.parametrize("kind", ["none", "wrong", "expired", "released", "another's"])
async def test_no_frame_does_anything_with_a_lease_that_is_not_the_callers(serve, kind):
    clock = ManualClock()
    async with serve(running=False, clock=clock) as (world, server):
        world.authority.begin()
        lease_id = {"none": "", "wrong": "w" * 32}.get(kind, "")
        async with connected(server.url) as old:
            if kind in {"expired", "released"}:
                lease_id = (await old.open("entity:1", "me")).lease.lease_id
                if kind == "expired":
                    clock.advance(11)
                else:
                    await old.send(control={"release": {}})
                    while await old.receive() is not None:
                        pass
            if kind == "another's":
                lease_id = (await old.open("entity:2", "thief")).lease.lease_id
        async with connected(server.url) as rightful:
            await rightful.open("entity:1", "me")
            reports = (
                {"status": {"leaseId": lease_id, "status": REPORT}},
                {"thought": {"leaseId": lease_id, "report": THOUGHT}},
                {"insights": {"leaseId": lease_id, "insights": [INSIGHT]}},
            )
            for report in reports:
                answer = await first_answer(server.url, {"telemetry": report})
                assert answer.WhichOneof("frame") == "telemetry", answer
                assert not answer.telemetry.ack.accepted
            opening = {"entityId": "entity:1", "controllerId": "thief", "previousLeaseId": lease_id}
            answer = await first_answer(server.url, {"control": {"open": opening}})
            assert answer.control.WhichOneof("frame") == "closed", answer
            intent = {"tickId": "1", "intent": {"wait": {}}}
            others: list[dict[str, Any]] = [{"intent": intent}, {"keepAlive": {}}, {"release": {}}]
            for frame in others:
                answer = await first_answer(server.url, {"control": frame})
                assert answer.error.code == door_pb2.SOCKET_ERROR_CODE_BAD_FRAME
            assert world.authority.inbox.answered.sum() == 0
            assert (await rightful.intend(1, {"wait": {}})).accepted


async def test_with_tokens_of_its_own_an_endpoint_admits_no_others(serve):
    """As beyond this machine, where the world may be one that checks no tokens."""
    door = WebSocketConfig(port=0, tokens=(Secret(TOKEN),))
    async with serve(running=False, door=door) as (_, server):
        for frame in ({}, {"token": "another-token"}):
            answer = await first_answer(server.url, FRAMES["describe"] | frame)
            assert answer.error.code == door_pb2.SOCKET_ERROR_CODE_NOT_ALLOWED
        answer = await first_answer(server.url, FRAMES["describe"] | {"token": TOKEN})
        assert len(answer.describe.entities) == 4


async def test_a_withdrawn_token_of_its_own_ends_what_goes_on(serve, tmp_path):
    path = tmp_path / "tokens"
    rotate(path)
    tokens = TokenFile(path)
    async with (
        serve(running=False, door=WebSocketConfig(port=0, tokens=tokens)) as (_, server),
        connected(server.url, JSON_SUBPROTOCOL) as client,
    ):
        await client.send(FRAMES["describe"] | {"token": tokens.newest().reveal()})
        assert (await client.receive()).describe.entities
        rotate(path)
        await client.send(FRAMES["describe"])
        assert (await client.receive()).describe.entities
        rotate(path, only=True)
        await client.send(FRAMES["describe"])
        answer = await client.receive()
        assert answer.error.code == door_pb2.SOCKET_ERROR_CODE_NOT_ALLOWED
        assert "was withdrawn" in answer.error.message
        assert await client.receive() is None


async def test_beyond_this_machine_an_endpoint_needs_tls_and_tokens():
    with pytest.raises(WebSocketAddressError, match=r"needs TLS \(--tls\) and tokens \(--token-file\)"):
        WebSocketServer(WorldEndpoint("127.0.0.1:1"), WebSocketConfig(host="0.0.0.0"))


@pytest.mark.parametrize("offered", [(), ("tickmind.v2.json",), ("json", "mqtt")])
async def test_a_client_without_a_subprotocol_of_ours_is_refused_in_plain_words(serve, offered):
    async with serve(running=False) as (_, server), aiohttp.ClientSession() as session:
        headers = {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
                   "Connection": "Upgrade", "Upgrade": "websocket"}  # fmt: skip
        if offered:
            headers["Sec-WebSocket-Protocol"] = ", ".join(offered)
        async with session.get(server.url.replace("ws:", "http:"), headers=headers) as answer:
            assert answer.status == 400
            words = "choose a subprotocol: tickmind.v1.json or tickmind.v1.protobuf"
            assert await answer.json() == {"error": words}


async def test_a_request_that_is_no_websocket_is_refused_in_plain_words(serve):
    async with (
        serve(running=False) as (_, server),
        aiohttp.request("GET", server.url.replace("ws:", "http:")) as answer,
    ):
        assert answer.status == 400
        assert "this address is a WebSocket" in (await answer.json())["error"]


async def test_a_page_of_a_listed_site_may_connect_and_no_other_one(serve):
    door = WebSocketConfig(port=0, origins=("http://game.example:3000",))
    async with serve(running=False, door=door) as (_, server):
        answer = await first_answer(server.url, FRAMES["describe"], headers={"Origin": "http://game.example:3000"})
        assert len(answer.describe.entities) == 4
        for origin in ("http://game.example", "https://game.example:3000", "http://game.example:3000.evil.example"):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await first_answer(server.url, FRAMES["describe"], headers={"Origin": origin})
            assert refused.value.status == 403


# Limits


def limited(**limits):
    return WebSocketConfig(port=0, limits=SocketLimits(**limits))


async def test_no_more_connections_than_the_limit(serve):
    async with serve(running=False, door=limited(sockets=MAX_SOCKETS.at(1))) as (_, server), connected(server.url):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await first_answer(server.url, FRAMES["describe"])
        assert refused.value.status == 503
        assert refused.value.headers is not None
        assert refused.value.headers["Retry-After"] == "1"


async def test_a_frame_that_is_too_large_ends_its_connection(serve):
    door = limited(frame_bytes=MAX_FRAME_BYTES.at(1000))
    async with serve(running=False, door=door) as (_, server), connected(server.url) as client:
        await client.send(token="x" * 2000, describe={})
        assert await client.receive() is None
        assert client.socket.close_code == 1009


@pytest.mark.parametrize(
    "limits", [{"first_frame_s": MAX_FIRST_FRAME_S.at(0.05)}, {"idle_s": MAX_IDLE_S.at(0.05)}], ids=["first", "idle"]
)
async def test_a_silent_client_is_closed(serve, limits):
    async with serve(running=False, door=limited(**limits)) as (_, server), connected(server.url) as client:
        if "idle_s" in limits:
            await client.send(FRAMES["describe"])
        answer = await client.receive()
        if answer.WhichOneof("frame") == "describe":  # a busy machine takes longer for it than the client may be silent
            answer = await client.receive()
        assert answer.error.code == door_pb2.SOCKET_ERROR_CODE_SILENT
        assert await client.receive() is None


async def test_a_first_frame_that_is_none_ends_the_connection(serve):
    async with serve(running=False) as (_, server), connected(server.url) as client:
        await client.socket.send_str('{"contrl": {}}')
        answer = await client.receive()
        assert answer.error.code == door_pb2.SOCKET_ERROR_CODE_BAD_FRAME
        assert "SocketRequest has no field 'contrl'" in answer.error.message
        assert await client.receive() is None


async def test_clients_are_told_that_the_endpoint_stops(serve):
    async with serve(running=False) as (world, _):
        server = WebSocketServer(WorldEndpoint(world.address), WebSocketConfig(port=0))
        async with server, connected(server.url) as client:
            await client.open()
            closing = asyncio.create_task(server.endpoint.close())
            answer = await client.receive()
            while answer.WhichOneof("frame") == "control":
                answer = await client.receive()
            assert answer.error.code == door_pb2.SOCKET_ERROR_CODE_STOPPING
            assert answer.error.retry_after_ms > 0
            assert await client.receive() is None
            await closing
            assert server.endpoint.connections == 0
        assert world.statistics().leases == 1, "stopping gives up no character"
