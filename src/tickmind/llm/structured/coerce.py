"""Convert values to what the declared fields require, by unsurprising conversions only.

Text becomes a boolean only if it says so ("false", "no"), a number only if all of it is one, an allowed value only
if it is that value in other spelling. Everything else stays a misfit, which the model gets as feedback.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from tickmind.llm.structured.readers.field_names import Spelling, match_keys, words
from tickmind.llm.structured.readers.fields import Field
from tickmind.llm.structured.readers.loose_json import read_loose
from tickmind.llm.structured.readers.scalars import Plain, is_finite_number, is_null, meant, number, settle
from tickmind.llm.texts import shortened

_TRUE = frozenset({"true", "yes", "on"})
_FALSE = frozenset({"false", "no", "off"})
_NOTHING = frozenset({"", "none", "null", "[]", "n/a"})
_EDGES = " \t\r\n\"'`*_.!,;:\u201c\u201d\u2018\u2019"
_QUOTED_PIECES = re.compile(r"""\s*(?:"[^"]*"|'[^']*')(?:\s*[;,]\s*(?:"[^"]*"|'[^']*'))+\s*[;,]?\s*""")
_PIECE = re.compile(r"""["']([^"']*)["']""")
_BULLET = re.compile(r"^[ \t]*+(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_REMARK = re.compile(r"[(:,;\u2014]|\s[-\u2013]\s")
_ORDINAL = re.compile(r"(?:[a-z]+[ _-]?)?\d{1,3}", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\s*(?:<[^<>\n]{1,40}>|\.\.\.)\s*")  # copied from a template, not filled in
_WITH_REMARK = re.compile(r"([^\s()]{1,64})\s{0,8}\([^()]*\)\s*")  # -5 (a little less)
_PAIR = re.compile(r"\w{1,64}\s{0,8}[:=]\s*[^\s/]")
_NUMBERED = re.compile(r"(?:^|\s)(\d{1,2})[.)]\s")
_LONGEST_SHOWN = 60


_NATIVE: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "num": (float, int),
    "int": (int,),
    "bool": (bool,),
    "list": (list,),
    "dict": (dict,),
}  # kind -> the types of parsed JSON that need no conversion


class MisfitError(ValueError):
    """A value that does not fit its field, in plain words."""


@dataclass(frozen=True, slots=True)
class Shaped:
    """An object arranged by the declared fields."""

    data: dict[str, Any]  # declared fields with fitting values under their declared names, then everything undeclared
    bad: dict[str, tuple[Any, str]]  # declared name -> the value that doesn't fit, why
    valid: tuple[str, ...]
    exact: int  # how many of the valid ones are spelled as declared
    notes: tuple[str, ...] = dataclass_field(default=())


def fits_natively(data: Mapping[str, Any], fields: Iterable[Field]) -> bool:
    """Return whether parsed JSON has every required field as declared, so that nothing needs repair."""
    present = False
    for field in fields:
        if field.name not in data:
            if field.required:
                return False
            continue
        present = True
        value, kind = data[field.name], field.kind
        if kind == "enum":
            if not isinstance(value, str) or value not in field.choices:
                return False
        elif kind != "any" and not _fits_natively(value, field):
            return False
    return present


def _fits_natively(value: Any, field: Field) -> bool:
    if type(value) not in _NATIVE[field.kind] or field.fields:
        return False
    if field.kind == "str":
        return not _PLACEHOLDER.fullmatch(value)
    inner = field.items
    if inner is None or inner.kind == "any":
        return True
    types = _NATIVE.get(inner.kind, ())
    return not inner.fields and inner.items is None and all(type(item) in types for item in value)


def shape(data: Mapping[str, Any], fields: Iterable[Field]) -> Shaped:
    """Rename keys to the declared names and convert values to the declared kinds; nothing is invented."""
    by_name = {field.name: field for field in fields}
    matched = match_keys((str(key) for key in data), tuple(by_name))
    out: dict[str, Any] = {}
    bad: dict[str, tuple[Any, str]] = {}
    valid: list[str] = []
    notes: list[str] = []
    exact = 0
    for raw_key, value in data.items():
        key = str(raw_key)
        if key not in matched:
            out.setdefault(key, settle(value))
            continue
        name, how = matched[key]
        if is_null(value) and not by_name[name].required and not by_name[name].nullable:
            continue  # null stands for a field that is left out
        try:
            fitting, note = coerce(value, by_name[name])
            if how is Spelling.NEAR:
                _check_near(value, by_name[name], note)
        except MisfitError as misfit:
            if how is Spelling.NEAR:
                out.setdefault(key, settle(value))
            else:
                bad[name] = (settle(value), str(misfit))
            continue
        if how is not Spelling.EXACT:
            notes.append(f"read {key!r} as {name!r}")
        if note:
            notes.append(f"{name}: {note}")
        out[name] = fitting
        valid.append(name)
        exact += how is Spelling.EXACT
    return Shaped(out, bad, tuple(valid), exact, tuple(notes))


def fitted(data: Mapping[str, Any], fields: Iterable[Field]) -> dict[str, Any]:
    """Return the object with all that could be converted; a misfit stays as it is, for a check that names it."""
    shaped = shape(data, fields)
    return {**shaped.data, **{name: raw for name, (raw, _) in shaped.bad.items()}}


def _check_near(value: Any, field: Field, note: str) -> None:
    """Require of a key that is only almost the name exactly what the field requires: `target_x: 5` is no target."""
    if note or (field.kind == "str" and isinstance(value, Plain) and not isinstance(meant(value), str)):
        raise MisfitError("the name is only similar and the value is of another kind")


def coerce(value: Any, field: Field) -> tuple[Any, str]:
    """Convert a value for its field and note what was changed (empty if nothing); raises `MisfitError`."""
    if field.nullable and (is_null(value) or (field.kind != "str" and value == "null")):
        return None, ""
    match field.kind:
        case "any":
            return settle(value), ""
        case "str":
            return _text(value)
        case "num" | "int":
            return _number(value, field)
        case "bool":
            return _boolean(value)
        case "enum":
            return _choice(value, field)
        case "list":
            return _list(value, field)
        case "dict":
            return _object(value, field)


def _misfit(field: str, value: Any) -> MisfitError:
    return MisfitError(f"should be {field}, not {shortened(repr(settle(value)), _LONGEST_SHOWN)}")


def _text(value: Any) -> tuple[str, str]:
    if isinstance(value, str):
        if (isinstance(value, Plain) and value in {"null", "~"}) or _PLACEHOLDER.fullmatch(value):
            raise _misfit("a text", value)
        return str(value), ""
    if is_finite_number(value):
        return str(value), "a number was taken as text"
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "\n".join(value), "lines were joined to one text" if len(
            value
        ) > 1 else "a list of one text was unwrapped"
    raise _misfit("a text", value)


def _number(value: Any, field: Field) -> tuple[int | float, str]:
    note = ""
    if isinstance(value, str):
        if not isinstance(value, Plain):
            note = "a number in quotes was taken as a number"
            value = value.strip()
        parsed = number(_without_remark(value))
    else:
        parsed = value if is_finite_number(value) else None
    if parsed is None:
        raise _misfit(field.wanted(), value)
    if field.kind == "int" and isinstance(parsed, float):
        if not parsed.is_integer():
            raise _misfit(field.wanted(), value)
        return int(parsed), note
    return parsed, note


def _without_remark(text: str) -> str:
    """Drop a remark: `-5 (a little less)` is -5; in all other prose a number or a yes is nothing by itself."""
    hit = _WITH_REMARK.fullmatch(text)
    return text if hit is None else hit[1]


def _boolean(value: Any) -> tuple[bool, str]:
    if isinstance(value, bool):
        return value, ""
    if isinstance(value, str):
        word = _without_remark(value).strip(_EDGES).lower()
        if word in _TRUE or word in _FALSE:
            note = "" if isinstance(value, Plain) else f"the text {str(value)!r} was taken as {word in _TRUE}".lower()
            return word in _TRUE, note
        value = number(value) if isinstance(value, Plain) and len(value) == 1 else value
    if isinstance(value, int) and value in {0, 1}:
        return value == 1, "a number was taken as true or false"
    raise _misfit("true or false", value)


def _choice(value: Any, field: Field) -> tuple[Any, str]:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    for choice in field.choices:
        if type(choice) is type(value) and choice == value:
            return choice, ""
    if not isinstance(value, str):
        for choice in field.choices:  # 2.0 for 2, and 2 for "2"
            if is_finite_number(value) and (choice == value or choice == str(value)) and not isinstance(choice, bool):
                return choice, ""
            if isinstance(value, bool) and isinstance(choice, str) and choice.lower() == str(value).lower():
                return choice, ""
        raise _misfit(field.wanted(), value)
    for choice in field.choices:
        if not isinstance(choice, str) and isinstance(value, Plain) and choice == meant(value):
            return choice, ""
        if str(value) == str(choice):
            return choice, ""
    tidy = value.strip(_EDGES)
    same = [choice for choice in field.choices if _same_words(tidy, str(choice))]
    if len(same) == 1:
        return same[0], f"{str(value)!r} was taken as {same[0]!r}"
    return _choice_with_remark(value, tidy, field)


def _same_words(text: str, choice: str) -> bool:
    return text.lower() == choice.lower() or (bool(words(choice)) and "".join(words(text)) == "".join(words(choice)))


def _choice_with_remark(value: str, tidy: str, field: Field) -> tuple[Any, str]:
    """Match a choice with a remark: `flee (the wolf is near)` is flee; `flee or rest` and `flee, rest` are neither."""
    remark = _REMARK.search(tidy)
    if remark is not None:
        head, tail = tidy[: remark.start()].strip(_EDGES), tidy[remark.start() :].lower()
        same = [choice for choice in field.choices if _same_words(head, str(choice))]
        others = [choice for choice in field.choices if re.search(rf"\b{re.escape(str(choice).lower())}\b", tail)]
        if len(same) == 1 and not [choice for choice in others if choice != same[0]]:
            return same[0], f"{value[:_LONGEST_SHOWN]!r} was taken as {same[0]!r}"
    raise _misfit(field.wanted(), value)


def _list(value: Any, field: Field) -> tuple[list[Any], str]:
    items, note = _as_list(value)
    if field.items is None or field.items.kind == "any":
        return [settle(item) for item in items], note
    out = []
    for item in items:
        try:
            out.append(_item(item, field.items))
        except MisfitError:
            out.append(settle(item))  # validation names it, with its place
    return out, note


def _item(item: Any, field: Field) -> Any:
    if field.kind == "str" and isinstance(item, dict) and len(item) == 1:
        key, value = next(iter(item.items()))  # "- Note: buy bread" is a text with a colon, not an object
        return f"{key}: {_text(value)[0]}"
    return coerce(item, field)[0]


def _as_list(value: Any) -> tuple[list[Any], str]:
    if isinstance(value, list):
        return value, ""
    if is_null(value):
        return [], "nothing was taken as an empty list"
    if isinstance(value, dict):
        if value and all(_ORDINAL.fullmatch(str(key)) for key in value):
            return list(value.values()), "numbered entries were taken as a list"
        return [value], "one object was taken as a list of one"
    if not isinstance(value, str):
        return [value], "one value was taken as a list of one"
    text = value.strip()
    if text.lower() in _NOTHING:
        return [], "nothing was taken as an empty list"
    if text.startswith("[") and not text.endswith("]") and "]" not in text:
        raise _misfit("a whole list", value)  # what was cut off is no list
    if text.startswith("[") and isinstance(parsed := read_loose(text), list):
        return parsed, "a list in quotes was taken as a list"
    if _QUOTED_PIECES.fullmatch(text):
        return _PIECE.findall(text), "quoted pieces were taken as a list"
    if len(_BULLET.findall(text)) > 1 and _BULLET.match(text):
        return [piece.strip() for piece in _BULLET.split(text) if piece.strip()], "bullets were taken as a list"
    if len(numbered := _numbered(text)) > 1:
        return list(numbered), "numbered pieces were taken as a list"
    pieces = [piece.strip() for piece in text.split(",")]
    if len(pieces) > 1 and all(0 < len(piece.split()) <= 2 for piece in pieces):
        return list(pieces), "names with commas were taken as a list"
    return [value], "one value was taken as a list of one"


def _numbered(text: str) -> list[str]:
    """Split `1. go 2. eat`, which YAML folds into one line; empty if the numbers don't count up from one."""
    starts: list[tuple[int, int]] = []
    for hit in _NUMBERED.finditer(text):
        if int(hit[1]) == len(starts) + 1:
            starts.append((hit.start(), hit.end()))
    if not starts or starts[0][0] != 0:
        return []
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return [text[begin:end].strip() for (_, begin), end in zip(starts, ends, strict=True)]


def _object(value: Any, field: Field) -> tuple[dict[str, Any], str]:
    note = ""
    if isinstance(value, str) and not is_null(value) and value.lstrip().startswith("{"):
        value, note = read_loose(value.strip()), "an object in quotes was taken as an object"
    if isinstance(value, Plain) and _PAIR.match(value):
        value, note = read_loose("{" + value + "}"), "a pair on the line was taken as an object"
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        merged = merge_single_keys(value)
        if merged is not None:
            value, note = merged, "a list of single entries was taken as one object"
    if is_null(value):
        return {}, "nothing was taken as an empty object"
    if not isinstance(value, dict):
        raise _misfit("an object", value)
    if not field.fields:
        return settle(value), note
    return fitted(value, field.fields), note


def merge_single_keys(items: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Merge a list of single entries (`- a: 1` / `- b: 2`) into one object; None if it is a real list."""
    if len(items) == 1:
        return items[0]
    merged: dict[str, Any] = {}
    for item in items:
        if len(item) != 1 or not merged.keys().isdisjoint(item):
            return None
        merged.update(item)
    return merged
