"""Arithmetic from text: parsed by Python's parser, worked out node by node, never run as code."""

import ast
import math
import operator
import warnings
from collections.abc import Callable

from tickmind.base import ConfigError, Limit

MAX_EXPRESSION_CHARS = Limit("length of an expression", 200, "characters")
MAX_RESULT_BITS = Limit("size of a power or a result", 2_048, "bits")

Number = int | float


class _NoArithmeticError(Exception):
    """A node is something else than a number or an operation."""


def calculate(expression: str) -> Number:
    """Return the value of an expression such as `2 * (3 + 4) ** 2`; raise `ConfigError` that says what is wrong."""
    MAX_EXPRESSION_CHARS.check(len(expression))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd literals, such as `1e`
            tree = ast.parse(expression.strip().replace("^", "**"), mode="eval")
        value = _value(tree.body)
    except (SyntaxError, _NoArithmeticError):
        raise ConfigError(f"{expression[:20]!r} is no arithmetic: use numbers, + - * / // % ** and ( )") from None
    except ZeroDivisionError:
        raise ConfigError("this divides by zero") from None
    except OverflowError:
        raise ConfigError("the result is too large") from None
    fits = MAX_RESULT_BITS.allows(value.bit_length()) if isinstance(value, int) else math.isfinite(value)
    if not fits:
        raise ConfigError("the result is too large")
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value


def _power(base: Number, exponent: Number) -> Number:
    bits = max(1.0, math.log2(abs(base))) * abs(exponent) if base else 0.0
    if not MAX_RESULT_BITS.allows(bits):
        raise ConfigError("the power is too large")
    value = base**exponent
    if isinstance(value, complex):
        raise ConfigError("a root of a negative number is no real number")
    return value


_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}


def _value(node: ast.expr) -> Number:
    """Return the value of a node; raise `_NoArithmeticError` for all else."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _BINARY[type(sign)](_value(left), _value(right))
    raise _NoArithmeticError
