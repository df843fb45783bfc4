"""One rule for the tags of thinking: a client, and whoever reads objects, whole or as they come, agree on them."""

import pytest

from tickmind.llm.streaming.thinking import TAG_NAMES, ThinkSplitter, split_thinking
from tickmind.llm.structured import PartialReader, ReplySchema, parse_fields

EVERY_TAG = [name for plain in TAG_NAMES for name in (plain, plain.upper())]
every_tag = pytest.mark.parametrize("tag", EVERY_TAG)


@every_tag
def test_a_client_separates_it_in_any_cut(tag: str) -> None:
    text = f"<{tag}>Hm, {{}}.</{tag}>Yes."
    assert (split_thinking(text).content, split_thinking(text).thinking) == ("Yes.", "Hm, {}.")
    splitter = ThinkSplitter()
    pieces = [piece for letter in text for piece in splitter.feed(letter)] + splitter.finish()
    assert "".join(said for is_thinking, said in pieces if not is_thinking) == "Yes."


@every_tag
def test_an_object_in_it_is_not_the_answer(tag: str) -> None:
    text = f'<{tag}>Perhaps {{"hp": 1}}?</{tag}>{{"hp": 2}}'
    assert parse_fields(text, {"hp": "int"}) == {"hp": 2}
    reader = PartialReader(ReplySchema.of_kinds({"hp": "int"}))
    fields = [field for letter in text for field in reader.feed(letter)]
    assert fields == [("hp", 2)]


@every_tag
def test_what_stands_before_a_lone_closing_tag_is_thinking(tag: str) -> None:
    text = f'Perhaps {{"hp": 1}}?</{tag}>{{"hp": 2}}'
    assert split_thinking(text).content == '{"hp": 2}'
    assert parse_fields(text, {"hp": "int"}) == {"hp": 2}
    reader = PartialReader(ReplySchema.of_kinds({"hp": "int"}))
    for letter in text:
        reader.feed(letter)
    assert reader.data == {"hp": 2}
