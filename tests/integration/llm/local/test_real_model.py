"""The real tiny model without our client: it keeps to our grammars, and to what it has read.

Its three wire forms, streams, objects and tools are asked through the client in test_client_with_real_model.py.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.long import short_or_long

from tickmind.llm.grammar.json_grammar import json_grammar, line_grammar
from tickmind.llm.local import LocalModel, RuntimeLadder, WeightStore
from tickmind.llm.local.server import Primed
from tickmind.llm.structured import ReplySchema, read_line

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


def said(reply: Mapping[str, Any]) -> str:
    return str(reply["choices"][0]["message"]["content"])


def chat(model: LocalModel, **more: Any) -> dict[str, Any]:
    body = {"messages": [{"role": "system", "content": SYSTEM}, QUESTION], "max_tokens": 24, "temperature": 0.0, **more}
    body.setdefault("id_slot", 0)  # the same beginning is read once
    return ask(model, "chat/completions", body)


SCHEMAS: dict[str, dict[str, Any]] = {
    "decision": {
        "type": "object",
        "properties": {
            "action": {"enum": ["flee", "fight", "hide"]},
            "courage": {"type": "integer", "minimum": -3, "maximum": 12},
            "chance": {"type": "number", "minimum": 0, "maximum": 1},
            "say": {"type": "string", "minLength": 1, "maxLength": 8},
            "loud": {"type": "boolean"},
            "to": {"type": ["string", "null"], "maxLength": 5},
            "items": {"type": "array", "items": {"type": "string", "maxLength": 4}, "maxItems": 2},
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


# A hot model strays furthest, so every schema meets it. The client's tests hold a cold one to a schema of all types.
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_grammar_holds_a_hot_model_to_its_schema(model: LocalModel, name: str) -> None:
    jsonschema.validate(json.loads(held_to(model, name, 1.5)), SCHEMAS[name])


@pytest.mark.parametrize("name", short_or_long(["optional"], ["optional", "decision"]))
def test_a_grammar_holds_a_cold_model_to_its_schema_and_spends_nothing_on_whitespace(
    model: LocalModel, name: str
) -> None:
    text = held_to(model, name, 0.0)
    jsonschema.validate(json.loads(text), SCHEMAS[name])
    assert text == json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("temperature", short_or_long([1.5], [0.0, 1.5]))
def test_a_line_grammar_holds_the_model_to_one_line(model: LocalModel, temperature: float) -> None:
    text = {"type": "string", "maxLength": 30}
    schema = {"type": "object", "properties": {"goal": {"enum": ["flee", "fight"]}, "who": text, "say": text}}
    form = ReplySchema.of({**schema, "required": ["goal", "who", "say"]})
    grammar = line_grammar(schema, separator=" | ", least=1)
    reply = said(chat(model, grammar=grammar, temperature=temperature, max_tokens=60, seed=3))
    assert reply.split(" | ")[0] in ("flee", "fight")
    assert set(read_line(reply, form).data) == {"goal", "who", "say"}


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
