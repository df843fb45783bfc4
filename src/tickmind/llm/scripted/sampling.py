"""Random values that are valid for a JSON schema."""

import math
import random
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.structured.json_schema import SchemaChecker, resolve

# fmt: off
WORDS = (
    "amber", "ash", "barley", "birch", "bread", "brook", "candle", "chalk", "clover", "copper", "dawn", "drift",
    "ember", "fern", "field", "flint", "fog", "garden", "gate", "harbour", "hazel", "hearth", "hill", "honey",
    "iron", "ivy", "lantern", "linen", "maple", "market", "meadow", "mill", "mist", "moss", "oak", "orchard",
    "path", "pebble", "pine", "rain", "reed", "ridge", "river", "rope", "salt", "sand", "shadow", "silver", "smoke",
    "snow", "spring", "stone", "stream", "thorn", "timber", "tower", "valley", "wheat", "willow", "wind", "winter",
    "wool", "yard"
)
# fmt: on
_TRIES = 20
_SHALLOW = 4  # beyond this depth optional things are left out
_DEEPEST = 60
_DEFAULT_SPAN = 100
_LONGEST_TEXT = 40
_FORMATS = {
    "date": "2026-03-14",
    "time": "09:26:53Z",
    "date-time": "2026-03-14T09:26:53Z",
    "email": "ash@example.org",
    "uri": "https://example.org/path",
    "hostname": "example.org",
    "ipv4": "192.0.2.7",
    "ipv6": "2001:db8::7",
}
_PATTERN_GUESSES = ("a", "A", "1", "abc", "Abc", "ABC", "123", "a1", "abc-123", "abc_123", "#a1b2c3", "12:30", "1.2.3")
_RANGES = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}


def sample_json(schema: Mapping[str, Any], rng: random.Random) -> Any:
    """Make up a value that the schema accepts, checked; the same generator state gives the same value.

    Raises `LLMConfigError` for a schema that is invalid or for which no value could be made up: script that reply.
    """
    checker = SchemaChecker(schema)
    sampler = _Sampler(schema, rng)
    problems: list[tuple[str, str]] = []
    for _ in range(_TRIES):
        value = sampler.value(schema, 0)
        problems = checker.problems(value)
        if not problems:
            return value
    raise LLMConfigError(f"no value could be made up for this schema ({problems[0][1]}); script the reply instead")


class _Sampler:
    def __init__(self, root: Mapping[str, Any], rng: random.Random) -> None:
        self._root = root
        self._rng = rng

    def value(self, schema: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            raise LLMConfigError("this schema asks for endlessly nested values; make one of its references optional")
        if schema is True or schema == {}:
            return self._word()
        if schema is False:
            raise LLMConfigError("this schema asks for a value where it allows none")
        schema = self._flat(schema, depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._rng.choice(schema["enum"])
        kind = self._kind(schema, depth)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind == "string":
            return self._string(schema)
        if kind == "integer":
            return int(self._number(schema, whole=True))
        if kind == "number":
            return self._number(schema, whole=False)
        return self._rng.random() < 0.5 if kind == "boolean" else None

    def _flat(self, schema: Mapping[str, Any], depth: int) -> Mapping[str, Any]:
        """Resolve references and combinations: one branch of each is chosen."""
        for _ in range(_DEEPEST):
            if "$ref" in schema:
                schema = _merge(_without(schema, "$ref"), self._resolve(schema["$ref"]))
            elif "allOf" in schema:
                parts = schema["allOf"]
                schema = _without(schema, "allOf")
                for part in parts:
                    schema = _merge(schema, part)
            elif "anyOf" in schema:
                schema = _merge(_without(schema, "anyOf"), self._branch(schema["anyOf"], depth))
            elif "oneOf" in schema:
                schema = _merge(_without(schema, "oneOf"), self._branch(schema["oneOf"], depth))
            else:
                return schema
        raise LLMConfigError("this schema's references lead back to themselves without a value between")

    def _resolve(self, reference: str) -> Mapping[str, Any]:
        if not reference.startswith("#"):
            raise LLMConfigError(f"only references within the schema are followed, not {reference!r}")
        try:
            target: Mapping[str, Any] = resolve(reference, self._root)
        except LookupError:
            raise LLMConfigError(f"the schema has nothing at its own reference {reference!r}") from None
        return target

    def _branch(self, branches: Sequence[Any], depth: int) -> Any:
        if depth > _SHALLOW:
            plain = [branch for branch in branches if isinstance(branch, Mapping) and "$ref" not in branch]
            branches = plain or branches
        return self._rng.choice(branches)

    def _kind(self, schema: Mapping[str, Any], depth: int) -> str:
        kind = schema.get("type")
        if isinstance(kind, str):
            return kind
        if isinstance(kind, Sequence):
            simple = [name for name in kind if name not in {"object", "array"}] if depth > _SHALLOW else []
            return str(self._rng.choice(simple or list(kind)))
        if "properties" in schema or "required" in schema:
            return "object"
        if "items" in schema or "prefixItems" in schema:
            return "array"
        if "minimum" in schema or "maximum" in schema or "multipleOf" in schema:
            return "number"
        return "string"

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        known: Mapping[str, Any] = schema.get("properties", {})
        required = schema.get("required", [])
        others = schema.get("additionalProperties", True)
        value: dict[str, Any] = {}
        for name, part in known.items():
            if name in required or (depth < _SHALLOW and self._rng.random() < 0.7):
                value[name] = self.value(part, depth + 1)
        for name in required:
            if name not in value:
                value[name] = self.value(others, depth + 1)
        wanted = schema.get("minProperties", 0)
        if isinstance(others, Mapping) and others and not known and depth < _SHALLOW:
            wanted = max(wanted, min(schema.get("maxProperties", 3), self._rng.randint(1, 3)))
        names = iter(self._rng.sample(WORDS, len(WORDS)))
        while len(value) < wanted and others is not False and (word := next(names, None)) is not None:
            value.setdefault(word, self.value(others, depth + 1))
        return value

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        first = [self.value(part, depth + 1) for part in schema.get("prefixItems", [])]
        items = schema.get("items", True)
        fewest = schema.get("minItems", 0)
        most = schema.get("maxItems", fewest if depth > _SHALLOW else max(fewest, len(first)) + 3)
        count = fewest if depth > _SHALLOW else self._rng.randint(fewest, min(most, fewest + 3))
        value = first[:most]
        for _ in range(count * _TRIES):
            if len(value) >= count or items is False:
                break
            item = self.value(items, depth + 1)
            if not (schema.get("uniqueItems") and item in value):
                value.append(item)
        return value

    def _string(self, schema: Mapping[str, Any]) -> str:
        if "pattern" in schema:
            return self._matching(schema)
        if schema.get("format") == "uuid":
            return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))
        if schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]]
        shortest = schema.get("minLength", 0)
        longest = schema.get("maxLength", max(shortest, _LONGEST_TEXT))
        text = " ".join(self._word() for _ in range(self._rng.randint(1, 4)))
        while len(text) < shortest:
            text += f" {self._word()}"
        return text[:longest].rstrip().ljust(shortest, ".")

    def _matching(self, schema: Mapping[str, Any]) -> str:
        pattern = schema["pattern"]
        lengths = range(schema.get("minLength", 0), schema.get("maxLength", 10_000) + 1)
        guesses = [*schema.get("examples", []), schema.get("default"), *_PATTERN_GUESSES, *_FORMATS.values()]
        guesses += [guess * times for guess in ("a", "A", "1") for times in range(2, 33)]
        fitting = [x for x in guesses if isinstance(x, str) and len(x) in lengths and re.search(pattern, x)]
        if not fitting:
            raise LLMConfigError(f"no text could be made up for the pattern {pattern!r}; give the schema `examples`")
        return self._rng.choice(fitting)

    def _number(self, schema: Mapping[str, Any], *, whole: bool) -> float:
        step = schema.get("multipleOf", 1 if whole else None)
        low, high = schema.get("minimum"), schema.get("maximum")
        nudge = step or 1e-3
        if (above := schema.get("exclusiveMinimum")) is not None:
            low = max(above + nudge, low if low is not None else -math.inf)
        if (below := schema.get("exclusiveMaximum")) is not None:
            high = min(below - nudge, high if high is not None else math.inf)
        if low is None:
            low = 0 if high is None or high >= 0 else high - _DEFAULT_SPAN
        if high is None:
            high = low + _DEFAULT_SPAN
        if step is None:
            return min(max(round(self._rng.uniform(low, high), 3), low), high)
        first, last = math.ceil(low / step), math.floor(high / step)
        if first > last:
            raise LLMConfigError(f"this schema allows no number between {low} and {high} in steps of {step}")
        return float(self._rng.randint(first, last) * step) if not whole else self._rng.randint(first, last) * step

    def _word(self) -> str:
        return self._rng.choice(WORDS)


def _without(schema: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != name}


def _merge(base: Mapping[str, Any], more: Any) -> dict[str, Any]:
    """Merge two schemas as far as one schema can say both; the caller checks the value against the whole one."""
    if not isinstance(more, Mapping):
        return dict(base)
    merged = dict(base)
    for name, value in more.items():
        if name == "properties" and name in merged:
            merged[name] = {**merged[name], **value}
        elif name == "required" and name in merged:
            merged[name] = list(dict.fromkeys([*merged[name], *value]))
        elif name in {"allOf", "anyOf", "oneOf", "$ref"} and name in merged:
            merged["allOf"] = [*merged.get("allOf", []), {name: value}]
        elif name in _RANGES and name in merged:
            merged[name] = _RANGES[name](merged[name], value)
        elif name == "enum" and name in merged:
            merged[name] = [item for item in merged[name] if item in value] or value
        else:
            merged[name] = value
    return merged
