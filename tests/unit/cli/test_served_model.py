"""A model on this machine, served for as long as somebody needs it."""

import asyncio
import logging

import aiohttp
import pytest

import tickmind.cli.model.served_model as module
from tickmind.base import Secret
from tickmind.cli.model.served_model import ServedModel, served_model
from tickmind.llm.config import ModelConfig
from tickmind.llm.errors import LLMConnectionError
from tickmind.llm.local.model_choice import ModelChoice, ModelKind
from tickmind.llm.messages import Message

pytestmark = pytest.mark.asyncio
OPENING = (Message.system("All of you are villagers."),)


class FakeLocal:
    """Stands in for weights and their server; it reads until it is stopped, or fails to."""

    def __init__(self, error=None, *, at_start=None):
        self.error = error
        self.at_start = at_start
        self.reading, self.stopped = asyncio.Event(), asyncio.Event()

    async def astart(self):
        if self.at_start is not None:
            raise self.at_start
        return self

    def model_config(self):
        return ModelConfig(base_url="http://127.0.0.1:1/v1", api_key=Secret("k"), model="m")

    async def aprime(self, _character_id, messages, *, keep):
        assert (messages, keep) == (OPENING, True)
        self.reading.set()
        if self.error is not None:
            raise self.error
        await self.stopped.wait()
        raise LLMConnectionError("the local model does not answer")

    async def astop(self):
        self.stopped.set()
        await asyncio.sleep(0)


@pytest.fixture
def serve(monkeypatch):
    """Serves a fake model."""

    def begin(local):
        choice = ModelChoice(ModelKind.LOCAL, "m", "because")
        monkeypatch.setattr(module, "choose_model", lambda *_facts, **_known: choice)
        monkeypatch.setattr(module, "LocalModel", lambda *_weights, **_options: local)
        return served_model({}, opening=lambda: OPENING)

    return begin


async def test_who_stops_while_the_model_reads_ahead_hears_no_complaint(serve, caplog):
    local = FakeLocal()

    async def use():
        async with serve(local):
            await asyncio.Event().wait()

    using = asyncio.create_task(use())
    async with asyncio.timeout(60):
        await local.reading.wait()
        using.cancel()
        await asyncio.wait({using})
    for _ in range(10):
        await asyncio.sleep(0)
    assert local.stopped.is_set()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert caplog.records == []


@pytest.mark.parametrize("error", [LLMConnectionError("it is busy"), FileNotFoundError("the cache was cleared")])
async def test_a_model_that_can_not_read_ahead_serves_all_the_same(serve, caplog, error):
    local = FakeLocal(error)
    with caplog.at_level(logging.WARNING):
        async with serve(local) as model, asyncio.timeout(60):
            assert isinstance(model, ServedModel)
            while not caplog.records:  # noqa: ASYNC110 - a log has no event
                await asyncio.sleep(0)
    assert "could not read ahead" in caplog.text


async def test_a_model_that_does_not_start_is_told_and_a_script_takes_its_place(serve):
    local = FakeLocal(at_start=LLMConnectionError("the llama.cpp server ended while starting: no memory"))
    async with serve(local) as model:
        assert model.why.startswith("Using a scripted double and no model, because m does not start: ")
        assert "no memory" in model.why
        assert model.environment({})["LLM_MODEL"] == "scripted"
    assert local.stopped.is_set()


async def test_a_script_answers_its_gateway_and_no_page_that_found_its_port():
    document = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    async with served_model({}, scripted=True) as model, aiohttp.ClientSession() as session:
        key = model.environment({})["LLM_API_KEY"]
        for headers, status in (({}, 401), ({"Authorization": f"Bearer {key}"}, 200)):
            async with session.post(f"{model.base_url}/chat/completions", json=document, headers=headers) as reply:
                assert reply.status == status


async def test_a_gateway_of_the_environment_is_asked_through_the_one_that_serves_the_demo():
    env = {"LLM_GATEWAY_URL": "http://127.0.0.1:4711", "LLM_GATEWAY_KEY": "sk-tm-mine", "LLM_API_KEY": "another's"}
    async with served_model(env) as model:
        given = model.environment(env)
    assert "LLM_GATEWAY_URL" in model.why
    assert (given["LLM_BASE_URL"], given["LLM_MODEL"]) == ("http://127.0.0.1:4711/v1", "default")
    assert given["LLM_API_KEY"] == "sk-tm-mine"
