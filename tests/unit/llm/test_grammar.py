"""Grammars: whatever they allow is compact JSON that is valid for the schema.

The checks read the grammar's text with a small reader of their own and draw random sentences from it.
"""

import json
import random
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.base import LimitExceededError
from tickmind.llm import GrammarLimits
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.grammar.digits import whole_numbers
from tickmind.llm.grammar.json_grammar import json_grammar, line_grammar, tool_union_schema
from tickmind.llm.structured import ReplySchema, read_line
from tickmind.llm.structured.line_form import least_values
from tickmind.llm.transport import ToolSpec

Draw = Callable[[random.Random], str]
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|\{\d+(?:,\d+)?\}|[()|?]|[a-zA-Z0-9]+')
ESCAPES = {"n": "\n", "r": "\r", '"': '"', "\\": "\\"}


class Reader:
    """Reads the part of GBNF that we write, and draws sentences."""

    def __init__(self, text: str) -> None:
        self.rules: dict[str, Draw] = {}
        for line in text.split("\n"):
            name, body = line.split(" ::= ", 1)
            self.tokens, self.at = TOKEN.findall(body), 0
            assert "".join(self.tokens) == "".join(re.findall(TOKEN, body))
            assert name not in self.rules
            self.rules[name] = self.choice()
            assert self.at == len(self.tokens), f"left over in {line!r}"

    def draw(self, rng: random.Random) -> str:
        return self.rules["root"](rng)

    def named(self, name: str, rng: random.Random) -> str:
        return self.rules[name](rng)

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        self.at += 1
        return str(self.tokens[self.at - 1])

    def choice(self) -> Draw:
        options = [self.sequence()]
        while self.peek() == "|":
            self.take()
            options.append(self.sequence())
        return lambda rng: rng.choice(options)(rng)

    def sequence(self) -> Draw:
        items = []
        while self.peek() and self.peek() not in ("|", ")"):
            items.append(self.repeated(self.atom()))
        assert items, "an empty sequence"
        return lambda rng: "".join(item(rng) for item in items)

    def repeated(self, item: Draw) -> Draw:
        if self.peek() == "?":
            least, most = 0, 1
        elif self.peek().startswith("{"):
            numbers = self.peek().strip("{}").split(",")
            least, most = int(numbers[0]), int(numbers[-1])
        else:
            return item
        self.take()
        return lambda rng: "".join(item(rng) for _ in range(rng.choice([least, most, rng.randint(least, most)])))

    def atom(self) -> Draw:
        token = self.take()
        if token == "(":
            inner = self.choice()
            assert self.take() == ")"
            return inner
        if token.startswith('"'):
            text = re.sub(r"\\(.)", lambda match: ESCAPES[match[1]], token[1:-1])
            return lambda _rng: text
        if token.startswith("[^"):
            return lambda rng: rng.choice("az09 ,:{}[]'/é龍🐉\u2028")
        if token.startswith("["):
            body = token[1:-1].replace("\\\\", "\\").replace('\\"', '"')
            letters = re.sub(
                r"(\d)-(\d)", lambda match: "".join(map(str, range(int(match[1]), int(match[2]) + 1))), body
            )
            return lambda rng: rng.choice(letters)
        return partial(self.named, token)


def samples(schema: Mapping[str, Any], count: int = 60, **limits: int) -> list[Any]:
    """Draw replies, check each against the schema, and give them back."""
    reader, rng = Reader(json_grammar(schema, limits=GrammarLimits(**limits))), random.Random(7)
    validator = jsonschema.Draft202012Validator(dict(schema))
    drawn = []
    for _ in range(count):
        text = reader.draw(rng)
        value = json.loads(text, parse_constant=pytest.fail)
        validator.validate(value)
        drawn.append(value)
    return drawn


def obj(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required or properties),
        "additionalProperties": False,
    }


ANY_SCHEMA = st.recursive(
    st.one_of(
        st.builds(
            lambda least, more: {"type": "string", "minLength": least, "maxLength": least + more},
            st.integers(0, 5),
            st.integers(0, 12),
        ),
        st.builds(lambda a, b: {"type": "integer", "minimum": min(a, b), "maximum": max(a, b)}, *[st.integers()] * 2),
        st.builds(
            lambda a, b: {"type": "number", "minimum": min(a, b), "maximum": max(a, b)}, *[st.integers(-2000, 2000)] * 2
        ),
        st.builds(lambda values: {"enum": values}, st.lists(st.text(max_size=6), min_size=1, max_size=4, unique=True)),
        st.sampled_from(
            [{"type": "boolean"}, {"type": "null"}, {"type": ["string", "null"]}, {"const": {"a": [1, "x"]}}]
        ),
    ),
    lambda inner: st.one_of(
        st.builds(
            lambda item, least, more: {"type": "array", "items": item, "minItems": least, "maxItems": least + more},
            inner,
            st.integers(0, 2),
            st.integers(0, 2),
        ),
        st.builds(
            lambda properties, needed: {
                "type": "object",
                "properties": properties,
                "required": [name for name, wanted in zip(properties, needed, strict=False) if wanted],
                "additionalProperties": False,
            },
            st.dictionaries(st.text(max_size=5), inner, max_size=4),
            st.lists(st.booleans(), min_size=4, max_size=4),
        ),
        st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=6,
)


@given(ANY_SCHEMA)
@settings(max_examples=short_or_long(50, 100))
def test_every_sentence_of_any_schema_is_valid(schema: dict[str, Any]) -> None:
    samples(schema, count=6)


def test_nothing_is_spent_on_whitespace() -> None:
    schema = obj({"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "boolean"}}})
    reader, rng = Reader(json_grammar(schema)), random.Random(1)
    assert not any(" " in reader.draw(rng) or "\n" in reader.draw(rng) for _ in range(50))


def test_strings_without_a_length_are_bounded() -> None:
    assert max(len(text) for text in samples({"type": "string"}, string_chars=20)) == 20


def test_lists_without_a_length_are_bounded() -> None:
    lengths = {len(value) for value in samples({"type": "array", "items": {"type": "null"}}, array_items=3)}
    assert lengths == {0, 1, 2, 3}


def test_required_and_optional_properties_in_every_mix() -> None:
    for required in (["a"], ["b"], ["c"], ["a", "c"], []):
        schema = {**obj({name: {"type": "null"} for name in "abc"}), "required": required}
        seen = {"".join(value) for value in samples(schema, count=200)}
        assert len(seen) == 2 ** (3 - len(required))


def test_free_keys_are_bounded() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 3}
    assert {len(value) for value in samples(schema, count=100)} <= {0, 1, 2, 3}
    assert samples({"type": "object"})[0] == {}


def test_references_are_followed_even_to_themselves() -> None:
    mood, tree = {"$ref": "#/$defs/Mood"}, {"$ref": "#/$defs/Tree"}
    schema = {
        "$defs": {
            "Mood": {"enum": ["calm", "angry"]},
            "Tree": obj({"left": {"anyOf": [tree, {"type": "null"}]}}),
        },
        **obj({"mood": mood, "again": {"allOf": [mood]}, "tree": tree}),
    }
    samples(schema, count=30)


def test_tuples_have_their_own_kinds() -> None:
    schema = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}], "items": False}
    assert all(len(value) == 2 for value in samples(schema))


def test_exclusive_bounds_are_kept() -> None:
    whole = {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 3}
    assert set(samples(whole)) == {1, 2}
    drawn = samples({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})
    assert min(drawn) < 0.2
    assert max(drawn) > 0.8


@given(st.decimals(-30, 30, places=2), st.decimals(0, 20, places=2))
@settings(max_examples=short_or_long(50, 100))
def test_bounds_of_fractions_are_kept(low: Decimal, span: Decimal) -> None:
    samples({"type": "number", "minimum": float(low), "maximum": float(low + span)}, count=8)


def test_a_probability_can_be_any() -> None:
    drawn = samples({"type": "number", "minimum": 0, "maximum": 1}, count=200)
    assert {0, 1} < set(drawn)
    assert any(0.1 < value < 0.9 for value in drawn)


def test_quotes_and_backslashes_in_names_survive() -> None:
    schema = obj({'a"b\\c\nd': {"enum": ['x"\\\n', "é"]}})
    assert {next(iter(value.values())) for value in samples(schema)} == {'x"\\\n', "é"}


def test_an_open_schema_gives_a_scalar() -> None:
    assert not any(isinstance(value, dict | list) for value in samples({}))


def test_one_schema_covers_all_tools() -> None:
    tools = (
        ToolSpec("move", "Go somewhere", obj({"dx": {"type": "integer", "minimum": -1, "maximum": 1}})),
        ToolSpec("say", "Speak", {"properties": {"text": {"type": "string", "maxLength": 10}}, "required": ["text"]}),
    )
    drawn = samples(tool_union_schema(tools, reply=True))
    assert {value.get("tool", "reply") for value in drawn} == {"move", "say", "reply"}
    assert tool_union_schema(tools[:1])["properties"]["tool"] == {"const": "move"}


def test_references_inside_a_tool_still_lead_somewhere() -> None:
    step = {"type": "object", "properties": {"dx": {"enum": [-1, 1]}, "next": {"$ref": "#/$defs/End"}}}
    path = {
        "properties": {"first": {"$ref": "#/$defs/Step"}},
        "required": ["first"],
        "$defs": {"Step": {**step, "required": ["dx", "next"]}, "End": {"enum": ["here", "there"]}},
    }
    tools = (ToolSpec("walk", "Go", path), ToolSpec("stop", "Stay", obj({})))
    schema = tool_union_schema(tools, reply={"$ref": "#/$defs/Mood", "$defs": {"Mood": {"enum": ["glad", "sad"]}}})
    drawn = samples(schema)
    assert {value.get("tool", "reply") for value in drawn} == {"walk", "stop", "reply"}
    ends = {value["arguments"]["first"]["next"] for value in drawn if value.get("tool") == "walk"}
    assert ends == {"here", "there"}
    assert {value["reply"] for value in drawn if "reply" in value} == {"glad", "sad"}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"not": {"type": "string"}}, "not"),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, "allOf"),
        ({"$ref": "https://example.org/x.json"}, "leads out of the JSON schema"),
        ({"$ref": "#/$defs/gone"}, "has no"),
        ({"$ref": "#"}, "itself"),
        ({"type": "date"}, "not a type"),
        ({"enum": []}, "is empty"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "no whole number"),
        ({"type": "number", "minimum": 0.00001, "maximum": 0.00002}, "impossible number"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "at least 3 and at most 2 characters"),
        ({"type": "array", "minItems": 3, "maxItems": 2}, "at least 3 and at most 2 items"),
        ({"type": "object", "properties": {"a": {}}, "required": ["b"]}, "does not describe it"),
        ({"type": "array", "items": "string"}, "an object or true"),
    ],
)
def test_what_cannot_be_said_is_an_error(schema: dict[str, Any], words: str) -> None:
    with pytest.raises(LLMConfigError, match=re.escape(words)):
        json_grammar(schema)


def test_a_tool_is_needed_for_a_choice_of_tools() -> None:
    with pytest.raises(LLMConfigError):
        tool_union_schema(())


def test_endless_nesting_is_refused() -> None:
    schema: dict[str, Any] = {"type": "null"}
    for _ in range(40):
        schema = {"type": "array", "items": schema}
    with pytest.raises(LLMConfigError, match="deep"):
        json_grammar(schema)


def test_a_schema_with_thousands_of_rules_is_refused() -> None:
    wide = obj({f"p{n}": {"type": "string", "maxLength": n + 1} for n in range(2100)})
    with pytest.raises(LimitExceededError):
        json_grammar(wide)


@given(st.integers(-3000, 3000), st.integers(0, 3000))
@settings(max_examples=short_or_long(30, 60))
def test_a_range_holds_exactly_its_whole_numbers(first: int, span: int) -> None:
    last = first + span
    pattern = re.sub(r'"([^"]*)"', r"\1", whole_numbers(first, last)).replace(" ", "")
    matcher = re.compile(f"(?:{pattern})")
    near = range(max(first - 30, -3100), min(last + 30, 6100))
    assert [n for n in near if matcher.fullmatch(str(n))] == list(range(first, last + 1))
    assert not matcher.fullmatch("-0")
    assert not matcher.fullmatch("007")


def test_whatever_a_line_grammar_allows_is_read_as_an_object_of_the_schema():
    schema = obj(
        {
            "goal": {"enum": ["rest", "visit"]},
            "steps": {"type": "integer", "minimum": -3, "maximum": 12},
            "sure": {"type": "boolean"},
            "say": {"type": "string", "maxLength": 9},
            "remember": {"type": "string"},
        }
    )
    form, rng = ReplySchema.of(schema), random.Random(3)
    grammar = line_grammar(schema, separator=" | ", least=least_values(form), limits=GrammarLimits(string_chars=6))
    reader = Reader(grammar)
    validator = jsonschema.Draft202012Validator(schema)
    drawn = [reader.draw(rng) for _ in range(200)]
    for line in drawn:
        assert "\n" not in line
        found = read_line(line, form).data
        validator.validate(found)
        assert line.startswith(f"{found['goal']} | {found['steps']} | {str(found['sure']).lower()}")
    assert {line.count("|") for line in drawn} == {2, 3, 4}  # texts at the end may be left out


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": "string", "maxLength": 100_000}])
def test_no_text_repeats_more_often_than_every_server_accepts(schema: dict[str, Any]) -> None:
    """Of the servers that an install may bring, one refuses 2,000 repetitions and the whole request with them."""
    text = json_grammar(schema, limits=GrammarLimits(string_chars=50_000))
    assert max(int(most) for most in re.findall(r"\{\d+,(\d+)\}", text)) == 1_999
