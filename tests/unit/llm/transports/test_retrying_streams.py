"""Which streams are tried again: those of which nothing of the answer was delivered."""

import random
from collections.abc import AsyncIterator

import pytest

from tickmind.base import ManualClock, Secret
from tickmind.llm.client import ModelClient
from tickmind.llm.config import Api, ModelConfig
from tickmind.llm.errors import LLMCooldownError, LLMError, LLMResponseError
from tickmind.llm.testing import Break, FakeProvider, Refuse, Step
from tickmind.llm.transports import make_transport
from tickmind.llm.transports.retrying import RetryingTransport, is_transient
from tickmind.llm.transports.wire import WireTransport

APIS: tuple[Api, ...] = ("chat", "responses", "anthropic")
every_form = pytest.mark.parametrize("api", APIS)
FIRST = {"chat": 1, "responses": 2, "anthropic": 1}  # events before the answer: a role, response.created, message_start
WORDS = "Over the hills and far away."


async def no_wait(_seconds: float) -> None:
    """Let no time pass."""


async def asked(api: Api, *steps: Step) -> AsyncIterator[tuple[str, int]]:
    async with FakeProvider(steps, cut=4) as server:
        config = ModelConfig(server.base_url, Secret("key"), "m", api=api, timeout_s=30)
        retrying = RetryingTransport(make_transport(config), sleep=no_wait, clock=ManualClock(), rng=random.Random(1))
        async with ModelClient(config, retrying) as client:
            async with client.stream("Where?") as stream:
                result = await stream.result
            yield result.content, result.attempts
            yield "", len(server.seen)


@every_form
@pytest.mark.parametrize("ending", ["close", "reset", "error"])
@pytest.mark.asyncio
async def test_a_stream_that_broke_before_the_answer_began_is_opened_again(api: Api, ending: str) -> None:
    broken = Break(WORDS, events=FIRST[api], ending=ending)  # type: ignore[arg-type]  # one of the literals
    (content, attempts), (_, seen) = [item async for item in asked(api, broken, WORDS)]
    assert (content, attempts, seen) == (WORDS, 2, 2)


@every_form
@pytest.mark.asyncio
async def test_an_answer_that_had_begun_is_not_begun_again(api: Api) -> None:
    with pytest.raises(LLMError):
        _ = [item async for item in asked(api, Break(WORDS, events=FIRST[api] + 3), WORDS)]


@every_form
@pytest.mark.asyncio
async def test_an_error_that_the_server_owns_up_to_inside_a_stream_passes(api: Api) -> None:
    async with FakeProvider([Break(WORDS, events=FIRST[api] + 3, ending="error")]) as server:
        config = ModelConfig(server.base_url, Secret("key"), "m", api=api, timeout_s=30)
        async with ModelClient(config) as client, client.stream("Where?") as stream:
            with pytest.raises(LLMError) as caught:
                await stream.result
    assert is_transient(caught.value)


def test_a_gateway_that_holds_back_has_done_the_retrying() -> None:
    assert not is_transient(LLMCooldownError("not your turn", retry_after_s=1))


def test_a_client_retries_at_a_remote_endpoint_and_not_on_this_machine() -> None:
    remote = make_transport(ModelConfig("https://models.example/v1", Secret("key"), "m"))
    assert isinstance(remote, RetryingTransport)
    assert remote.max_attempts == 3
    assert isinstance(make_transport(ModelConfig("http://127.0.0.1:8766/v1", model="m")), WireTransport)
    assert isinstance(
        make_transport(ModelConfig("https://models.example/v1", model="m", max_attempts=1)), WireTransport
    )


@pytest.mark.asyncio
async def test_a_client_tries_as_often_as_its_config_says() -> None:
    async with FakeProvider([Refuse(503), WORDS, Refuse(503)]) as server:
        async with ModelClient(ModelConfig(server.base_url, model="m", max_attempts=2)) as client:
            result = await client.complete("Where?")
        assert (result.content, result.attempts) == (WORDS, 2)
        async with ModelClient(ModelConfig(server.base_url, model="m")) as client:
            with pytest.raises(LLMResponseError):
                await client.complete("Where?")
    assert len(server.seen) == 3
