"""Arithmetic from text."""

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import ConfigError, LimitExceededError
from tickmind.cli.ask.calculator import calculate


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("2**3**2", 512),
        ("-2**2", -4),
        ("2**-1", 0.5),
        ("2^10", 1024),
        ("7//2", 3),
        ("-7 % 3", 2),
        ("10/4", 2.5),
        ("10/5", 2),
        (" 1.5e3 + .5 ", 1500.5),
        ("--3", 3),
        ("8 - 3 - 2", 3),
    ],
)
def test_an_expression_has_its_value(expression, value):
    assert calculate(expression) == value


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("", "no arithmetic"),
        ("1+", "no arithmetic"),
        ("(1", "no arithmetic"),
        ("1)", "no arithmetic"),
        ("1 2", "no arithmetic"),
        ("*1", "no arithmetic"),
        ("1/0", "divides by zero"),
        ("0**-1", "divides by zero"),
        ("9**9**9", "too large"),
        ("1e300*1e300", "too large"),
        ("9**600*9**600*9**600", "too large"),
        ("(0-8)**0.5", "no real number"),
        ("__import__('os')", "no arithmetic"),
        ("a+1", "no arithmetic"),
        ("1;2", "no arithmetic"),
        ("-" * 200, "no arithmetic"),
        ("True + 1", "no arithmetic"),
        ("1 if 2 else 3", "no arithmetic"),
    ],
)
def test_anything_else_is_refused_with_the_reason(expression, words):
    with pytest.raises(ConfigError, match=words):
        calculate(expression)


def test_a_long_expression_is_refused():
    with pytest.raises(LimitExceededError):
        calculate("1+" * 200 + "1")


def test_deep_brackets_are_worked_out():
    assert calculate("(" * 90 + "1" + ")" * 90) == 1


@given(st.text(alphabet="0123456789.+-*/%^() e", max_size=60))
def test_it_gives_a_finite_number_or_refuses(expression):
    with suppress(ConfigError):
        value = calculate(expression)
        assert isinstance(value, int) or math.isfinite(value)


@given(st.integers(-999, 999), st.sampled_from(["+", "-", "*"]), st.integers(-999, 999))
def test_it_agrees_with_python(left, sign, right):
    expected = {"+": left + right, "-": left - right, "*": left * right}[sign]
    assert calculate(f"({left}) {sign} ({right})") == expected
