"""The model that a program gets without being told which."""

from pathlib import Path

import pytest

from tickmind.llm import CallConfig, GatewayClient, Message, ModelConfig, OutputSpec, UsageMeter
from tickmind.llm.local import ModelKind, WeightStore
from tickmind.llm.local.default_model import local_choice, open_default_model, scripted_choice
from tickmind.llm.messages import ToolCall
from tickmind.llm.scripted import stand_in_reply
from tickmind.llm.testing import FakeProvider
from tickmind.llm.transport import ModelRequest, ToolSpec
from tickmind.tools import ToolAgent, tool

pytestmark = pytest.mark.asyncio
NOTHING = {"PATH": "/nowhere"}  # no endpoint, no llama-server


@pytest.fixture(autouse=True)
def _no_dotenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> WeightStore:
    return WeightStore(tmp_path / "cache")


async def test_an_endpoint_of_the_environment_is_used_and_named(store):
    async with FakeProvider(["Hello."]) as server:
        env = {**NOTHING, "LLM_BASE_URL": server.base_url, "LLM_MODEL": "fake-1"}
        async with open_default_model(env=env, store=store) as model:
            assert model.choice.kind is ModelKind.ENDPOINT
            assert "fake-1" in model.choice.why
            assert (await model.client.complete("Hi")).content == "Hello."
            assert model.extra_for("ash") == {}
            model.release("ash")


async def test_a_gateway_of_the_environment_goes_before_an_endpoint_and_gets_no_providers_key(store):
    async with FakeProvider(["Hello."]) as server:
        env = {**NOTHING, "LLM_GATEWAY_URL": server.origin, "LLM_BASE_URL": "http://127.0.0.1:1/v1", "LLM_MODEL": "npc"}
        env |= {"LLM_API_KEY": "k-123456"}
        async with open_default_model(env=env, store=store) as model:
            assert model.choice.kind is ModelKind.GATEWAY
            assert "LLM_GATEWAY_URL" in model.choice.why
            assert isinstance(model.client, GatewayClient)
            assert (await model.client.complete("Hi")).content == "Hello."
        assert "k-123456" not in server.seen_keys


async def test_what_a_gateway_says_is_recorded_and_played_back(store, tmp_path):
    async with FakeProvider(["Hello."]) as server:
        env = {**NOTHING, "LLM_GATEWAY_URL": server.origin, "LLM_MODEL": "npc"}
        async with open_default_model(env=env, store=store, cassette=tmp_path / "said") as model:
            assert (await model.client.complete("Hi")).content == "Hello."
    async with open_default_model(env=NOTHING, store=store, cassette=tmp_path / "said") as model:
        assert (await model.client.complete("Hi")).content == "Hello."


async def test_a_dotenv_file_counts_as_the_environment(store, tmp_path):
    async with FakeProvider(["Hello."]) as server:
        (tmp_path / ".env").write_text(f"LLM_BASE_URL={server.base_url}\n")
        async with open_default_model(env=NOTHING, store=store) as model:
            assert model.choice.kind is ModelKind.ENDPOINT


async def test_a_key_alone_means_the_default_endpoint(store):
    async with open_default_model(env={**NOTHING, "LLM_API_KEY": "k-123456"}, store=store) as model:
        assert model.client.config.host == "api.openai.com"
        assert "LLM_API_KEY is set" in model.choice.why


async def test_a_key_and_an_api_mean_that_apis_endpoint(store):
    env = {**NOTHING, "LLM_API_KEY": "k-123456", "LLM_API": "anthropic"}
    async with open_default_model(env=env, store=store) as model:
        assert model.client.config.host == "api.anthropic.com"
        assert "api.anthropic.com" in model.choice.why


async def test_a_providers_own_key_is_no_wish_to_spend(store):
    async with open_default_model(env={**NOTHING, "OPENAI_API_KEY": "k-123456"}, store=store) as model:
        assert model.choice.kind is ModelKind.SCRIPTED


async def test_without_anything_the_double_says_that_it_is_one(store):
    meter = UsageMeter()
    async with open_default_model(env=NOTHING, store=store, meter=meter) as model:
        assert "no model" in model.choice.why
        reply = await model.client.complete("What is your name?")
    assert "scripted" in reply.content
    assert "What is your name?" in reply.content
    assert meter.statistics().calls == 1


async def test_a_config_is_used_as_it_is():
    async with (
        FakeProvider(["Hello."]) as server,
        open_default_model(ModelConfig(base_url=server.base_url, model="fake-1")) as model,
    ):
        assert model.choice.why == "Using fake-1 at 127.0.0.1, as asked."
        assert (await model.client.complete("Hi")).content == "Hello."


async def test_the_doubles_script_can_be_given():
    async with open_default_model(scripted_choice(), script=["one", "two"]) as model:
        assert [(await model.client.complete("Hi")).content for _ in range(2)] == ["one", "two"]


async def test_known_tiny_weights_are_called_tiny(store):
    assert local_choice("smollm2-135m", store=store).kind is ModelKind.LOCAL_TINY
    assert local_choice("qwen2.5-coder-1.5b", store=store).kind is ModelKind.LOCAL
    assert local_choice("/models/any.gguf", store=store).weights == "/models/any.gguf"


async def test_what_was_recorded_is_played_without_any_model(tmp_path):
    file = tmp_path / "calls.jsonl"
    async with open_default_model(scripted_choice(), script=["recorded"], cassette=file) as model:
        await model.client.complete("Hi", CallConfig(temperature=0.0))
    async with open_default_model(cassette=file) as model:
        assert model.choice.kind is ModelKind.CASSETTE
        assert not model.choice.is_real
        assert (await model.client.complete("Hi", CallConfig(temperature=0.0))).content == "recorded"


# What stands in for a model


@tool(inline=True)
def look() -> str:
    """Look around."""
    return "a meadow"


@tool(inline=True)
def walk(direction: str) -> str:
    """Walk a step."""
    return direction


async def test_the_double_uses_simple_tools_once_and_ends_the_run():
    async with open_default_model(scripted_choice()) as model:
        agent = ToolAgent(model.client, [walk, look])
        first = await agent.invoke("Where are you?")
        second = await agent.invoke("And now?")
    assert [entry.name for entry in first.tool_trace] == ["look"]
    assert "look: a meadow" in first.text
    assert (first.ok, second.ok, second.steps) == (True, True, 2)


async def test_the_double_makes_arguments_up_where_it_must():
    async with open_default_model(scripted_choice()) as model:
        result = await ToolAgent(model.client, [walk]).invoke("Walk!")
    assert [entry.ok for entry in result.tool_trace] == [True]


def _request(**fields: object) -> ModelRequest:
    return ModelRequest("scripted", (Message.user("Hi"),), **fields)  # type: ignore[arg-type]  # fields of the test's choice


async def test_the_double_gives_the_same_object_for_the_same_request():
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    request = _request(output=OutputSpec(schema))
    assert stand_in_reply(request) == stand_in_reply(request)
    assert stand_in_reply(request).content.startswith('{"age":')


async def test_the_double_does_not_call_where_it_may_not():
    spec = ToolSpec("look", "Look around", {"type": "object", "properties": {}})
    assert stand_in_reply(_request(tools=(spec,))).tool_calls == (ToolCall("call_1", "look", "{}"),)
    assert stand_in_reply(_request(tools=(spec,), tool_choice="none")).tool_calls == ()
