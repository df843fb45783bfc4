"""Whatever a model or an attacker writes: nothing but StructuredOutputError, in bounded time and memory."""

import contextlib
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.llm.errors import StructuredOutputError
from tickmind.llm.structured import MAX_REPAIR_CHARS, MAX_REPLY_CHARS, Form, ReplySchema, parse_fields, read_reply

FIELDS = {"action": ["flee", "rest"], "target": "str", "items": "list", "arguments": "dict", "confidence": "num"}
SCHEMA = ReplySchema.of_kinds(FIELDS)
FORMS: tuple[Form, ...] = ("any", "json", "yaml")
MOST = int(MAX_REPAIR_CHARS.maximum)
TOO_LONG_S = 5.0  # of work; measured below 0.5 s, and a quadratic reading takes minutes

BOMB = (
    "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9))
    + "action: flee\ntarget: *j\n"
)

# fmt: off
REPEATED = [
    "{", "[", "[{", '{"a":', '{"a":[', '"', '{"a":"', "<think>", "</think>", "```\n", "```a\n", "a: b\n",
    "- ", "  - a: b\n", "action: flee\n", "a: &a x\n", "*", "{ a { a", '#"#\n', "\\", "\\u", '{"a":"\\', "|",
    "| a | b |\n", "**a**\n", " ", "\n", "\t", "a b c: ", '{"action":"flee"}', ",", '{"a":"b" ', "“", "'",
    "say: |\n", "- - ", "{{", "/*", "//", "<a>", "1. ", '{"a":1/*', "action: [", "action: {", "items:\n- a\n",
    '"a","b",', "a_" * 30 + ": x\n", "&quot;", '{\\"', "User:\n", "x\n---\n", "? ", ": ", "- ? a\n",
]
# fmt: on


@given(st.text(max_size=400))
@settings(max_examples=short_or_long(100, 200))
def test_any_text_gives_an_object_or_the_one_error(text: str) -> None:
    with contextlib.suppress(StructuredOutputError):
        assert isinstance(parse_fields(text, FIELDS), dict)


PIECES = st.sampled_from(
    [
        *(
            "{",
            "}",
            "[",
            "]",
            '"',
            "'",
            ":",
            ",",
            "\n",
            "  ",
            "\t",
            "- ",
            "action",
            "target",
            "flee",
            "0.9",
            "null",
            "None",
        ),
        *("```", "```yaml\n", "<think>", "</think>", "\\", "\\u12", "#", "//", "/*", "*", "&a", "|", ">", "items", "="),
        *(
            "arguments",
            "\u201c",
            "\r\n",
            "\ud800",
            "\x00",
            "NaN",
            "1e999",
            "-",
            "...",
            "---\n",
            "&quot;",
            "User:",
            "\u00a0",
        ),
    ]
)


@given(st.lists(PIECES, max_size=60).map("".join))
@settings(max_examples=short_or_long(150, 300))
@pytest.mark.slow
def test_any_mix_of_marks_gives_an_object_or_the_one_error(text: str) -> None:
    for form in FORMS:
        with contextlib.suppress(StructuredOutputError):
            assert isinstance(read_reply(text, SCHEMA, form=form).data, dict)


@pytest.mark.parametrize("piece", REPEATED)
def test_time_is_bounded_however_marks_repeat(piece: str) -> None:
    text = (piece * (MOST // len(piece) + 1))[: MOST // 2]
    start = time.thread_time()
    with contextlib.suppress(StructuredOutputError):
        parse_fields(text, FIELDS)
    assert time.thread_time() - start < TOO_LONG_S


@pytest.mark.parametrize(
    ("head", "tail"), [("<a>", "x"), ("|a|", "x"), ("action: b", "x"), ('{"action":"flee', 'x"}'), ('items: "', "x")]
)
@pytest.mark.parametrize("filler", [" ", "\n", "\t", "-", '"', "#"])
def test_time_is_bounded_however_long_a_gap_is(head: str, tail: str, filler: str) -> None:
    text = head + filler * (MOST // 2) + tail
    start = time.thread_time()
    with contextlib.suppress(StructuredOutputError):
        parse_fields(text, FIELDS)
    assert time.thread_time() - start < TOO_LONG_S


@pytest.mark.parametrize("fence", ["", "```yaml\n"])
def test_an_alias_bomb_stays_small(fence: str) -> None:
    start = time.thread_time()
    got = parse_fields(fence + BOMB, FIELDS)
    assert time.thread_time() - start < TOO_LONG_S
    assert got["action"] == "flee"
    assert got["target"] == "*j"


def test_an_ordinary_large_yaml_is_refused_by_size_at_once() -> None:
    text = "```yaml\naction: flee\n" + "\n".join(f"key{i}: some value number {i}" for i in range(7000)) + "\n```"
    assert len(text) > 195_000
    start = time.thread_time()
    with pytest.raises(StructuredOutputError, match="more than 64,000"):
        parse_fields(text, FIELDS)
    assert time.thread_time() - start < 0.2


def test_a_large_clean_json_is_read_and_a_huge_one_is_not() -> None:
    text = '{"action": "flee", "target": "' + "x" * 500_000 + '"}'
    assert len(parse_fields(text, FIELDS)["target"]) == 500_000
    with pytest.raises(StructuredOutputError, match="1,000,000"):
        parse_fields(text + " " * int(MAX_REPLY_CHARS.maximum), FIELDS)


@pytest.mark.parametrize("count", [60, 900, 5000])
def test_deep_nesting_is_refused(count: int) -> None:
    for text in (
        '{"arguments":' * count + "1" + "}" * count,
        '{"action":"flee","items":' + "[" * count + "]" * count + "}",
    ):
        try:
            got = parse_fields(text, FIELDS)
        except StructuredOutputError:
            continue
        assert str(got).count("[") < 60
        assert str(got).count("{") < 60


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999", "nan", ".nan", ".inf"])
def test_no_number_is_ever_not_finite(word: str) -> None:
    fields = {"action": ["flee"], "confidence": "num"}
    for text in (
        f'{{"action": "flee", "confidence": {word}, "x": [{word}]}}',
        f"```yaml\naction: flee\nconfidence: {word}\n```",
    ):
        got = parse_fields(text, fields)
        assert "confidence" not in got
        assert all(not isinstance(item, float) for item in got.get("x", []))


def test_an_error_tells_no_secret_and_keeps_the_reply() -> None:
    reply = '{"api_key": "sk-canary1234567890", "action": "sk-canary1234567890"}'
    with pytest.raises(StructuredOutputError) as caught:
        read_reply(reply, SCHEMA)
    assert "canary" not in str(caught.value)
    assert caught.value.raw_content == reply


def test_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, tickmind.llm.structured; "
        "print([m for m in ('yaml', 'json_repair', 'pydantic', 'jsonschema', 'aiohttp', 'openai') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert shown.stdout.strip() == "[]"
