from tickmind.base import Limit
from tickmind.llm.texts import shortened, shortened_with_size


def test_only_a_text_over_the_limit_is_cut() -> None:
    assert [shortened("abcd", 4), shortened("abcde", 4)] == ["abcd", "abcd..."]


def test_a_cut_text_can_say_how_long_it_was() -> None:
    limit = Limit("length", 4)
    assert shortened_with_size("abcd", limit) == "abcd"
    assert shortened_with_size("abcde", limit) == "abcd... [shortened: 5 characters in all]"
