"""Read `key: value` lines as models write them: YAML that is not quite YAML, bold labels in prose, tables, headings.

Each field's section is read by itself, so that one broken line costs one field and not the reply.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tickmind.llm.structured.readers.field_names import Spelling, spelling, words
from tickmind.llm.structured.readers.fields import Field
from tickmind.llm.structured.readers.limits import MAX_DEPTH, MAX_LINES
from tickmind.llm.structured.readers.loose_json import read_loose, unfinished
from tickmind.llm.structured.readers.scalars import Plain
from tickmind.llm.structured.readers.yaml_reader import NotYamlError, read_yaml

_MARKS = "\"'`*_\u201c\u201d\u2018\u2019"
_BULLET = re.compile(r"[ \t]*+(?:[-*+\u2022>]|\d{1,3}[.)]|\#{1,6})[ \t]+")
_LIST_BULLET = re.compile(r"([ \t]*+)(?:[-*+\u2022]|\d{1,3}[.)])(?:[ \t]+|$)")
_HEAD = re.compile(
    rf"(?P<open>[{_MARKS}]{{0,3}})(?P<key>[^\W\d_][^:=|\n{{}}\[\]\"]{{0,60}}?|_\w{{0,60}})"
    rf"(?P<close>[{_MARKS}]{{0,3}})[ \t]{{0,4}}"
    rf"(?:(?P<mark>:=|=>|:|\uff1a)(?=[\s{_MARKS}\[{{]|$|-?\d)|(?P<equals>=)(?![=>]))(?P<rest>.*)$"
)
_ROW = re.compile(r"\|(?P<key>[^|\n]{1,60})\|(?P<rest>[^|\n]*)\|$")
_HEADING = re.compile(r"[ \t]*(?:\#{1,6}[ \t]+|\*\*)(?P<key>[^:*\n]{1,60}?)(?:\*\*)?[ \t]*$")
_TAG = re.compile(r"<(?P<key>[A-Za-z_][\w-]{0,60})>(?P<rest>.*)$")
_BLOCK_SCALAR = re.compile(r"[|>][+-]?\d?[+-]?[ \t]*(?:\#.*)?$")
_COMMENT = re.compile(r"(?<![ \t])[ \t]++(?:\#|//)[ \t].*$")
_KEY_SHAPE = re.compile(r"[^\W\d]\w*")
_MOST_LABEL_WORDS = 5
_SHORTEST_TABLE = 3  # head, rule, one row
_TAB = 4


@dataclass(slots=True)
class KeyedSection:
    """A key and the lines that belong to it."""

    key: str
    name: str  # the declared field, or empty
    how: Spelling | None
    column: int
    rest: str
    lines: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LineObject:
    """The object of a run of lines. `tight`: the fields stand together, with no blank line or prose between them."""

    data: dict[str, Any]
    exact: frozenset[str]  # declared names that are spelled as declared
    tight: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Head:
    key: str
    rest: str
    column: int


def read_lines(text: str, fields: Sequence[Field], *, fenced: bool, cut: bool = False) -> LineObject | None:
    """Return the object that the lines of a text spell out, or None if no declared field is among them.

    Within a fence all lines belong to the object; in prose a value ends where its paragraph ends. The last value of a
    text that was `cut` off is left out.
    """
    kinds = {field.name: field for field in fields}
    lines = text.expandtabs(_TAB).split("\n")
    if not MAX_LINES.allows(len(lines)):
        return None
    if len(lines) > 1 and any(name.startswith(lines[-1].strip().lower()) for name in kinds):
        del lines[-1]  # a key that was cut off
    table = _table(lines[:-1] if cut else lines, tuple(kinds))
    if table is not None:
        return table
    sections, tight = _sections(lines, tuple(kinds), fenced=fenced)
    notes: tuple[str, ...] = ()
    if cut and sections:
        last = sections.pop()
        notes = (unfinished(last.name or last.key),)
    data: dict[str, Any] = {}
    exact: set[str] = set()
    for section in sections:
        value = _section_value(section, kinds.get(section.name), fenced=fenced)
        key = section.name or section.key
        if section.name and value == "" and data.get(key):
            continue  # a repeated empty label says nothing new
        if not section.name and (key in data or not fenced):
            continue
        data[key] = value
        if section.how is Spelling.EXACT or (section.name and _ends_in(section.key, section.name)):
            exact.add(section.name)
    if not any(section.name for section in sections):
        return None
    return LineObject(data, frozenset(exact), tight, notes)


def _table(lines: list[str], names: Sequence[str]) -> LineObject | None:
    """Read a table whose head row names the fields; its last row is the object."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if line.lstrip()[:1] == "|"]
    if len(rows) < _SHORTEST_TABLE or len(rows[0]) != len(rows[-1]) or set("".join(rows[1])) - set("-: "):
        return None
    labels = [_label(cell.strip(_MARKS), names) for cell in rows[0]]
    named = [name for name, _ in labels if name]
    if len(named) <= len(rows[0]) // 2 or len(set(named)) != len(named):
        return None
    data = {name: _scalar(cell) for (name, _), cell in zip(labels, rows[-1], strict=True) if name}
    return LineObject(data, frozenset(name for name, how in labels if how is Spelling.EXACT), tight=True)


def _ends_in(label: str, name: str) -> bool:
    """Return whether a label ends in exactly the declared name: "Set a goal" does for goal."""
    return label == name or label.endswith((" " + name, "_" + name))


def _label(key: str, names: Sequence[str]) -> tuple[str, Spelling | None]:
    """Return the declared field that a label means; in prose it may have a few words before the name."""
    for want in (Spelling.EXACT, Spelling.SAME):
        for name in names:
            if spelling(key, name) == want:
                return name, want
    near = [name for name in names if spelling(key, name) is Spelling.NEAR]
    if not near and len(words(key)) <= _MOST_LABEL_WORDS:
        near = [name for name in names if _ends_in(key, name)]
    return (near[0], Spelling.NEAR) if len(near) == 1 else ("", None)


def _head(line: str) -> _Head | None:
    bullet = _BULLET.match(line)
    start = bullet.end() if bullet else len(line) - len(line.lstrip())
    if bullet and (deeper := _BULLET.match(line, start)) and line[start : start + 1] in "*#":
        start = deeper.end()
    hit = _HEAD.match(line, start)
    if hit is not None:
        key, rest = hit["key"].strip(" \t" + _MARKS), hit["rest"]
        if hit["equals"] and not _KEY_SHAPE.fullmatch(key):
            return None
        if hit["open"] and rest.startswith(hit["open"]) and "*" in hit["open"]:
            rest = rest[len(hit["open"]) :]  # **Action:** flee
        return _Head(key, rest.strip(), start) if key else None
    bare = line.strip()
    row = _ROW.match(bare) or _TAG.match(bare)
    if row is not None:
        rest = row["rest"].removesuffix(f"</{row['key']}>").strip()
        return _Head(row["key"].strip(" \t" + _MARKS), rest, 0)
    heading = _HEADING.match(line)
    if heading is not None:
        return _Head(heading["key"].strip(" \t" + _MARKS), "", 0)
    return None


def _sections(lines: list[str], names: tuple[str, ...], *, fenced: bool) -> tuple[list[KeyedSection], bool]:
    sections: list[KeyedSection] = []
    base = -1  # the column of the first declared key
    tight, blank = True, False
    for line in lines:
        if not line.strip():
            blank = True
            if sections:
                sections[-1].lines.append("")
            continue
        head = _head(line)
        name, how = _label(head.key, names) if head else ("", None)
        if head is not None and _starts_section(head, name, sections, base):
            if base < 0:
                base = head.column
            elif name and blank:
                tight = False
            sections.append(KeyedSection(head.key, name, how, head.column, head.rest))
            if not name and not fenced:
                tight = False
        elif sections:
            sections[-1].lines.append(line)
        blank = False
    return sections, tight


def _starts_section(head: _Head, name: str, sections: list[KeyedSection], base: int) -> bool:
    if not sections:
        return bool(name)
    last = sections[-1]
    if head.column > base:
        # deeper lines belong to an open value, unless that value was already whole on its own line
        return bool(name) and bool(last.rest) and not _is_open(last)
    return bool(name) or (_KEY_SHAPE.fullmatch(head.key) is not None and not _in_quotes(last))


def _is_open(section: KeyedSection) -> bool:
    return bool(_BLOCK_SCALAR.match(section.rest)) or section.rest[:1] in "[{" or _in_quotes(section)


def _in_quotes(section: KeyedSection) -> bool:
    """Return whether a quoted value has not been closed yet on its lines so far."""
    mark = section.rest[:1]
    if not mark or mark not in "\"'\u201c":
        return False
    closing = "\u201d" if mark == "\u201c" else mark
    last = section.lines[-1] if section.lines else section.rest[1:]
    return not last.rstrip(" ,;").endswith(closing)


def _section_value(section: KeyedSection, kind: Field | None, *, fenced: bool) -> Any:
    rest = section.rest
    if _BLOCK_SCALAR.match(rest):
        return _block_scalar(rest, section.lines)
    if rest:
        return _inline_value(rest, section, kind, fenced=fenced)
    lines = _trim(section.lines)
    if not lines:
        return Plain("")
    if fenced or _LIST_BULLET.match(lines[0]) or lines[0].startswith(" "):
        return _read_block(_run(lines, section.column, fenced=fenced), 0)
    paragraph = lines[: lines.index("")] if "" in lines else lines
    return "\n".join(line.strip() for line in paragraph)


def _inline_value(rest: str, section: KeyedSection, kind: Field | None, *, fenced: bool) -> Any:
    if rest[0] in "[{":
        whole = "\n".join([rest, *section.lines])
        value = read_loose(whole)
        if value is not None and (value or rest.lstrip("[{ ")[:1] in "]}"):
            return value
    if rest[0] in "\"'\u201c" and _in_quotes(KeyedSection("", "", None, 0, rest)):
        for count, line in enumerate(section.lines, 1):
            if line.rstrip(" ,;").endswith(rest[0]):
                return _scalar("\n".join([rest, *(part.strip() for part in section.lines[:count])]))
        if fenced:
            return _scalar("\n".join([rest, *(part.strip() for part in section.lines)]).rstrip())
        return _scalar(rest)
    value = _scalar(rest)
    if not isinstance(value, Plain):
        return value
    more: list[str] = []
    for line in section.lines:
        indented = len(line) - len(line.lstrip()) > section.column
        if not line or not (indented or (fenced and kind is not None and kind.kind == "str")):
            break
        more.append(line.strip())
    return Plain(" ".join([value, *more])) if more else value


def _trim(lines: list[str]) -> list[str]:
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return lines[start:end]


def _run(lines: list[str], column: int, *, fenced: bool) -> list[str]:
    """Return the lines up to where prose starts again: neither indented nor bulleted."""
    if fenced:
        return lines
    kept: list[str] = []
    for line in lines:
        if line and not _LIST_BULLET.match(line) and len(line) - len(line.lstrip()) <= column:
            break
        kept.append(line)
    return _trim(kept)


def _block_scalar(mark: str, lines: list[str]) -> str:
    lines = _trim(lines)
    depth = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    cut = [line[depth:] for line in lines]
    if mark[0] == "|":
        return "\n".join(cut) + ("" if "-" in mark else "\n")
    paragraphs = "\n".join(cut).split("\n\n")
    return "\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)


def _read_block(lines: list[str], depth: int) -> Any:
    """Read nested lines: by the YAML parser if they are YAML, else bullets and keys by hand."""
    lines = _trim(lines)
    if not lines:
        return Plain("")
    if depth == 0:
        try:
            documents = read_yaml("\n".join(lines))
        except NotYamlError:
            documents = []
        if len(documents) == 1 and isinstance(documents[0], dict | list):
            return documents[0]
    if depth < MAX_DEPTH.maximum:
        if _LIST_BULLET.match(lines[0]):
            return [_read_block(item, depth + 1) for item in _items(lines)]
        mapping = _mapping(lines, depth)
        if mapping is not None:
            return mapping
    if len(lines) == 1:
        return _scalar(lines[0].strip())
    return "\n".join(line.strip() for line in lines)


def _items(lines: list[str]) -> list[list[str]]:
    first = _LIST_BULLET.match(lines[0])
    depth = len(first[1]) if first else 0
    items: list[list[str]] = []
    for line in lines:
        bullet = _LIST_BULLET.match(line)
        if bullet and len(bullet[1]) <= depth:
            items.append([" " * bullet.end() + line[bullet.end() :]])
        elif items:
            items[-1].append(line)
    return items


def _mapping(lines: list[str], depth: int) -> dict[str, Any] | None:
    """Read lines that all belong to `key: value` pairs at one column, or return None."""
    heads = [_head(line) if line.strip() else None for line in lines]
    first = heads[0]
    if first is None or not _KEY_SHAPE.fullmatch(first.key):
        return None
    out: dict[str, Any] = {}
    key, rest, inner = "", "", list[str]()
    for line, head in zip([*lines, ""], [*heads, None], strict=True):
        starts = head is not None and head.column <= first.column and _KEY_SHAPE.fullmatch(head.key) is not None
        if starts and head is not None:
            if key:
                out[key] = _pair_value(rest, inner, depth)
            key, rest, inner = head.key, head.rest, []
        else:
            inner.append(line)
    out[key] = _pair_value(rest, inner, depth)
    return out


def _pair_value(rest: str, inner: list[str], depth: int) -> Any:
    if not rest:
        return _read_block(inner, depth + 1)
    if _BLOCK_SCALAR.match(rest):
        return _block_scalar(rest, inner)
    if rest[0] in "[{":
        value = read_loose("\n".join([rest, *inner]))
        if value is not None:
            return value
    return _scalar(" ".join([rest, *(line.strip() for line in inner if line.strip())]))


def _scalar(text: str) -> str:
    """Read a value on one line: drop its quotes, and a comment or comma behind it."""
    text = text.strip()
    mark = text[:1]
    if mark and mark in "\"'`\u201c\u2018":
        closing = {"\u201c": "\u201d", "\u2018": "\u2019"}.get(mark, mark)
        tail = _COMMENT.sub("", text[1:]).rstrip(" ,;") if not text.endswith(closing) else text[1:]
        if not tail.endswith(closing):
            end = tail.rfind(closing)
            if end < 0:
                return _unquote(text[1:].rstrip(), mark)  # cut off within the quotes
            return Plain(text)  # quotes around a part only: "a"; "b and c
        inner = tail[:-1]
        if mark == '"' and _several_pieces(inner):
            return Plain(text)
        return _unquote(inner, mark)
    text = _COMMENT.sub("", text).rstrip()
    for wrap in ("**", "__", "*", "_"):
        if text.startswith(wrap) and text.endswith(wrap) and len(text) > 2 * len(wrap):
            text = text[len(wrap) : -len(wrap)]
            break
    return Plain(text.rstrip(",").rstrip() if text.endswith(",") else text)


def _several_pieces(inner: str) -> bool:
    """Return whether the quotes close and open again at a separator: `"a"; "b"` is not one text."""
    return re.search(r'"\s*[;,]\s*"', inner) is not None


def _unquote(inner: str, mark: str) -> str:
    if mark == '"' and "\\" in inner:
        items = read_loose('["' + inner + '"]')
        if isinstance(items, list) and len(items) == 1 and isinstance(items[0], str):
            return str(items[0])
    return inner.replace("''", "'") if mark == "'" else inner
