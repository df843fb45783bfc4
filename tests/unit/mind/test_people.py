"""What one knows of others from the beginning, and how quarrels end."""

import random

import pytest

from tickmind.mind.memory import Memory
from tickmind.mind.people import FOE_LIKING, FRIEND_LIKING, People
from tickmind.mind.talk import Talker


@pytest.mark.parametrize(
    ("relation", "liking"),
    [
        ("his oldest friend", FRIEND_LIKING),
        ("her Housemate", FRIEND_LIKING),
        ("not on speaking terms, over three coins", FOE_LIKING),
        ("they quarrelled in spring", FOE_LIKING),
        ("a friend until they fell out", FOE_LIKING),
        ("they are enemies", FOE_LIKING),
        ("no friend of hers", FOE_LIKING),
        ("they do not speak", FOE_LIKING),
        ("her rival at the market", 0),
        ("friendless", 0),
        ("", 0),
    ],
)
def test_how_much_one_likes_another_at_first_is_in_the_words_of_the_relation(relation, liking):
    people = People("me")
    people.know("bram", relation)
    person = people.get("bram")
    assert person is not None
    assert person.liking == liking
    assert person.is_cold is (liking < 0)
    assert person.heard  # so they do not meet for the first time


def test_peace_is_made_once_and_only_where_there_is_a_quarrel():
    people = People("me")
    people.know("kaya", "not on speaking terms")
    people.know("finn", "his friend")
    assert people.make_peace("finn") is None
    assert people.make_peace("nobody") is None
    peace = people.make_peace("kaya")
    assert peace is people.get("kaya")
    assert peace is not None
    assert (peace.liking, peace.is_cold) == (0, False)
    assert people.make_peace("kaya") is None


def test_those_known_from_the_beginning_are_known_though_nothing_was_kept():
    talker = Talker("edda", "Edda", random.Random(1), Memory())
    talker.people.know("kaya", "they fell out")
    talker.restore({})
    assert talker.people.get("kaya") is not None
    talker.restore({"people": (), "promises": ()})
    assert talker.people.get("kaya") is None
