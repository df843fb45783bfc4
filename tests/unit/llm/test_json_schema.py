import pytest

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.structured import ReplySchema
from tickmind.llm.structured.json_schema import SchemaChecker, resolve, without_titles

ROOT = {"$defs": {"a/b": {"type": "string"}, "x~y": {"anyOf": [{"type": "null"}, {"type": "integer"}]}}}


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("#", ROOT),
        ("#/$defs/a~1b", {"type": "string"}),
        ("#/$defs/x~0y/anyOf/1", {"type": "integer"}),
    ],
)
def test_a_reference_inside_the_schema_is_found(reference: str, target: object) -> None:
    assert resolve(reference, ROOT) == target


@pytest.mark.parametrize(
    "reference", ["#/$defs/c", "#/$defs/a~1b/type/0", "#/$defs/x~0y/anyOf/9", "https://example.org/s", "other.json#/a"]
)
def test_a_reference_to_elsewhere_is_refused(reference: str) -> None:
    with pytest.raises(LookupError):
        resolve(reference, ROOT)


def test_a_field_behind_an_escaped_reference_keeps_its_kind() -> None:
    schema = ReplySchema.of({"type": "object", "properties": {"goal": {"$ref": "#/$defs/a~1b"}}, **ROOT})
    assert [field.kind for field in schema.fields] == ["str"]


def test_titles_go_and_fields_called_title_stay() -> None:
    schema = {
        "title": "Book",
        "properties": {"title": {"title": "Title", "type": "string", "default": {"title": "x"}}},
        "anyOf": [{"title": "One"}],
        "required": ["title"],
    }
    assert without_titles(schema) == {
        "properties": {"title": {"type": "string", "default": {"title": "x"}}},
        "anyOf": [{}],
        "required": ["title"],
    }


def test_problems_say_where_and_why() -> None:
    checker = SchemaChecker({"properties": {"steps": {"items": {"type": "integer"}}}, "required": ["goal"]})
    assert checker.problems({"goal": "eat", "steps": [1]}) == []
    assert checker.problems({"steps": [1, "x"]}) == [
        ("", "'goal' is a required property"),
        ("steps[1]", "'x' is not of type 'integer'"),
    ]


def test_a_schema_that_is_none_is_refused_and_nothing_is_fetched() -> None:
    with pytest.raises(LLMConfigError, match=r"wrong at \$\.type"):
        SchemaChecker({"type": "nothing"})
    with pytest.raises(LLMConfigError, match="nothing is fetched"):
        SchemaChecker({"$ref": "https://example.org/schema.json"}).problems(1)
