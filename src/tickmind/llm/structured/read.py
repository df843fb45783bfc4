"""Read a reply as the typed object that it means, or raise an error that says what was tried."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tickmind.llm.errors import StructuredOutputError
from tickmind.llm.structured.choose import Fit, best, fits
from tickmind.llm.structured.coerce import MisfitError, coerce, fits_natively
from tickmind.llm.structured.readers.extract import Block, blocks, clean
from tickmind.llm.structured.readers.fields import Field, FieldKind, field_of_kind
from tickmind.llm.structured.readers.json_reader import strict_json
from tickmind.llm.structured.readers.limits import MAX_REPAIR_CHARS, MAX_REPLY_CHARS
from tickmind.llm.structured.readers.repair import (
    Candidate,
    Form,
    Grade,
    candidates,
    last_whole_object,
    prose_candidates,
)
from tickmind.llm.structured.readers.scalars import Plain
from tickmind.llm.structured.schema import VALUE_FIELD, ReplySchema

T = TypeVar("T")
_MOST_NAMES = 12
_OPENINGS = frozenset("{ \n")


@dataclass(frozen=True, slots=True)
class ReadReply(Generic[T]):
    """The object that a reply means. `notes` lists what was repaired or converted, for logs and for judging prompts."""

    value: T
    data: dict[str, Any]
    notes: tuple[str, ...] = ()


def read_reply(text: str, schema: ReplySchema[T], *, form: Form = "any", cut: bool = False) -> ReadReply[T]:
    """Find the object that the reply means and type it; raises `StructuredOutputError` and makes up no value.

    `form` "json" looks at braces only, "yaml" at YAML only; "any" accepts all forms. `cut` says that the reply did not
    end by itself: its last value counts only if it is whole, because `12` may have been going to be `123`.
    """
    clean = _clean_json(text, schema.fields) if form != "yaml" and not schema.closed else None
    if clean is not None:
        try:
            return ReadReply(schema.validate(clean), clean)
        except StructuredOutputError as error:
            raise StructuredOutputError(str(error), raw_content=text, tried=("JSON",)) from error
    if schema.is_wrapped and form != "yaml" and (bare := _bare_value(text, schema)) is not None:
        return bare
    fit = _find(text, schema.fields, form, cut=cut)
    data = {**fit.shaped.data, **{name: raw for name, (raw, _) in fit.shaped.bad.items()}}
    notes = (*fit.candidate.notes, *fit.shaped.notes)
    if schema.closed:
        names = {field.name for field in schema.fields}
        extra = [name for name in data if name not in names]
        if extra:
            data = {name: value for name, value in data.items() if name in names}
            notes = (*notes, "left out undeclared fields: " + ", ".join(extra)[:200])
    try:
        return ReadReply(schema.validate(data), data, notes)
    except StructuredOutputError as error:
        raise StructuredOutputError(str(error), raw_content=text, tried=notes) from error


def _bare_value(text: str, schema: ReplySchema[T]) -> ReadReply[T] | None:
    """Read a reply that is the value itself, without the object around it, if it shows where it ends."""
    if not MAX_REPAIR_CHARS.allows(len(text)):
        return None
    for block in reversed(blocks(clean(text).text)):
        value = strict_json(block.text.strip())
        if not isinstance(value, list | str | dict | bool) or (isinstance(value, dict) and VALUE_FIELD in value):
            continue
        try:
            return ReadReply(schema.validate({VALUE_FIELD: value}), {VALUE_FIELD: value}, ("a bare value was read",))
        except StructuredOutputError:
            continue
    return None


def parse_fields(text: str, fields: Mapping[str, FieldKind]) -> dict[str, Any]:
    """Return the fields that a reply states, each of its kind; missing and wrong ones are left out.

    For callers that can use a part of an answer. Raises `StructuredOutputError` if there is no answer.
    """
    declared = tuple(field_of_kind(name, kind) for name, kind in fields.items())
    clean = _clean_json(text, declared)
    return _find(text, declared, "any", cut=False).shaped.data if clean is None else clean


def _clean_json(text: str, fields: Sequence[Field]) -> dict[str, Any] | None:
    """Read the common case in a few microseconds: the reply is exactly the requested JSON and nothing else."""
    if not fields or text[:1] not in _OPENINGS or len(text) > MAX_REPLY_CHARS.maximum:
        return None
    data = strict_json(text)
    return data if isinstance(data, dict) and fits_natively(data, fields) else None


def _find(text: str, fields: Sequence[Field], form: Form, *, cut: bool) -> Fit:
    if not MAX_REPLY_CHARS.allows(len(text)):
        raise _refused(text, f"the reply has {len(text):,} characters, more than {MAX_REPLY_CHARS.maximum:,}", fields)
    if form != "yaml":
        whole = strict_json(text) if text.lstrip()[:1] in {"{", "["} else None
        readings = fits([Candidate(whole, Grade.CLEAN, 0)], fields) if whole else []
        if readings:
            return readings[-1] if len(readings) == 1 else _best(readings, text, fields)
    if not text.strip():
        raise _refused(text, "the reply is empty", fields)
    if not MAX_REPAIR_CHARS.allows(len(text)):
        size = f"{len(text):,} characters, more than {MAX_REPAIR_CHARS.maximum:,}"
        raise _refused(text, f"the reply is no clean JSON and has {size}", fields)
    inner = strict_json(text) if text.lstrip()[:1] == '"' else None
    cleaned = clean(inner if isinstance(inner, str) else text)
    stretches = blocks(cleaned.text)
    readings = fits(_structured(stretches, fields, form, cut=cut), fields)
    if form != "json" and not any(fit.is_whole for fit in readings):
        open_end = cut and not (stretches and stretches[-1].closed)
        readings += fits(prose_candidates(cleaned.text, fields, cut=open_end), fields)
        readings += [] if cut else fits(_single_word(cleaned.text, fields), fields)
    if not readings and cleaned.unclosed:
        last = last_whole_object(cleaned.unclosed)
        readings = [fit for fit in fits([last] if last else [], fields) if fit.is_whole]
    return _best(readings, text, fields)


def _best(readings: list[Fit], text: str, fields: Sequence[Field]) -> Fit:
    fit = best(readings)
    if fit is None:
        raise _refused(text, "no object with the wanted fields is in the reply", fields)
    return fit


def _structured(stretches: Sequence[Block], fields: Sequence[Field], form: Form, *, cut: bool) -> Iterator[Candidate]:
    for block in stretches:
        yield from candidates(block, fields, form, cut=cut)


def _single_word(text: str, fields: Sequence[Field]) -> Iterator[Candidate]:
    """Yield the reading of a single word: `flee` alone answers a question with one field of allowed values."""
    if len(fields) == 1 and fields[0].kind in {"enum", "bool"}:
        word = text.strip(" \t\n`*\"'.!")
        try:
            value, _ = coerce(Plain(word), fields[0])
        except MisfitError:
            return
        if len(word) <= len(str(value)) + 4:
            yield Candidate({fields[0].name: value}, Grade.LINES, 0, notes=("a single word was read",))


def _refused(text: str, why: str, fields: Sequence[Field]) -> StructuredOutputError:
    names = ", ".join(field.name for field in fields[:_MOST_NAMES]) + (", ..." if len(fields) > _MOST_NAMES else "")
    return StructuredOutputError(
        f"{why}; answer with one object that has the fields {names}" if names else f"{why}; answer with one object",
        raw_content=text,
        tried=("JSON", "YAML", "labels in the text"),
    )
