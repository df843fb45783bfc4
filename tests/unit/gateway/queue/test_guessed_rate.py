"""What is reckoned from refusals, in figures: how far a guess is set back, and how quickly it grows again."""

import math

import pytest

from tickmind.gateway.queue.limits.rate_guess import RateGuess

CAUTION = 0.98


def guess_of(rate):
    """A guess after a first refusal; `rate` requests per second were taken in the minute before."""
    guess = RateGuess()
    guess.mark(-59.0, 0)
    guess.refused(0.0, round(60 * rate / 0.9 / CAUTION) + 1, None)
    assert guess.rate(0.0) == pytest.approx(rate, rel=0.02)
    return guess, round(60 * rate / 0.9 / CAUTION) + 1


@pytest.mark.parametrize(("taken", "held"), [(9, False), (10, True)])
def test_a_guess_that_held_for_ten_requests_is_set_back_by_seven_hundredths_at_most(taken, held):
    guess, sent = guess_of(10.0)
    last = guess.rate(20.0)
    guess.refused(20.0, sent + taken + 1, None)
    expected = 0.93 * last if held else taken / 20
    assert guess.rate(20.0) == pytest.approx(CAUTION * expected)


def test_a_second_refusal_puts_right_what_the_first_one_said():
    guess, sent = guess_of(10.0)
    last = guess.rate(20.0)
    guess.refused(20.0, sent + 1 + 260, None)
    assert 0.93 * last < 260 / 20 < last
    assert guess.rate(20.0) == pytest.approx(CAUTION * 260 / 20)


def test_no_refusal_makes_the_guess_higher():
    guess, sent = guess_of(10.0)
    last = guess.rate(20.0)
    guess.refused(20.0, sent + 1 + 800, None)
    assert guess.rate(20.0) == pytest.approx(CAUTION * last)


def test_a_guess_by_many_requests_grows_by_a_thousandth_a_second_at_first_and_a_hundredth_in_the_end():
    guess, sent = guess_of(50.0)
    guess.refused(20.0, sent + 1 + 960, None)
    start = guess.rate(20.0)
    assert math.log(guess.rate(20.01) / start) == pytest.approx(0.001 * 0.01, rel=0.01)
    # it grows twice as quick every 20 s, until it is ten times as quick
    assert math.log(guess.rate(40.0) / start) == pytest.approx(0.001 * 20 / math.log(2))
    assert math.log(guess.rate(60.0) / start) == pytest.approx(3 * 0.001 * 20 / math.log(2))
    assert math.log(guess.rate(201.0) / guess.rate(200.0)) == pytest.approx(0.01)


def test_a_guess_by_few_requests_grows_quicker_and_doubles_slower():
    guess, sent = guess_of(1.0)
    guess.refused(20.0, sent + 1 + 10, None)
    start = guess.rate(20.0)
    assert math.log(guess.rate(20.01) / start) == pytest.approx(0.03 / 10 * 0.01, rel=0.01)
    doubling_s = 40 / start
    assert 20 < doubling_s < 60
    assert math.log(guess.rate(20 + doubling_s) / start) == pytest.approx(0.003 * doubling_s / math.log(2))


def test_a_guess_of_a_slow_provider_grows_by_its_requests():
    guess, sent = guess_of(1.0)
    guess.refused(100.0, sent + 1 + 95, None)
    guess.refused(104.0, sent + 2 + 100, None)  # too soon after the one before to say enough by itself
    start = guess.rate(104.0)
    assert start == pytest.approx(CAUTION * 100 / 104)
    assert math.log(guess.rate(104.01) / start) == pytest.approx(0.0005 * start * 0.01, rel=0.01)


def test_a_guess_that_grew_fiftyfold_is_forgotten_and_not_before():
    guess, sent = guess_of(50.0)
    guess.refused(20.0, sent + 1 + 960, None)
    start, at_s = guess.rate(20.0), 20.0
    while (rate := guess.rate(at_s)) > 0:
        most, at_s = rate, at_s + 0.5
    assert 49 < most / start <= 50
    assert guess.rate(20.0) == 0.0


def test_what_came_back_while_nothing_was_sent_says_nothing_of_the_rate():
    guess, sent = guess_of(10.0)
    last = guess.rate(20.0)
    guess.unused(4.01)
    guess.refused(20.0, sent + 1 + 40, None)
    assert guess.rate(20.0) == last
    other, sent = guess_of(10.0)
    other.unused(4.0)  # a fifth of the time
    other.refused(20.0, sent + 1 + 40, None)
    assert other.rate(20.0) == pytest.approx(CAUTION * 0.93 * last)


def test_refused_ones_that_were_on_their_way_are_not_counted_as_taken():
    guess, sent = guess_of(10.0)
    guess.refused(20.0, sent + 1 + 260, None)
    for _ in range(4):
        guess.not_taken()
    assert guess.rate(20.0) == pytest.approx(CAUTION * 256 / 20)


def test_a_window_is_counted_from_the_last_minute_alone_and_until_its_end():
    guess = RateGuess()
    for number in range(-4, 121):
        guess.mark(number / 2, 10 * (number + 4))
        assert guess.next_mark_s == number / 2 + 0.5
    guess.refused(60.0, 1250 + 1, 30.0)
    assert guess.rate(60.0) == pytest.approx(CAUTION * 1210 / 60)
    guess.hold(110.0)
    last = guess.rate(110.0)
    taken = round(0.96 * last * 20)
    guess.refused(110.0, 1250 + 1 + taken + 1, None)
    assert guess.rate(110.0) == pytest.approx(CAUTION * taken / 20)


def test_a_wait_of_two_seconds_is_that_of_a_bucket():
    guess = RateGuess()
    guess.mark(-58.0, 0)
    guess.refused(0.0, 600 + 1, 2.0)
    assert guess.rate(0.0) == pytest.approx(CAUTION * 0.9 * 600 / (58 + 2))
    last = guess.rate(20.0)
    taken = round(0.96 * last * 20)
    guess.refused(20.0, 600 + 1 + taken + 1, None)
    assert guess.rate(20.0) == pytest.approx(CAUTION * taken / 20)


def test_refusals_between_which_nothing_was_taken_are_one():
    guess = RateGuess()
    guess.mark(41.0, 50)
    guess.refused(100.0, 650 + 1, None)
    guess.refused(100.5, 650 + 2, 1.0)
    assert guess.rate(100.5) == pytest.approx(CAUTION * 0.9 * 600 / (59 + 1.5))  # asked to wait for 1.5 s in all
    last = guess.rate(120.5)
    taken = round(0.96 * last * 20)
    guess.refused(120.5, 650 + 2 + taken + 1, None)
    assert guess.rate(120.5) == pytest.approx(CAUTION * taken / 20)


def test_requests_refused_on_their_way_count_for_no_later_refusal():
    guess, sent = guess_of(10.0)
    guess.refused(20.0, sent + 1 + 260, None)
    for _ in range(4):
        guess.not_taken()
    last = guess.rate(40.0)
    taken = round(0.96 * last * 20)
    guess.refused(40.0, sent + 1 + 260 + taken + 1, None)
    assert guess.rate(40.0) == pytest.approx(CAUTION * taken / 20)


def test_a_refusal_after_idle_time_says_nothing_of_the_rate():
    guess, sent = guess_of(10.0)
    last = guess.rate(20.0)
    guess.idle()
    guess.refused(20.0, sent + 1 + 100, None)
    assert guess.rate(20.0) == last


def test_a_guess_that_was_forgotten_is_made_anew_from_what_was_taken_since():
    guess, sent = guess_of(10.0)
    guess.idle()
    assert guess.rate(5000.0) == 0.0
    guess.mark(5000.0, sent)
    guess.refused(5010.0, sent + 100 + 1, None)
    assert guess.rate(5010.0) == pytest.approx(CAUTION * 0.9 * 100 / (10 + 1))


@pytest.mark.parametrize(("wait_s", "again_s"), [(30.0, 20.0), (None, 0.0)])
def test_a_refusal_no_later_than_the_end_of_the_one_before_only_sets_the_guess_back(wait_s, again_s):
    guess = RateGuess()
    guess.mark(-59.0, 0)
    guess.refused(0.0, 600 + 1, wait_s)
    last = guess.rate(again_s)
    guess.refused(again_s, 600 + 1 + 3 + 1, None)
    assert guess.rate(again_s) == pytest.approx(CAUTION * 0.93 * last)


def test_a_guess_by_one_request_grows_by_three_hundredths_a_second():
    guess, sent = guess_of(10.0)
    guess.refused(20.0, sent + 1 + 1, None)
    assert guess.rate(20.0) == 0.05
    assert math.log(guess.rate(30.0) / 0.05) == pytest.approx(0.3)


@pytest.mark.parametrize("hurried", [True, False])
def test_a_refusal_of_hurried_requests_does_not_lower_a_guess_that_held(hurried):
    guess, sent = guess_of(10.0)
    guess.refused(20.0, sent + 1 + 260, None)
    last = guess.rate(21.0)
    guess.refused(21.0, sent + 1 + 260 + 1 + 5, None, hurried=hurried)
    assert last > 265 / 21
    assert guess.rate(21.0) == pytest.approx(CAUTION * (last if hurried else 265 / 21))


@pytest.mark.parametrize(("again_s", "used"), [(4.0, True), (5.0, False)])
def test_unused_time_counts_since_the_refusal_before(again_s, used):
    guess, sent = guess_of(10.0)
    guess.unused(4.0)
    guess.refused(20.0, sent + 1 + 260, None)
    last = guess.rate(40.0)
    taken = round(0.96 * last * 20)
    guess.unused(again_s)
    guess.refused(40.0, sent + 1 + 260 + 1 + taken, None)
    assert guess.rate(40.0) == pytest.approx(CAUTION * taken / 20 if used else last)


@pytest.mark.parametrize(
    ("rate", "first", "taken", "after_s", "enough"),
    [
        (1.5, 39, 20, 11.0, True),
        (1.5, 39, 19, 11.0, False),
        (10.0, 260, 122, 10.0, True),
        (10.0, 260, 58, 5.0, False),
    ],
)
def test_twenty_requests_within_ten_seconds_say_enough_since_the_last_refusal(rate, first, taken, after_s, enough):
    guess, sent = guess_of(rate)
    guess.refused(20.0, sent + 1 + first, None)
    at_s = 20.0 + after_s
    last = guess.rate(at_s)
    guess.refused(at_s, sent + 1 + first + 1 + taken, None)
    found = taken / after_s if enough else (first + taken) / at_s
    assert 0.93 * last < found < last
    assert guess.rate(at_s) == pytest.approx(CAUTION * found)
