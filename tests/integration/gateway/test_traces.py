"""One thought is one trace: from the deliberation through the gateway to the provider, over real OTLP and HTTP."""

from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from tests.kits.otlp_receiver import receiving, said

from tickmind.adapters.telemetry import announce, tracer
from tickmind.adapters.telemetry.conventions import ATTRIBUTES, ERROR_TYPE
from tickmind.base.telemetry.tracing import TRACER, install_tracer, installed_tracer, load_tracer
from tickmind.gateway.settings.config import Route
from tickmind.llm import CallSite, GatewayClient, load_gateway_config
from tickmind.llm.testing import Refuse
from tickmind.strategy.clients.adapters import GatewayAdapter
from tickmind.strategy.clients.client import Question

SECRET_WORDS = "where is the treasure"


@pytest.fixture
def traced(monkeypatch):
    """A process that is configured by the standard variables alone, and what its receiver gets."""
    with receiving() as (received, url):
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": url}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        announce(environment)
        assert environment[TRACER] == "tickmind.adapters.telemetry:tracer"
        load_tracer("test", environment)
        try:
            yield received
        finally:
            sent().close()
            install_tracer(None)


def sent() -> Any:
    """The tracer of this process, which sends what has ended when it is flushed or closed."""
    return installed_tracer()


async def think(house, words=SECRET_WORDS):
    config = load_gateway_config(url=f"http://127.0.0.1:{house.server.port}", model="m", env={})
    client = GatewayClient(config, session="game-7")
    adapter = GatewayAdapter(client, site_of=lambda _eid: CallSite("ada", 42, "plan"))
    try:
        return await adapter.answer(Question("You are Ada.", words, entity_id=1, timeout_s=30.0))
    finally:
        await client.aclose()


@pytest.mark.asyncio
async def test_one_thought_is_one_trace_from_the_deliberation_to_the_provider(housing, traced):
    async with housing(one=["In the cave."]) as house:
        answer = await think(house)
        [seen] = house.providers["one"].seen
    sent().flush()
    assert answer.text == "In the cave."
    spans = traced.spans()
    assert [span.name for span in spans] == ["invoke_agent ada", "chat m", "gateway m", "chat m"]
    assert len({span.trace_id for span in spans}) == 1
    assert [span.parent_span_id for span in spans] == [b"", *(span.span_id for span in spans[:-1])]
    thought, request, _, attempt = map(said, spans)
    assert (thought["gen_ai.agent.id"], thought["tickmind.tick"]) == ("ada", 42)
    assert request["gen_ai.operation.name"] == "chat"
    assert attempt["gen_ai.provider.name"] == "one"
    assert attempt["gen_ai.usage.output_tokens"] > 0
    assert seen.headers["traceparent"].split("-")[1:3] == [spans[-1].trace_id.hex(), spans[-1].span_id.hex()]
    exported = b"".join(traced.bodies)
    assert SECRET_WORDS.encode() not in exported
    assert b"In the cave" not in exported
    assert b"canary" not in exported


@pytest.mark.asyncio
async def test_a_call_for_embeddings_is_no_chat(housing, traced):
    def change(config):
        one = replace(config.providers["one"], surfaces=("embeddings",))
        return replace(config, providers={"one": one}, exact={"e": Route((("one", "m"),))})

    async with housing(one=["unused"], change=change) as house, aiohttp.ClientSession() as session:
        address = f"http://127.0.0.1:{house.server.port}/v1/embeddings"
        async with session.post(address, json={"model": "e", "input": "a text"}) as response:
            await response.read()
    sent().flush()
    assert [said(span)["gen_ai.operation.name"] for span in traced.spans()] == ["embeddings", "embeddings"]
    assert [span.name for span in traced.spans()] == ["gateway e", "embeddings m"]


@pytest.mark.asyncio
async def test_a_refused_attempt_and_the_one_after_it_are_spans_of_one_call(housing, traced):
    async with housing(one=[Refuse(500)], two=["Here."]) as house:
        await think(house)
    sent().flush()
    attempts = [span for span in traced.spans() if "gen_ai.provider.name" in said(span)]
    assert [said(span)["gen_ai.provider.name"] for span in attempts] == ["one", "two"]
    assert ERROR_TYPE in said(attempts[0])
    assert ERROR_TYPE not in said(attempts[1])
    assert len({span.parent_span_id for span in attempts}) == 1


@pytest.mark.asyncio
async def test_prompts_are_exported_only_where_the_standard_variable_says_so(housing, monkeypatch):
    with receiving() as (received, url):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        environment = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": url,
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
        }
        made: Any = tracer(environment, "test")
        install_tracer(made)
        try:
            async with housing(one=["In the cave."]) as house:
                await think(house)
        finally:
            made.close()
            install_tracer(None)
        request = next(span for span in received.spans() if span.name == "chat m")
    assert SECRET_WORDS in said(request)["gen_ai.input.messages"]
    assert said(request)["gen_ai.output.messages"] == "In the cave."


def test_the_pinned_names_are_those_of_the_conventions():
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    assert {name for name in ATTRIBUTES.values() if name.startswith("gen_ai.")} <= known
