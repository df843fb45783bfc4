"""Arithmetic from text, by a small grammar of its own: nothing is ever evaluated as code.

sum     = product { ("+" | "-") product }
product = factor { ("*" | "/" | "//" | "%") factor }
factor  = { "+" | "-" } power
power   = atom [ ("**" | "^") factor ]
atom    = number | "(" sum ")"
"""

import math
import re

from tickmind.base import ConfigError, Limit

MAX_EXPRESSION_CHARS = Limit("length of an expression", 200, "characters")
MAX_NESTING = Limit("nesting of an expression", 32, "brackets")
MAX_RESULT_BITS = Limit("size of a power or a result", 2_048, "bits")

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?|\.\d+)|(\*\*|//|[-+*/%^()]))")
Number = int | float


def calculate(expression: str) -> Number:
    """The value of an expression such as `2 * (3 + 4) ** 2`; raises `ConfigError` that says what is wrong."""
    MAX_EXPRESSION_CHARS.check(len(expression))
    reader = _Reader(_tokens(expression))
    try:
        value = reader.sum()
        reader.expect_end()
    except ZeroDivisionError:
        raise ConfigError("this divides by zero") from None
    except OverflowError:
        raise ConfigError("the result is too large") from None
    fits = MAX_RESULT_BITS.allows(value.bit_length()) if isinstance(value, int) else math.isfinite(value)
    if not fits:
        raise ConfigError("the result is too large")
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value


def _tokens(expression: str) -> list[str]:
    tokens, place = [], 0
    text = expression.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ConfigError(f"{text[place:].strip()[:20]!r} is no arithmetic: use numbers, + - * / // % ** and ( )")
        tokens.append(match[1] or match[2])
        place = match.end()
    return tokens


class _Reader:
    """Reads the tokens from left to right; each method is one rule of the grammar."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0  # brackets that are open

    def sum(self) -> Number:
        value = self._product()
        while (sign := self._take("+", "-")) is not None:
            right = self._product()
            value = value + right if sign == "+" else value - right
        return value

    def expect_end(self) -> None:
        if self._place < len(self._tokens):
            raise ConfigError(f"the expression goes on where it should end, at {self._tokens[self._place]!r}")

    def _product(self) -> Number:
        value = self._factor()
        while (sign := self._take("*", "/", "//", "%")) is not None:
            right = self._factor()
            match sign:
                case "*":
                    value *= right
                case "/":
                    value /= right
                case "//":
                    value //= right
                case _:
                    value %= right
        return value

    def _factor(self) -> Number:
        minus = 0
        while (sign := self._take("+", "-")) is not None:
            minus += sign == "-"
        value = self._power()
        return -value if minus % 2 else value

    def _power(self) -> Number:
        base = self._atom()
        return base if self._take("**", "^") is None else _power(base, self._factor())

    def _atom(self) -> Number:
        if self._take("(") is not None:
            self._depth += 1
            if not MAX_NESTING.allows(self._depth):
                raise ConfigError("the brackets are nested too deeply")
            value = self.sum()
            self._depth -= 1
            if self._take(")") is None:
                raise ConfigError("a bracket is not closed")
            return value
        if self._place >= len(self._tokens):
            raise ConfigError("the expression ends where a number should be")
        token = self._tokens[self._place]
        if not (token[0].isdigit() or token[0] == "."):
            raise ConfigError(f"a number is missing before {token!r}")
        self._place += 1
        return int(token) if token.isdigit() else float(token)

    def _take(self, *wanted: str) -> str | None:
        if self._place < len(self._tokens) and self._tokens[self._place] in wanted:
            self._place += 1
            return self._tokens[self._place - 1]
        return None


def _power(base: Number, exponent: Number) -> Number:
    bits = max(1.0, math.log2(abs(base))) * abs(exponent) if base else 0.0
    if not MAX_RESULT_BITS.allows(bits):
        raise ConfigError("the power is too large")
    value = base**exponent
    if isinstance(value, complex):
        raise ConfigError("a root of a negative number is no real number")
    return value
