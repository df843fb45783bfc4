"""Make small faults in the functions of a module, one at a time; nothing is written to the sources."""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).parents[2]
MOST_TEXT = 40  # characters of a line
SHORT = 24  # characters: "0 -> 1" alone says little
_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.LShift: ast.RShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One fault."""

    module: str
    number: int
    line: int
    function_line: int  # where the innermost function begins, decorators and all, as code objects count it
    what: str
    text: str  # the line of the source

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.name}"

    @property
    def name(self) -> str:
        """What it is, whatever line it moves to."""
        return self.what if len(self.what) > SHORT else f"{self.what} in {self.text}"


def source_of(module: str) -> Path:
    return ROOT / "src" / Path(*module.split(".")).with_suffix(".py")


def _variants(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """Yield what a node may become; None: nothing stands in its place."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARE:
            other = copy.copy(node)
            other.ops = [_COMPARE[type(op)]()]
            yield f"{ast.unparse(node)} -> {ast.unparse(other)}", other
        case ast.BoolOp(op=op):
            other_bool = copy.copy(node)
            other_bool.op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield f"{ast.unparse(node)} -> {ast.unparse(other_bool)}", other_bool
        case ast.BinOp(op=op) if type(op) in _ARITHMETIC:
            other_sum = copy.copy(node)
            other_sum.op = _ARITHMETIC[type(op)]()
            yield f"{ast.unparse(node)} -> {ast.unparse(other_sum)}", other_sum
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"{ast.unparse(node)} -> {ast.unparse(operand)}", operand
        case ast.Constant(value=bool() as value):
            yield f"{value} -> {not value}", ast.Constant(not value)
        case ast.Constant(value=int() as number):
            yield f"{number} -> {number + 1}", ast.Constant(number + 1)
        case ast.Expr(value=ast.Call(func=func)) if ast.unparse(func).startswith("_log."):
            return  # what is logged decides nothing
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Delete():
            yield f"without {ast.unparse(node)}", None


def _places(tree: ast.AST) -> Iterator[tuple[Any, ...]]:
    """Yield everything inside functions that may become something else: function, parent, field, place in it, node."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.name != "__repr__":
            for place, statement in enumerate(function.body):
                for found in _below(function, "body", place, statement):
                    yield function, *found


def _below(parent: ast.AST, field: str, place: int | None, node: ast.AST) -> Iterator[tuple[Any, ...]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assert | ast.JoinedStr):
        return  # functions in it have their own turn; messages and invariants are no behaviour
    yield parent, field, place, node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "exc"}:
            continue
        for at, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST):
                yield from _below(node, name, at, child)


def mutants_of(module: str) -> list[Mutant]:
    """Return all mutants of a module."""
    source = source_of(module).read_text(encoding="utf-8")
    tree, lines = ast.parse(source), source.splitlines()
    found: list[Mutant] = []
    for function, _, _, _, node in _places(tree):
        first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
        for what, _ in _variants(node):
            line = node.lineno
            found.append(Mutant(module, len(found), line, first, what, lines[line - 1].strip()[:MOST_TEXT]))
    return found


def mutated(module: str, number: int) -> ast.Module:
    """Return the tree of a mutant."""
    tree = ast.parse(source_of(module).read_text(encoding="utf-8"))
    count = 0
    for _, parent, field, place, node in _places(tree):
        for _, other in _variants(node):
            if count == number:
                new = ast.copy_location(ast.Pass() if other is None else other, node)
                if place is None:
                    setattr(parent, field, new)
                else:
                    getattr(parent, field)[place] = new
                return ast.fix_missing_locations(tree)
            count += 1
    raise IndexError(f"{module} has {count} mutants")


def codes_of(module: str, tree: ast.Module) -> dict[tuple[str, int], CodeType]:
    """Compile a tree, and return the code of its functions by qualified name and first line."""
    found: dict[tuple[str, int], CodeType] = {}
    waiting = [compile(tree, str(source_of(module)), "exec", dont_inherit=True)]
    while waiting:
        for inner in waiting.pop().co_consts:
            if isinstance(inner, CodeType):
                found[inner.co_qualname, inner.co_firstlineno] = inner
                waiting.append(inner)
    return found
