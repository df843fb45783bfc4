"""The real tiny model, asked for real: its server speaks three wire forms, streams, and keeps to our grammars."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tickmind.llm.grammar import json_grammar, line_grammar, tool_union_schema
from tickmind.llm.local import LocalModel, RuntimeLadder, WeightStore
from tickmind.llm.local.server import Primed
from tickmind.llm.structured import ReplySchema, read_line
from tickmind.llm.transport import ToolSpec

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
NAME = "smollm2-135m"
SYSTEM = "You are Anna, the smith of a small village. You like iron and fire, and you fear dragons."
QUESTION = {"role": "user", "content": "A dragon lands in front of your door. What do you do?"}


def ask(model: LocalModel, path: str, body: Mapping[str, Any], **headers: str) -> dict[str, Any]:
    config = model.model_config()
    sent = headers or {"Authorization": f"Bearer {config.api_key.reveal()}"}
    data = json.dumps({"model": config.model, **body}).encode()
    request = urllib.request.Request(f"{config.base_url}/{path}", data, {"Content-Type": "application/json", **sent})
    with urllib.request.urlopen(request, timeout=120) as reply:
        decoded: dict[str, Any] = json.loads(reply.read())
        return decoded


def stream(model: LocalModel, path: str, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    config = model.model_config()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {config.api_key.reveal()}"}
    data = json.dumps({"model": config.model, "stream": True, **body}).encode()
    request = urllib.request.Request(f"{config.base_url}/{path}", data, headers)
    with urllib.request.urlopen(request, timeout=120) as reply:
        lines = [line for line in reply if line.startswith(b"data: ") and line.strip() != b"data: [DONE]"]
    return [json.loads(line[6:]) for line in lines]


def said(reply: Mapping[str, Any]) -> str:
    return str(reply["choices"][0]["message"]["content"])


def chat(model: LocalModel, **more: Any) -> dict[str, Any]:
    body = {"messages": [{"role": "system", "content": SYSTEM}, QUESTION], "max_tokens": 24, "temperature": 0.0, **more}
    body.setdefault("id_slot", 0)  # the same beginning is read once
    return ask(model, "chat/completions", body)


def test_chat_completions_answer_and_count(model: LocalModel) -> None:
    reply = chat(model)
    assert said(reply)
    assert reply["model"] == NAME
    assert reply["choices"][0]["finish_reason"] in ("stop", "length")
    assert reply["usage"]["prompt_tokens"] > 25


def test_responses_answer_and_count(model: LocalModel) -> None:
    reply = ask(model, "responses", {"input": QUESTION["content"], "instructions": SYSTEM, "max_output_tokens": 16})
    assert reply["output"][0]["content"][0]["text"]
    assert reply["usage"]["input_tokens"] > 25


def test_anthropic_messages_answer_and_count(model: LocalModel) -> None:
    body = {"system": SYSTEM, "messages": [QUESTION], "max_tokens": 16}
    key = model.model_config().api_key.reveal()
    reply = ask(model, "messages", body, **{"x-api-key": key, "anthropic-version": "2023-06-01"})
    assert reply["content"][0]["text"]
    assert reply["stop_reason"] in ("end_turn", "max_tokens")
    assert reply["usage"]["output_tokens"] <= 16


def test_chat_completions_stream_in_many_pieces(model: LocalModel) -> None:
    body = {"messages": [QUESTION], "max_tokens": 16, "stream_options": {"include_usage": True}}
    events = stream(model, "chat/completions", body)
    pieces = [event["choices"][0]["delta"].get("content") for event in events if event["choices"]]
    assert len([piece for piece in pieces if piece]) > 3
    assert [event for event in events if event.get("usage")]


def test_responses_stream_in_many_pieces(model: LocalModel) -> None:
    events = stream(model, "responses", {"input": QUESTION["content"], "max_output_tokens": 16})
    kinds = [event["type"] for event in events]
    assert kinds.count("response.output_text.delta") > 3
    assert kinds[-1] == "response.completed"


def test_anthropic_messages_stream_in_many_pieces(model: LocalModel) -> None:
    kinds = [event["type"] for event in stream(model, "messages", {"messages": [QUESTION], "max_tokens": 16})]
    assert kinds[0] == "message_start"
    assert kinds.count("content_block_delta") > 3
    assert kinds[-1] == "message_stop"


SCHEMAS: dict[str, dict[str, Any]] = {
    "decision": {
        "type": "object",
        "properties": {
            "action": {"enum": ["flee", "fight", "hide"]},
            "courage": {"type": "integer", "minimum": -3, "maximum": 12},
            "chance": {"type": "number", "minimum": 0, "maximum": 1},
            "say": {"type": "string", "minLength": 1, "maxLength": 12},
            "loud": {"type": "boolean"},
            "to": {"type": ["string", "null"], "maxLength": 10},
            "items": {"type": "array", "items": {"type": "string", "maxLength": 8}, "maxItems": 3},
        },
        "required": ["action", "courage", "chance", "say", "loud", "to", "items"],
        "additionalProperties": False,
    },
    "optional": {
        "type": "object",
        "properties": {name: {"type": "integer", "minimum": 0, "maximum": 9} for name in ('a"\\', "é龍", "c")},
        "required": ["é龍"],
        "additionalProperties": False,
    },
    "references": {
        "$defs": {"Step": {"type": "object", "properties": {"dx": {"enum": [-1, 0, 1]}}, "required": ["dx"]}},
        "type": "array",
        "items": {"$ref": "#/$defs/Step"},
        "minItems": 2,
        "maxItems": 4,
    },
    "map": {"type": "object", "additionalProperties": {"type": "number"}, "minProperties": 1, "maxProperties": 2},
    "anything": {},
    "tuple": {"type": "array", "prefixItems": [{"type": "null"}, {"const": {"k": "v w"}}], "items": False},
}


def held_to(model: LocalModel, name: str, temperature: float) -> str:
    reply = chat(model, grammar=json_grammar(SCHEMAS[name]), max_tokens=400, temperature=temperature, seed=5)
    assert reply["choices"][0]["finish_reason"] == "stop"
    return said(reply)


# A hot model strays furthest, so every schema meets it; one of all types shows that a cold one is held as well.
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_grammar_holds_a_hot_model_to_its_schema(model: LocalModel, name: str) -> None:
    jsonschema.validate(json.loads(held_to(model, name, 1.5)), SCHEMAS[name])


def test_a_grammar_holds_a_cold_model_to_its_schema_and_spends_nothing_on_whitespace(model: LocalModel) -> None:
    text = held_to(model, "decision", 0.0)
    jsonschema.validate(json.loads(text), SCHEMAS["decision"])
    assert text == json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("temperature", [0.0, 1.5])
def test_a_line_grammar_holds_the_model_to_one_line(model: LocalModel, temperature: float) -> None:
    text = {"type": "string", "maxLength": 30}
    schema = {"type": "object", "properties": {"goal": {"enum": ["flee", "fight"]}, "who": text, "say": text}}
    form = ReplySchema.of({**schema, "required": ["goal", "who", "say"]})
    grammar = line_grammar(schema, separator=" | ", least=1)
    reply = said(chat(model, grammar=grammar, temperature=temperature, max_tokens=60, seed=3))
    assert reply.split(" | ")[0] in ("flee", "fight")
    assert set(read_line(reply, form).data) == {"goal", "who", "say"}


def test_responses_take_the_grammar_too(model: LocalModel) -> None:
    body = {"input": QUESTION["content"], "max_output_tokens": 100, "grammar": json_grammar(SCHEMAS["tuple"])}
    text = ask(model, "responses", body)["output"][0]["content"][0]["text"]
    jsonschema.validate(json.loads(text), SCHEMAS["tuple"])


def test_tools_are_called_through_a_union_of_schemas(model: LocalModel) -> None:
    place = {"type": "object", "properties": {"dx": {"enum": [-1, 0, 1]}}, "required": ["dx"]}
    speech = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 30}}, "required": ["text"]}
    schema = tool_union_schema((ToolSpec("move", "Go", place), ToolSpec("say", "Speak", speech)))
    called = json.loads(said(chat(model, grammar=json_grammar(schema), max_tokens=100)))
    jsonschema.validate(called, schema)
    assert called["tool"] in ("move", "say")


def test_a_schema_through_the_standard_field_works_as_well(model: LocalModel) -> None:
    wanted = {"name": "reply", "strict": True, "schema": SCHEMAS["references"]}
    reply = chat(model, response_format={"type": "json_schema", "json_schema": wanted}, max_tokens=200)
    jsonschema.validate(json.loads(said(reply)), SCHEMAS["references"])


def assert_read_before(reply: Mapping[str, Any], primed: Primed) -> None:
    """All that was primed but the frame of the reply was there, and so only the question was left to read."""
    cached = reply["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert cached >= primed.prompt_tokens - 8
    assert reply["usage"]["prompt_tokens"] - cached < 30


def test_a_primed_character_reads_its_prompt_only_once(model: LocalModel) -> None:
    text = SYSTEM.replace("Anna", "Bertha")
    model.slot_for("first")
    primed = model.prime("bertha", [{"role": "system", "content": text}])
    messages = [{"role": "system", "content": text}, QUESTION]
    reply = ask(model, "chat/completions", {"messages": messages, "max_tokens": 1, **model.extra_for("bertha")})
    assert primed.slot == model.slot_for("bertha") == 1
    assert_read_before(reply, primed)


@pytest.mark.usefixtures("model")
def test_what_was_read_once_is_there_at_the_next_start(tmp_path: Path) -> None:
    weights, text = WeightStore().resolve(NAME), SYSTEM.replace("Anna", "Clara")
    opening, question = {"role": "system", "content": text}, QUESTION
    runtime = RuntimeLadder(WeightStore().cache).choose(weights)
    for start in range(2):
        with LocalModel(weights, context=2048, threads=1, store=WeightStore(tmp_path), runtime=runtime) as again:
            primed = again.prime("clara", [opening], keep=True)
            assert (primed.cached_tokens >= primed.prompt_tokens - 1) == bool(start)
            reply = ask(again, "chat/completions", {"messages": [opening, question], "max_tokens": 1})
            assert_read_before(reply, primed)


def test_strangers_are_turned_away(model: LocalModel) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(model, "chat/completions", {"messages": [QUESTION]}, Authorization="Bearer guessed")
    assert caught.value.code == 401
    caught.value.close()


def test_a_prompt_that_is_too_long_says_so(model: LocalModel) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(model, "chat/completions", {"messages": [{"role": "user", "content": "iron " * 3000}], "max_tokens": 4})
    assert caught.value.code == 400
    assert b"exceed_context_size_error" in caught.value.read()
    caught.value.close()


def test_the_log_tail_holds_no_prompt(model: LocalModel) -> None:
    chat(model, max_tokens=1)
    assert model.log_tail
    assert "blacksmith" not in model.log_tail
    assert "dragon" not in model.log_tail


def test_two_models_run_side_by_side(model: LocalModel) -> None:
    with LocalModel(NAME, context=512) as second:
        assert second.base_url != model.base_url
        assert said(ask(second, "chat/completions", {"messages": [QUESTION], "max_tokens": 2}))
