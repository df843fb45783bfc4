"""Choose among several readings of a reply: the one that fits the declared fields best, the last among equals."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tickmind.llm.structured.coerce import Shaped, merge_single_keys, shape
from tickmind.llm.structured.readers.fields import Field
from tickmind.llm.structured.readers.limits import MAX_CANDIDATES
from tickmind.llm.structured.readers.loose_json import read_loose
from tickmind.llm.structured.readers.repair import Candidate, Grade

_EXAMPLE_COST = 2  # an object that is called an example needs this many more fitting fields
_DEEPEST_WRAPPER = 3
_TYPE_NAMES = frozenset(
    {"string", "str", "text", "number", "num", "float", "int", "integer", "boolean", "bool", "list", "array", "object"}
)


@dataclass(frozen=True, slots=True)
class Fit:
    """A candidate compared with the declared fields."""

    candidate: Candidate
    shaped: Shaped
    fields: Sequence[Field]

    @property
    def exact(self) -> int:
        """How many fitting fields are spelled as declared."""
        names = self.candidate.exact
        if names is None:
            return self.shaped.exact
        return sum(name in names for name in self.shaped.valid)

    @property
    def is_whole(self) -> bool:
        """Whether every required field fits."""
        return all(field.name in self.shaped.valid for field in self.fields if field.required)

    @property
    def is_accepted(self) -> bool:
        """Whether enough fits to accept it as the answer; the looser the reading, the more it takes."""
        count = sum(field.required for field in self.fields) or len(self.fields)
        valid = len(self.shaped.valid)
        grade = self.candidate.grade
        if count == 0:
            return grade >= Grade.MENDED
        if grade is Grade.CLEAN:
            return valid >= 1
        if grade is Grade.MENDED:
            return valid >= _share(count, 3)
        if valid >= count and self.is_whole:
            return True
        if not self._has_telling():
            return False
        if grade is Grade.LINES:
            return self.exact >= _share(count, 3) or valid >= max(2, _share(count, 2))
        return self.exact >= _share(count, 2)

    def _has_telling(self) -> bool:
        """Return whether a field that not any text could fill is among the fitting ones, if any such is declared."""
        telling = {field.name for field in self.fields if field.is_telling}
        return not telling or any(name in telling for name in self.shaped.valid)

    @property
    def rank(self) -> tuple[float, int, int]:
        """The larger, the better; later in the text wins among equals."""
        valid = len(self.shaped.valid) - (_EXAMPLE_COST if self.candidate.example else 0)
        return valid, int(self.candidate.grade >= Grade.MENDED), self.candidate.start


def _share(count: int, part: int) -> int:
    return -(-count // part)


def fits(candidates: Iterable[Candidate], fields: Sequence[Field]) -> list[Fit]:
    """Compare every candidate (and what it wraps) with the fields; keep those that can be the answer."""
    accepted: list[Fit] = []
    for count, candidate in enumerate(candidates):
        if not MAX_CANDIDATES.allows(count + 1):
            break
        for data in _objects(candidate.value, {field.name for field in fields}):
            fit = Fit(candidate, shape(data, fields), fields)
            if fit.is_accepted:
                accepted.append(fit)
    return accepted


def best(readings: Sequence[Fit]) -> Fit | None:
    """Return the answer among the readings, if there is any."""
    return max(enumerate(readings), key=lambda pair: (pair[1].rank, pair[0]))[1] if readings else None


def _objects(value: Any, names: set[str], depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the objects that a value can stand for: itself, a list's, or what a wrapper key holds."""
    if isinstance(value, str) and depth == 1 and value.lstrip().startswith("{"):
        value = read_loose(value.strip())
    if isinstance(value, list):
        items = [item for item in value if isinstance(item, dict)]
        if items and len(items) == len(value):
            merged = merge_single_keys(items)
            for item in [merged] if merged is not None else items[-int(MAX_CANDIDATES.maximum) :]:
                yield from _objects(item, names, depth + 1)
        return
    if not isinstance(value, dict):
        return
    if _is_schema(value, names):
        return
    yield value
    if not names or not names.isdisjoint(value) or depth >= _DEEPEST_WRAPPER:
        return
    for inner in value.values():
        if isinstance(inner, dict | str) or (isinstance(inner, list) and len(inner) == 1):
            yield from _objects(inner, names, depth + 1)


def _is_schema(value: dict[str, Any], names: set[str]) -> bool:
    """Return whether the model gave the form back instead of an answer: a JSON schema, or type names for values."""
    if "properties" in value and "properties" not in names and value.get("type", "object") == "object":
        return True
    return len(value) > 1 and all(isinstance(item, str) and item.lower() in _TYPE_NAMES for item in value.values())
