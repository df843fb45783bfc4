"""The same object comes back however it is wrapped, quoted, indented or cut: cases nobody wrote by hand."""

import json
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.llm.errors import StructuredOutputError
from tickmind.llm.structured import parse_fields

ACTIONS = ["move_to", "talk_to", "gather", "rest", "flee"]
FIELDS: dict[str, Any] = {
    "action": ACTIONS,
    "target": "str",
    "say": "str",
    "confidence": "num",
    "items": "list",
    "done": "bool",
}
WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=8)
SENTENCE = st.lists(WORD, min_size=1, max_size=7).map(" ".join).filter(lambda text: text not in {"null", "none", "nil"})
SPOKEN = st.tuples(
    SENTENCE, st.sampled_from(["", "!", "?", ", now!", " - quick!", " (softly)", ": go", "; wait", "'s"])
).map("".join)
OBJECTS = st.fixed_dictionaries(
    {
        "action": st.sampled_from(ACTIONS),
        "target": WORD.filter(lambda text: text not in {"null", "nil", "none"}),
        "say": SPOKEN,
        "confidence": st.floats(-10, 10, allow_nan=False).map(lambda value: round(value, 3)),
        "items": st.lists(SENTENCE, max_size=3),
        "done": st.booleans(),
    }
)
BEFORE = st.sampled_from(
    [
        "",
        "Sure!\n",
        "Here is my decision:\n\n",
        "Given {the wolf}, I answer:\n",
        "<think>\nHm: {a: 1}? No.\n</think>\n",
        "I ran.\n</think>\n",
    ]
)
AFTER = st.sampled_from(
    ["", "\n", "\n\nLet me know if you need more.", "\n\nThe set {a, b} is why.", "\n\nNote: I am sure."]
)
FENCES = st.sampled_from(
    ["{}", "```json\n{}\n```", "```\n{}\n```", "~~~\n{}\n~~~", "```JSON\n{}```", "<answer>{}</answer>"]
)


def _python(data: dict[str, Any]) -> str:
    return repr(data)


def _pretty(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2)


def _tabbed(data: dict[str, Any]) -> str:
    return json.dumps(data, indent="\t")


def _commas(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1).replace("\n}", ",\n}").replace("\n ]", ",\n ]")


def _missing_commas(data: dict[str, Any]) -> str:
    return "{\n" + "\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in data.items()) + "\n}"


def _comments(data: dict[str, Any]) -> str:
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}, // the {key}" for key, value in data.items()]
    return "{\n" + "\n".join(lines) + "\n}"


def _bare_keys(data: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{key}: {json.dumps(value)}" for key, value in data.items()) + "}"


def _wrapped(data: dict[str, Any]) -> str:
    return json.dumps({"response": data})


def _listed(data: dict[str, Any]) -> str:
    return json.dumps([data])


def _titled(data: dict[str, Any]) -> str:
    return json.dumps({key.title(): value for key, value in data.items()})


def _shouted(data: dict[str, Any]) -> str:
    return json.dumps({**data, "action": data["action"].upper(), "confidence": str(data["confidence"])})


JSON_STYLES = st.sampled_from(
    [
        json.dumps,
        _python,
        _pretty,
        _tabbed,
        _commas,
        _missing_commas,
        _comments,
        _bare_keys,
        _wrapped,
        _listed,
        _titled,
        _shouted,
    ]
)


@given(OBJECTS, JSON_STYLES, FENCES, BEFORE, AFTER)
@settings(max_examples=short_or_long(60, 120))
def test_json_in_any_dress_is_the_same_object(
    data: dict[str, Any], style: Any, fence: str, before: str, after: str
) -> None:
    text = before + fence.replace("{}", style(data)) + after
    assert parse_fields(text, FIELDS) == data


def _yaml_block(data: dict[str, Any]) -> str:
    return str(yaml.safe_dump(data, sort_keys=False))


def _yaml_flow(data: dict[str, Any]) -> str:
    return "\n".join(f"{key}: {json.dumps(value)}" for key, value in data.items())


def _yaml_listed(data: dict[str, Any]) -> str:
    return str(yaml.safe_dump([data], sort_keys=False))


def _yaml_wrapped(data: dict[str, Any]) -> str:
    return str(yaml.safe_dump({"decision": data}, sort_keys=False))


def _yaml_bad_quotes(data: dict[str, Any]) -> str:
    lines = [f"say: '{value}'" if key == "say" else f"{key}: {json.dumps(value)}" for key, value in data.items()]
    return "\n".join(lines)


def _yaml_unquoted(data: dict[str, Any]) -> str:
    return "\n".join(f"{key}: {value if key == 'say' else json.dumps(value)}" for key, value in data.items())


def _yaml_tabs(data: dict[str, Any]) -> str:
    return "\n".join(f"{key}:\t{json.dumps(value)}" for key, value in data.items())


def _yaml_block_text(data: dict[str, Any]) -> str:
    return "\n".join(
        f"say: |-\n  {value}" if key == "say" else f"{key}: {json.dumps(value)}" for key, value in data.items()
    )


YAML_STYLES = st.sampled_from(
    [
        _yaml_block,
        _yaml_flow,
        _yaml_listed,
        _yaml_wrapped,
        _yaml_bad_quotes,
        _yaml_unquoted,
        _yaml_tabs,
        _yaml_block_text,
    ]
)
YAML_FENCES = st.sampled_from(
    ["```yaml\n{}\n```", "```yml\n{}\n```", "```\n{}\n```", "```yaml\n{}", "~~~yaml\n{}\n~~~"]
)


@given(OBJECTS, YAML_STYLES, YAML_FENCES, BEFORE)
@settings(max_examples=short_or_long(60, 120))
def test_yaml_in_any_dress_is_the_same_object(data: dict[str, Any], style: Any, fence: str, before: str) -> None:
    assert parse_fields(before + fence.replace("{}", style(data)), FIELDS) == data


BOLD = st.sampled_from(["{}: {}", "**{}:** {}", "**{}**: {}", "- {}: {}", "* **{}:** {}", "`{}`: {}"])


@given(OBJECTS, BOLD, st.sampled_from(["\n", "\n\n"]), st.booleans(), st.sampled_from(["", "My answer:\n\n"]))
@settings(max_examples=short_or_long(40, 80))
def test_labels_in_a_text_are_the_same_object(
    data: dict[str, Any], label: str, gap: str, capital: bool, before: str
) -> None:
    lines = [
        label.replace("{}", key.capitalize() if capital else key, 1).replace("{}", json.dumps(value), 1)
        for key, value in data.items()
    ]
    assert parse_fields(before + gap.join(lines), FIELDS) == data


@given(
    OBJECTS,
    st.integers(0, 400),
    st.sampled_from([json.dumps, _pretty, _yaml_flow]),
    st.sampled_from(["", "```json\n", "```yaml\n"]),
)
@settings(max_examples=short_or_long(60, 120))
def test_what_is_cut_off_never_gives_another_value(data: dict[str, Any], cut: int, style: Any, fence: str) -> None:
    text = fence + style(data)
    try:
        got = parse_fields(text[:cut], FIELDS)
    except StructuredOutputError:
        return
    for name, value in got.items():
        whole = data.get(name)
        if name in {"target", "say"}:
            assert isinstance(whole, str)
            assert whole.startswith(value)
        elif name == "items":
            assert isinstance(whole, list)
            assert whole[: max(0, len(value) - 1)] == value[: max(0, len(value) - 1)]
        elif name == "confidence":
            assert isinstance(whole, float)
            assert str(abs(whole)).startswith(str(abs(value)).removesuffix(".0"))
            assert value == 0 or (value < 0) == (whole < 0)  # -0 is the beginning of -0.5
        elif name in FIELDS:
            assert value == whole


@given(OBJECTS, OBJECTS)
@settings(max_examples=30)
def test_the_last_of_two_answers_wins(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert parse_fields(f"{json.dumps(first)}\nNo, better:\n{json.dumps(second)}", FIELDS) == second
    assert (
        parse_fields(f"```yaml\n{_yaml_flow(first)}\n```\nBetter:\n```yaml\n{_yaml_flow(second)}\n```", FIELDS)
        == second
    )


@given(st.lists(SPOKEN, min_size=1, max_size=30).map(". ".join))
@settings(max_examples=short_or_long(40, 80))
def test_prose_is_refused(text: str) -> None:
    try:
        got = parse_fields(text, FIELDS)
    except StructuredOutputError:
        return
    raise AssertionError(f"made {got} from {text!r}")
