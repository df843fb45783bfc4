r"""A JSON schema as a compact llama.cpp grammar: no whitespace to waste tokens on, nothing without an end.

A server's own reading of a schema lets the model pretty-print and talk until its tokens run out. Here every string,
list and number has a most, from the schema or from `GrammarLimits`, so a reply always fits a known budget.

What a grammar can't say (`pattern`, `format`, `multipleOf`, `uniqueItems`) is left to the validation of the reply; a
keyword that would change the shape (`allOf` of several, `not`, `if`, remote references) is an error.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from tickmind.base import Limit
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.grammar.digits import decimals, whole_numbers
from tickmind.llm.structured.json_schema import resolve
from tickmind.llm.transport import GrammarLimits, ToolSpec

MAX_RULES = Limit("number of grammar rules", 2_000)
MAX_REPEATS = 1_999  # some servers of llama.cpp refuse more in one repetition, and all accept this
_REFUSED = ("not", "if", "dependentSchemas", "patternProperties")
_CHAR = r'[^"\\\x00-\x1F\x7F] | "\\" ["\\/bfnrt]'


def json_grammar(schema: Mapping[str, Any], *, limits: GrammarLimits | None = None) -> str:
    """Return the grammar (GBNF) that allows exactly the compact JSON of a schema; send it as `grammar` in `extra`."""
    return _Writer(schema, limits or GrammarLimits()).write()


def line_grammar(schema: Mapping[str, Any], *, separator: str, least: int, limits: GrammarLimits | None = None) -> str:
    """Return the grammar (GBNF) of a flat object as one line: its values in order, the separator between them.

    At least so many values stand in a line; texts have no quotes, and nothing of the separator but blanks.
    """
    writer = _Writer(schema, limits or GrammarLimits())
    rest = ""
    for place, said in reversed(list(enumerate(schema["properties"].values()))):
        value = writer.line_value(said, separator.strip())
        part = f"{value} {rest}".strip() if place == 0 else f"{_quoted(separator)} {value} {rest}".strip()
        rest = part if place < least else f"({part})?"
    return writer.written(rest)


def choice_grammar(choices: Iterable[str]) -> str:
    """Return the grammar (GBNF) that allows just one of some texts.

    >>> choice_grammar(["visit Bram", "rest"])
    'root ::= "visit Bram" | "rest"'
    """
    return f"root ::= {' | '.join(_quoted(choice) for choice in dict.fromkeys(choices))}"


def tool_union_schema(tools: Iterable[ToolSpec], *, reply: bool | Mapping[str, Any] = False) -> dict[str, Any]:
    """One schema for all calls of these tools: `{"tool": name, "arguments": {...}}`.

    Small models answer `tools` with prose; constrained to this they call one. With `reply`, a plain
    `{"reply": "..."}` is allowed too, or a reply of the form that is given.
    """
    definitions: dict[str, Any] = {}  # schemas that refer to parts of themselves
    choices = [
        _named_object({"tool": {"const": tool.name}, "arguments": _part(tool.schema, tool.name, definitions)})
        for tool in tools
    ]
    if reply is not False:
        form = {"type": "string"} if reply is True else _part(reply, "reply form", definitions)
        choices.append(_named_object({"reply": form}))
    if not choices:
        raise LLMConfigError("a choice of tools needs at least one tool")
    union = choices[0] if len(choices) == 1 else {"anyOf": choices}
    return {"$defs": definitions, **union} if definitions else union


def _named_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _part(schema: Mapping[str, Any], name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a schema as part of a larger one; move it to the definitions if it has references, where they resolve."""
    whole = schema if "type" in schema or "$ref" in schema or "anyOf" in schema else {"type": "object", **schema}
    place = f"#/$defs/{name}"
    moved = _moved(whole, place)
    if moved == whole:
        return dict(whole)
    definitions[name] = moved
    return {"$ref": place}


def _moved(schema: Any, place: str) -> Any:
    if isinstance(schema, Mapping):
        return {
            key: place + value[1:]
            if key == "$ref" and isinstance(value, str) and value.startswith("#")
            else _moved(value, place)
            for key, value in schema.items()
        }
    return [_moved(item, place) for item in schema] if isinstance(schema, list | tuple) else schema


def _literal(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _quoted(text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _repeat(item: str, least: int, most: int) -> str:
    return f"{item}{{{least},{most}}}" if least != most else f"{item}{{{most}}}"


class _Writer:
    """Walk a schema and collect one rule for each part that needs a name."""

    def __init__(self, schema: Mapping[str, Any], limits: GrammarLimits) -> None:
        self._schema = schema
        self._limits = limits
        self._rules: dict[str, str] = {}  # name -> right-hand side
        self._shared: dict[str, str] = {}  # right-hand side -> name
        self._references: dict[str, str] = {}  # reference -> rule name
        self._depth = 0

    def write(self) -> str:
        return self.written(self._visit(self._schema))

    def written(self, root: str) -> str:
        """Return all rules, with `root` as the first."""
        return "\n".join(f"{name} ::= {body}" for name, body in {"root": root, **self._rules}.items())

    def line_value(self, said: Mapping[str, Any], bar: str) -> str:
        """Return the grammar of one value of a line: texts and choices without quotes, the rest as in JSON."""
        if "enum" in said:
            return self._choice([_quoted(str(choice)) for choice in said["enum"]])
        if said.get("type") != "string":
            return self._visit(said)
        least, most = self._lengths(said)
        return self._rule("words", _repeat(self._rule("letter", rf"[^{bar}\x00-\x1F\x7F]"), least, most))

    def _rule(self, kind: str, body: str) -> str:
        if body in self._shared:
            return self._shared[body]
        MAX_RULES.check(len(self._rules) + 1)
        name = kind if kind not in self._rules else f"{kind}{len(self._rules)}"
        self._rules[name] = body
        self._shared[body] = name
        return name

    def _visit(self, schema: Any) -> str:
        if schema is True or schema == {}:
            return self._rule("scalar", " | ".join([self._string({}), self._number({}), '"true"', '"false"', '"null"']))
        if not isinstance(schema, Mapping):
            raise LLMConfigError(f"a JSON schema must be an object or true, not {schema!r}")
        self._depth += 1
        if self._depth > self._limits.depth:
            raise LLMConfigError(f"the JSON schema is nested more than {self._limits.depth} deep")
        try:
            return self._kind(schema)
        finally:
            self._depth -= 1

    def _kind(self, schema: Mapping[str, Any]) -> str:
        for keyword in _REFUSED:
            if keyword in schema:
                raise LLMConfigError(
                    f"a grammar can't say the JSON schema's {keyword!r}; describe the reply without it"
                )
        if "$ref" in schema:
            return self._reference(schema["$ref"])
        if "const" in schema:
            return _literal(schema["const"])
        if "enum" in schema:
            return self._choice([_literal(value) for value in schema["enum"]])
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                return self._choice([self._visit(option) for option in schema[keyword]])
        if "allOf" in schema:
            return self._visit(self._merged(schema))
        kinds = schema.get("type", "object" if "properties" in schema else "array" if "items" in schema else None)
        if isinstance(kinds, list):
            return self._choice([self._visit({**schema, "type": kind}) for kind in kinds])
        return self._typed(kinds, schema)

    def _typed(self, kind: Any, schema: Mapping[str, Any]) -> str:
        match kind:
            case None:
                return self._visit(True)
            case "string":
                return self._string(schema)
            case "integer":
                return self._integer(schema)
            case "number":
                return self._number(schema)
            case "boolean":
                return '("true" | "false")'
            case "null":
                return '"null"'
            case "array":
                return self._array(schema)
            case "object":
                return self._object(schema)
        raise LLMConfigError(f"{kind!r} is not a type of JSON schema")

    def _merged(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        if len(schema["allOf"]) != 1:
            raise LLMConfigError("a grammar can't say `allOf` of several schemas; put their properties into one")
        rest = {name: value for name, value in schema.items() if name != "allOf"}
        return {**schema["allOf"][0], **rest}

    def _choice(self, options: Sequence[str]) -> str:
        if not options:
            raise LLMConfigError("an enum or anyOf in the JSON schema is empty; give it at least one choice")
        return options[0] if len(options) == 1 else f"({' | '.join(options)})"

    def _reference(self, reference: Any) -> str:
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise LLMConfigError(f"{reference!r} leads out of the JSON schema; put what it refers to inside")
        if reference not in self._references:
            try:
                target = resolve(reference, self._schema)
            except LookupError:
                raise LLMConfigError(f"the JSON schema has no {reference!r}") from None
            name = f"ref{len(self._references)}"
            self._references[reference] = name
            self._rules[name] = ""  # holds the name while the target refers to itself
            body = self._visit(target)
            if body == name:
                raise LLMConfigError(f"{reference!r} in the JSON schema refers to nothing but itself")
            self._rules[name] = body
        return self._references[reference]

    def _string(self, schema: Mapping[str, Any]) -> str:
        return self._text(*self._lengths(schema))

    def _lengths(self, schema: Mapping[str, Any]) -> tuple[int, int]:
        """Return how long a text is at least and at most."""
        least = int(schema.get("minLength", 0))
        most = min(int(schema.get("maxLength", max(self._limits.string_chars, least))), MAX_REPEATS)
        if least > most:
            raise LLMConfigError(f"the JSON schema asks for a string of at least {least} and at most {most} characters")
        return least, most

    def _text(self, least: int, most: int) -> str:
        if most == 0:
            return r'"\"\""'
        char = self._rule("char", _CHAR)
        return self._rule("text", rf'"\"" {_repeat(char, least, most)} "\""')

    def _integer(self, schema: Mapping[str, Any]) -> str:
        low, high = _bounds(schema, Decimal(1))
        edge = 10**self._limits.integer_digits - 1
        first = min(-edge, edge if high is None else math.floor(high)) if low is None else math.ceil(low)
        last = max(edge, first) if high is None else math.floor(high)
        if first > last:
            raise LLMConfigError(f"no whole number is between {low} and {high}")
        return self._rule("int", whole_numbers(first, last))

    def _number(self, schema: Mapping[str, Any]) -> str:
        low, high = _bounds(schema, Decimal(1).scaleb(-self._limits.fraction_digits))
        edge = Decimal(10**self._limits.integer_digits - 1)
        if low is None:
            low = -edge if high is None else min(-edge, high)
        high = max(edge, low) if high is None else high
        try:
            return self._rule("num", decimals(low, high, self._limits.fraction_digits))
        except ValueError as error:
            raise LLMConfigError(f"the JSON schema asks for an impossible number: {error}") from None

    def _array(self, schema: Mapping[str, Any]) -> str:
        first = [self._visit(item) for item in schema.get("prefixItems", ())]
        rest = schema.get("items", not first)
        least = int(schema.get("minItems", len(first)))
        if first and least < len(first):
            least = len(first)  # a shorter tuple would be allowed, but a whole one is never wrong
        most = int(schema.get("maxItems", max(self._limits.array_items, least)))
        if rest is False:
            most = min(most, len(first))
        if least > most or len(first) > most:
            raise LLMConfigError(
                f"the JSON schema asks for a list of at least {max(least, len(first))} and at most {most} items"
            )
        return self._rule("list", f'"[" {self._items(first, rest, least, most)} "]"' if most else '"[]"')

    def _items(self, first: list[str], rest: Any, least: int, most: int) -> str:
        fixed = ' "," '.join(first)
        if len(first) == most:
            return fixed
        item = self._named(self._visit(rest), "item")
        if first:
            return f'{fixed} {_repeat(f"""("," {item})""", least - len(first), most - len(first))}'
        tail = f' {_repeat(f"""("," {item})""", max(least - 1, 0), most - 1)}' if most > 1 else ""
        return f"{item}{tail}" if least else f"({item}{tail})?"

    def _named(self, body: str, kind: str) -> str:
        return body if body.isalnum() else self._rule(kind, body)

    def _object(self, schema: Mapping[str, Any]) -> str:
        properties: Mapping[str, Any] = schema.get("properties", {})
        required = schema.get("required", ())
        unknown = [name for name in required if name not in properties]
        if unknown:
            raise LLMConfigError(f"the JSON schema requires {unknown[0]!r} and does not describe it")
        if not properties:
            return self._map(schema)
        pairs = [(self._pair(name, inner), name in required) for name, inner in properties.items()]
        return self._rule("obj", f'"{{" {self._pairs(pairs)} "}}"')

    def _pair(self, name: str, schema: Any) -> str:
        return f"{_quoted(json.dumps(name, ensure_ascii=False) + ':')} {self._named(self._visit(schema), 'value')}"

    def _pairs(self, pairs: list[tuple[str, bool]]) -> str:
        """Return all pairs in the schema's order; those that may be left out bring their own comma."""
        must = next((place for place, (_, needed) in enumerate(pairs) if needed), None)
        if must is not None:
            before = [f'({pair} ",")?' for pair, _ in pairs[:must]]
            after = [f'"," {pair}' if needed else f'("," {pair})?' for pair, needed in pairs[must + 1 :]]
            return " ".join([*before, pairs[must][0], *after])
        starts = []
        for place, (pair, _) in enumerate(pairs):
            later = [f'("," {other})?' for other, _ in pairs[place + 1 :]]
            starts.append(" ".join([pair, *later]))
        return f"({' | '.join(starts)})?"

    def _map(self, schema: Mapping[str, Any]) -> str:
        inner = schema.get("additionalProperties", False)
        least = int(schema.get("minProperties", 0))
        most = int(schema.get("maxProperties", max(self._limits.object_extras, least)))
        if inner is False or most == 0:
            return '"{}"'
        key = self._text(1, self._limits.key_chars)
        entry = self._rule("entry", f'{key} ":" {self._named(self._visit(inner), "value")}')
        tail = f' {_repeat(f"""("," {entry})""", max(least - 1, 0), most - 1)}' if most > 1 else ""
        body = f"{entry}{tail}" if least else f"({entry}{tail})?"
        return self._rule("map", f'"{{" {body} "}}"')


def _bounds(schema: Mapping[str, Any], step: Decimal) -> tuple[Decimal | None, Decimal | None]:
    """Return the least and the most, both included; an excluded bound moves by the smallest step."""
    low, high = _decimal(schema.get("minimum")), _decimal(schema.get("maximum"))
    above, below = _decimal(schema.get("exclusiveMinimum")), _decimal(schema.get("exclusiveMaximum"))
    if above is not None:
        least = above.quantize(step, ROUND_FLOOR) + step
        low = least if low is None else max(low, least)
    if below is not None:
        most = below.quantize(step, ROUND_CEILING) - step
        high = most if high is None else min(high, most)
    return low, high


def _decimal(value: Any) -> Decimal | None:
    return Decimal(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None
