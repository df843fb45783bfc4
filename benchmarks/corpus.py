"""How much of what small models write is understood: our reading beside YAML and JSON repair libraries.

Run it with `python -m benchmarks corpus` or as a script. Replies of real models score the share of declared fields that
come back with a valid value, broken ones the share that comes back equal, garbage 1 if it is refused.
"""

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness import Result
from tickmind.llm.errors import StructuredOutputError
from tickmind.llm.structured import parse_fields as tickmind_parse

WANTED_SCORE = 90.0
REPLIES = Path(__file__).parent.parent / "tests" / "data" / "replies"
Parser = Callable[[str, Mapping[str, Any]], dict[str, Any]]
_TYPES: dict[str, type] = {"str": str, "bool": bool, "list": list, "dict": dict, "any": object}
_FENCE = re.compile(r"```\w*\s*\n(.*?)```", re.DOTALL)


def parse(text: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Our reading."""
    return tickmind_parse(text, fields)


def parse_with_yaml(text: str, _fields: Mapping[str, Any]) -> dict[str, Any]:
    """The last fenced block, or all of it, by `yaml.safe_load`."""
    import yaml  # only this peer needs it

    fenced = _FENCE.findall(text)
    try:
        value = yaml.safe_load(fenced[-1] if fenced else text)
    except yaml.YAMLError as error:
        raise StructuredOutputError("no YAML") from error
    return _as_object(value)


def parse_with_json_repair(text: str, _fields: Mapping[str, Any]) -> dict[str, Any]:
    """By `json_repair`."""
    import json_repair  # only this peer needs it

    return _as_object(json_repair.loads(text))


def parse_with_both(text: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """YAML first, then JSON repair."""
    try:
        return parse_with_yaml(text, fields)
    except StructuredOutputError:
        return parse_with_json_repair(text, fields)


def _as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise StructuredOutputError("no object")
    return value


def cases() -> Iterator[dict[str, Any]]:
    """All replies, each with its declared fields and either what it means or whether it means anything."""
    for name in ("replies.jsonl", "broken.jsonl"):
        for line in (REPLIES / name).read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def score(parser: Parser) -> dict[str, float]:
    """The mean score, 0 to 100, over all cases and per group."""
    groups: dict[str, list[float]] = {"parsable": [], "garbage": [], "broken": []}
    for case in cases():
        try:
            got: dict[str, Any] | None = parser(case["output"], case["fields"])
        except StructuredOutputError:
            got = None
        group = "broken" if "expected" in case else case["kind"]
        groups[group].append(_score_one(case, got))
    everything = [one for group in groups.values() for one in group]
    groups["all"] = everything
    return {name: 100 * sum(values) / len(values) for name, values in groups.items()}


def _score_one(case: dict[str, Any], got: dict[str, Any] | None) -> float:
    if case.get("kind") == "garbage":
        return float(got is None)
    if got is None:
        return 0.0
    if "expected" in case:
        wanted = case["expected"]
        return sum(_same(got.get(name), value) for name, value in wanted.items()) / len(wanted)
    fields = case["fields"]
    return sum(name in got and _valid(got[name], kind) for name, kind in fields.items()) / len(fields)


def _valid(value: object, kind: object) -> bool:
    if isinstance(kind, list):
        return value in kind
    if kind == "num":
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, _TYPES[str(kind)])


def _same(one: object, other: object) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.strip() == other.strip()
    return one == other and type(one) is type(other)


def scores() -> list[Result]:
    """How many points reading real and broken replies gets, of 100, beside the libraries for it."""
    ours, peer = score(parse)["all"], score(parse_with_both)["all"]
    ratio = ours / peer
    return [
        Result("corpus/score", ours, "points", "yaml + json_repair", peer, ratio, WANTED_SCORE / peer, (ratio, ratio))
    ]


BENCHMARKS = (scores,)


def main() -> None:
    """Print the table."""
    peers: dict[str, Parser] = {
        "tickmind": parse,
        "yaml.safe_load + fences": parse_with_yaml,
        "json_repair": parse_with_json_repair,
        "both libraries": parse_with_both,
    }
    replies = list(cases())
    print(f"{len(replies)} replies; higher is better\n")
    print(f"{'':<26}{'all':>7}{'parsable':>10}{'garbage':>9}{'broken':>8}{'us/reply':>10}")
    for name, parser in peers.items():
        scores = score(parser)  # also warms up imports
        start = time.perf_counter()
        score(parser)
        micros = (time.perf_counter() - start) / len(replies) * 1e6
        row = f"{scores['all']:>7.1f}{scores['parsable']:>10.1f}{scores['garbage']:>9.1f}{scores['broken']:>8.1f}"
        print(f"{name:<26}{row}{micros:>10.0f}")


if __name__ == "__main__":
    main()
