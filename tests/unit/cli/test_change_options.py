"""Changes of branches in words."""

import pytest

from tickmind.cli.runs.change_options import change_sentence
from tickmind.record.meta import RunChange


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("say", "ada", "", "Fire!"), "Ada says “Fire!”"),
        (("item", "ada", "rye_bread", "3"), "Ada has 3 rye bread"),
        (("persona", "ada", "voice", "in rhymes"), "the voice of Ada is “in rhymes”"),
        (("state", "door:1", "", "half_open"), "door:1 is half open"),
        (("rule", "", "inventory_limit", "3"), "the rule inventory limit is 3"),
        (("remove", "bram", "", ""), "bram leaves the world"),
        (("remember", "ada", "", "A feast."), "Ada remembers “A feast.”"),
        (("forget", "ada", "", "17"), "Ada forgets the memory 17"),
        (("model", "", "", "small"), "small is the model"),
        (("later", "ada", "", "1"), "--later ada=1"),  # of a version to come
    ],
)
def test_a_change_is_a_sentence_without_options(change, words):
    assert change_sentence(RunChange(1200, *change), {"ada": "Ada"}) == f"after tick 1,200: {words}"
