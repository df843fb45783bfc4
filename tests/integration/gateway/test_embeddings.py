"""Embeddings through the gateway: the same queue and fallback, counted tokens, no vectors of another model."""

import json
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web

from tickmind.gateway.settings.config import Route

pytestmark = pytest.mark.asyncio
VECTORS = {
    "object": "list",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}],
    "model": "small",
    "usage": {"prompt_tokens": 4, "total_tokens": 4},
}


class Embedder:
    """A provider of embeddings; the statuses that it answers with before it answers well."""

    def __init__(self, *statuses):
        self.statuses = list(statuses)
        self.bodies = []
        self.base_url = ""

    async def answer(self, request):
        self.bodies.append(await request.json())
        if self.statuses:
            return web.json_response({"error": {"message": "not now"}}, status=self.statuses.pop(0))
        return web.json_response(VECTORS)


@asynccontextmanager
async def embedding(*providers):
    """Embedders that listen."""
    runners = []
    try:
        for provider in providers:
            app = web.Application()
            app.router.add_post("/v1/embeddings", provider.answer)
            runner = web.AppRunner(app)
            runners.append(runner)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            provider.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield
    finally:
        for runner in runners:
            await runner.cleanup()


def led_to(**embedders):
    """A change of the settings: each provider has embeddings, at its embedder; `e` is the same model everywhere."""

    def change(config):
        made = {
            name: replace(config.providers[name], base_url=embedder.base_url, surfaces=("chat", "embeddings"))
            for name, embedder in embedders.items()
        }
        routes = {
            "e": Route(tuple((name, f"{name}-maker/small") for name in made)),
            "other": Route((("one", "small"), ("two", "large"))),
        }
        return replace(config, providers=made, exact={**config.exact, **routes})

    return change


async def test_embeddings_fall_back_and_their_tokens_are_counted(housing):
    one, two = Embedder(500), Embedder()
    async with embedding(one, two), housing(one=(), two=(), change=led_to(one=one, two=two)) as house:
        reply = await house.ask("/v1/embeddings", {"model": "e", "input": ["a cave", "a lake"]})
        assert reply.status == 200
        assert reply.json == VECTORS
        assert reply.headers["x-tickmind-provider"] == "two"
        assert [body["model"] for body in (*one.bodies, *two.bodies)] == ["one-maker/small", "two-maker/small"]
        targets = {target.provider: target.sums for target in house.gateway.tally.snapshot().targets}
        assert (targets["two"].prompt_tokens, targets["two"].completion_tokens) == (4, 0)


async def test_vectors_of_another_model_are_no_fallback(housing):
    one, two = Embedder(500, 500, 500, 500), Embedder()
    async with embedding(one, two), housing(one=(), two=(), change=led_to(one=one, two=two)) as house:
        reply = await house.ask("/v1/embeddings", {"model": "other", "input": "a cave"})
        assert reply.status == 500
        assert two.bodies == []


async def test_a_request_can_not_name_an_endpoint(housing):
    """Generations may, by the operator's lists; what embeddings say of one is for their provider to refuse."""
    one, two, trap = Embedder(), Embedder(), Embedder()
    async with embedding(one, two, trap), housing(one=(), two=(), change=led_to(one=one, two=two)) as house:
        named = {"baseUrl": trap.base_url, "apiKey": "k", "model": "small"}
        for document in ({"customConfig": named}, {"base_url": trap.base_url}, {"api_base": trap.base_url}):
            reply = await house.ask("/v1/embeddings", {"model": "e", "input": "a cave", **document})
            assert reply.status == 200
        for model in (trap.base_url, f"{trap.base_url}/small", f"one@{trap.base_url}"):
            assert (await house.ask("/v1/embeddings", {"model": model, "input": "a cave"})).status in {200, 400, 404}
        assert trap.bodies == []
        assert len(one.bodies) >= 3


async def test_a_request_without_model_or_input_is_refused(housing):
    async with housing(one=()) as house:
        for document, words in (
            ({"input": "x"}, "model must name"),
            ({"model": "m", "input": []}, "input must be"),
            ({"model": "m", "input": "x", "stream": True}, "not streamed"),
        ):
            reply = await house.ask("/v1/embeddings", document)
            assert reply.status == 400
            assert words in json.dumps(reply.json)
