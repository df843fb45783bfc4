"""Which WebSocket the agents of `tickmind up` are told of."""

import pytest

from tickmind.cli.ensemble.ensemble import _socket_url

pytestmark = pytest.mark.asyncio


async def page():
    return "http://127.0.0.1:41234/"


async def no_page():
    raise AssertionError("an agent waits for the page")


async def test_with_a_known_port_no_agent_waits_for_the_page():
    assert await _socket_url(8700, no_page) == "ws://127.0.0.1:8700/ws/v1"


async def test_with_any_port_it_is_that_of_the_page():
    assert await _socket_url(0, page) == "ws://127.0.0.1:41234/ws/v1"


async def test_without_a_page_there_is_none():
    assert await _socket_url(None, no_page) == ""
