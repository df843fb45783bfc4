import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kits.some_tools import Order, Point, move

from tickmind.base import Limit, Secret
from tickmind.llm.errors import ErrorType, LLMConfigError
from tickmind.tools import Failed, Ok, ToolRegistry
from tickmind.tools.definition.docstrings import Docstring
from tickmind.tools.plain import result_of, text_for_model


def test_results_are_envelopes_and_plain_data() -> None:
    assert result_of({"ok": True, "data": [1]}) == Ok([1], "[1]")
    assert result_of({"ok": True}) == Ok(None, '{"ok":true}')
    assert result_of({"ok": True, "a": 1}) == Ok({"a": 1}, '{"a":1}')
    failed = Failed(ErrorType.PARSE_ERROR, "bad", {"line": 3})
    assert result_of({"ok": False, "type": "parse_error", "message": "bad", "details": {"line": 3}}) == failed
    assert result_of({"ok": False, "error": {"message": "x"}}) == Failed(ErrorType.TOOL_ERROR, "x")
    assert text_for_model(failed) == '{"ok":false,"type":"parse_error","message":"bad","details":{"line":3}}'
    assert failed.to_dict()["ok"] is False


def test_anything_becomes_plain_data() -> None:
    circle: list[object] = []
    circle.append(circle)
    value = {"p": Point(1, 2), "s": {3}, "b": b"abc", "o": Order(title="a", amount=1), "k": Secret("hidden-key"), 1: 2}
    result = result_of(value)
    assert isinstance(result, Ok)
    assert result.data == {
        "p": {"x": 1, "y": 2},
        "s": [3],
        "b": "<3 bytes>",
        "o": {"title": "a", "amount": 1},
        "k": "***",
        "1": 2,
    }
    assert isinstance(result_of(circle), Ok)
    assert isinstance(result_of(10**40), Ok)
    assert result_of(float("nan")) == Ok(None, "null")


def test_a_long_result_is_shortened_and_says_so() -> None:
    result = result_of(["x" * 100] * 10, Limit("result", 50))
    assert isinstance(result, Ok)
    assert result.truncated
    assert len(result.text) < 110
    assert result.text.endswith("[shortened: 1,031 characters in all]")


_WORDS = st.sampled_from(
    ["Args:\n", "Returns:\n", "Parameters\n", "----------\n", ":param x: y\n", "    x: y\n", "\n", "a: "]
)


@given(st.one_of(st.text(), st.lists(st.one_of(_WORDS, st.text(max_size=5)), max_size=12).map("".join)))
def test_any_docstring_can_be_read(text: str) -> None:
    docstring = Docstring(text)
    assert isinstance(docstring.description, str)
    assert all(isinstance(meaning, str) for meaning in docstring.arguments.values())


def test_registry_keeps_tools_by_name_and_refuses_doubles() -> None:
    registry = ToolRegistry([move])

    @registry.register
    def stay() -> None:
        """Stay."""

    assert registry.get("stay") is stay
    assert registry.get("gone") is None
    assert registry.get_all() == (move, stay)
    assert [spec.name for spec in registry.get_schemas()] == ["move", "stay"]
    with pytest.raises(LLMConfigError, match="already"):
        registry.register(move)
    registry.clear()
    assert len(registry) == 0
