"""Ordinary models get strict decoding, and one refused form does not loosen the others."""

import json
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from tickmind.base import ManualClock
from tickmind.llm import CallConfig, LLMResponseError, ModelClient, ModelConfig, ModelReply, ReplySchema, merge_config
from tickmind.llm.structured.json_schema import SchemaChecker
from tickmind.llm.structured.strict_schema import OPENAI_HOST, strict_schema
from tickmind.llm.testing import ScriptedTransport
from tickmind.llm.transport import ModelRequest, OutputSpec
from tickmind.llm.transports.anthropic import AnthropicForm
from tickmind.llm.transports.chat import ChatForm
from tickmind.llm.transports.responses import ResponsesForm

CONFIG = ModelConfig(base_url="http://127.0.0.1:9/v1", model="double")


class Mood(Enum):
    CALM = "calm"
    TENSE = "tense"


class Step(BaseModel):
    place: str
    wait_s: float = 1.5


class Plan(BaseModel):
    """What to do next."""

    goal: str = Field(min_length=1, max_length=80)
    mood: Mood = Mood.CALM
    target: str | None = None
    count: int = 3
    tags: list[str] = ["plain"]
    first: Step = Step(place="home")
    steps: list[Step] = []


class Walk(BaseModel):
    kind: Literal["walk"]
    speed: int = 2


class Rest(BaseModel):
    kind: Literal["rest"]


class Choice(BaseModel):
    act: Walk | Rest


def request_for(source: type[BaseModel]) -> ModelRequest:
    output = OutputSpec(ReplySchema.of(source).json_schema(), optional_as_null=True)
    return ModelRequest("m", (), output=output)


def objects_in(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [found for item in schema for found in objects_in(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if "properties" in schema else []
    return own + [found for item in schema.values() for found in objects_in(item)]


@pytest.mark.parametrize("source", [Plan, Step, Choice])
def test_an_ordinary_model_gets_strict_decoding(source: type[BaseModel]) -> None:
    request = request_for(source)
    chat = ChatForm().encode(request, stream=False)["response_format"]["json_schema"]
    responses = ResponsesForm().encode(request, stream=False)["text"]["format"]
    assert chat["strict"] is responses["strict"] is True
    assert chat["schema"] == responses["schema"]
    found = objects_in(chat["schema"])
    assert found
    for part in found:
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])
    text = json.dumps(chat["schema"])
    assert not any(
        f'"{keyword}"' in text for keyword in ("default", "minLength", "maxLength", "oneOf", "allOf", "title")
    )


def test_a_property_with_a_default_may_be_null_and_null_means_the_default() -> None:
    schema = strict_schema(ReplySchema.of(Plan).json_schema(), optional_as_null=True)
    assert schema is not None
    nothing = {"mood": None, "target": None, "count": None, "tags": None, "first": None, "steps": None}
    reply = {"goal": "eat", **nothing}
    assert SchemaChecker(schema).problems(reply) == []


@pytest.mark.asyncio
async def test_the_defaults_come_back_for_what_a_strict_reply_leaves_null() -> None:
    nulls = {"mood": None, "target": None, "count": None, "tags": None, "first": None}
    reply = {"goal": "eat", **nulls, "steps": [{"place": "mill", "wait_s": None}]}
    asking = ModelClient(CONFIG, ScriptedTransport([json.dumps(reply)]))
    result = await asking.complete_structured("?", Plan)
    assert result.value == Plan(goal="eat", steps=[Step(place="mill")])
    assert (result.attempts, result.value.count, result.value.tags) == (1, 3, ["plain"])


@pytest.mark.parametrize("form", [ChatForm, ResponsesForm])
@pytest.mark.parametrize(("host", "kept"), [(OPENAI_HOST, False), ("127.0.0.1", True)])
def test_endpoints_that_know_lengths_of_texts_are_held_to_them(form: Any, host: str, kept: bool) -> None:
    text = {"type": "string", "maxLength": 40}
    schema = {"type": "object", "properties": {"say": text}, "required": ["say"]}
    body = form(host=host).encode(ModelRequest("m", (), output=OutputSpec(schema)), stream=False)
    sent = body["text"]["format"] if form is ResponsesForm else body["response_format"]["json_schema"]
    assert (sent["schema"]["properties"]["say"] == text, sent["strict"]) == (kept, True)


@pytest.mark.parametrize(
    ("model", "strict"),
    [
        ("claude-sonnet-4-5-20250929", True),
        ("anthropic/claude-opus-5", True),
        ("claude-sonnet-4-20250514", False),
        ("claude-3-5-sonnet-20241022", False),
        ("local", False),
    ],
)
def test_models_of_anthropic_that_can_be_held_to_a_tool_are(model: str, strict: bool) -> None:
    output = OutputSpec({"type": "object", "properties": {"mood": {"type": "string"}}}, optional_as_null=True)
    (tool,) = AnthropicForm().encode(ModelRequest(model, (), output=output), stream=False)["tools"]
    assert tool.get("strict", False) is strict
    assert tool["input_schema"].get("additionalProperties", True) is not strict


def test_variants_of_a_union_must_say_all_that_they_have() -> None:
    schema = strict_schema(ReplySchema.of(Choice).json_schema(), optional_as_null=True)
    assert schema is not None
    [walk] = [part for part in objects_in(schema) if "speed" in part["properties"]]
    assert walk["properties"]["speed"] == {"type": "integer"}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {},
        True,
        {"type": "array"},
        {"type": "array", "prefixItems": [{"type": "string"}]},
        {"not": {"type": "string"}},
        {"enum": [["a"]]},
    ],
)
def test_a_schema_without_a_strict_form_is_sent_as_it_is(part: Any) -> None:
    schema = {"type": "object", "properties": {"x": part}, "required": ["x"]}
    request = ModelRequest("m", (), output=OutputSpec(schema, optional_as_null=True))
    form = ChatForm().encode(request, stream=False)["response_format"]["json_schema"]
    assert (form["schema"], form["strict"]) == (schema, False)


def test_a_caller_who_reads_the_reply_alone_gets_no_nulls() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    form = ChatForm().encode(ModelRequest("m", (), output=OutputSpec(schema)), stream=False)["response_format"]
    assert form["json_schema"]["strict"] is False


@pytest.mark.asyncio
async def test_one_refused_form_leaves_the_others_held() -> None:
    replies: list[str | Exception] = [
        LLMResponseError("no such form", status=400),
        '{"place": "a"}',
        '{"goal": "b"}',
        '{"place": "c"}',
    ]
    transport = ScriptedTransport(replies)
    asking = ModelClient(CONFIG, transport)
    await asking.complete_structured("?", Step)
    await asking.complete_structured("?", Plan)
    await asking.complete_structured("?", Step)
    assert [request.output is not None for request in transport.requests] == [True, False, True, False]


@pytest.mark.asyncio
@pytest.mark.parametrize("streaming", [False, True])
async def test_a_refused_attempt_is_charged_to_the_timeout(streaming: bool) -> None:
    clock = ManualClock()

    def refuse_slowly(request: ModelRequest) -> ModelReply | Exception:
        clock.advance(4.0)
        return LLMResponseError("no", status=400) if request.output else ModelReply('{"place": "a"}', "stop")

    transport = ScriptedTransport(refuse_slowly)
    asking = ModelClient(CONFIG, transport, clock=clock)
    call = CallConfig(timeout_s=10.0)
    if streaming:
        async with asking.stream_structured("?", Step, call) as stream:
            await stream.result
    else:
        await asking.complete_structured("?", Step, call)
    assert [call.timeout_s for call in transport.calls] == [10.0, 6.0]


@pytest.mark.parametrize(
    ("api", "temperature", "attempts"),
    [("chat", 1.95, [1.95, 2.0, 2.0]), ("anthropic", 0.95, [0.95, 1.0, 1.0]), ("chat", 0.5, [0.5, 0.6, 0.7])],
)
def test_retries_stay_within_the_temperature_that_the_endpoint_takes(
    api: Any, temperature: float, attempts: list[float]
) -> None:
    config = ModelConfig(base_url="http://127.0.0.1:9/v1", model="m", api=api)
    call = merge_config(config, CallConfig(temperature=temperature))
    assert [call.temperature_for(number) for number in (1, 2, 3)] == pytest.approx(attempts)
