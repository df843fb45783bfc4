import pytest

from tickmind.base import Limit, LimitExceededError, TickmindError

QUEUE = Limit("number of waiting requests", 100)


def test_the_limit_itself_is_allowed():
    QUEUE.check(100)
    assert QUEUE.allows(100)


def test_one_more_names_the_limit_and_the_value():
    with pytest.raises(
        LimitExceededError, match="number of waiting requests is 101, more than the limit of 100"
    ) as caught:
        QUEUE.check(101)
    assert isinstance(caught.value, TickmindError)
    assert (caught.value.value, caught.value.maximum) == (101, 100)


def test_a_limit_can_be_set_otherwise_without_changing_the_default():
    assert QUEUE.at(5).maximum == 5
    assert QUEUE.maximum == 100
