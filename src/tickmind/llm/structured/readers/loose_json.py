"""Read JSON as models write it: single or curly quotes, comments, missing commas and quotes, cut off anywhere.

Written by hand: repair libraries lose an object that follows thinking or precedes prose with braces, guess values from
garbage, and don't say where the object ended. One pass, no backtracking, so the time is bounded by the text's length.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tickmind.llm.structured.readers.json_reader import strict_end, strict_json
from tickmind.llm.structured.readers.limits import MAX_DEPTH, REREADS
from tickmind.llm.structured.readers.scalars import Plain, number

_CLOSERS = {
    '"': '"',
    "'": "'",
    "`": "`",
    "\u201c": '\u201d\u201c"',
    "\u201d": '\u201d"',
    "\u201e": '\u201c\u201d"',
    "\u2018": "\u2019'",
    "\u2019": "\u2019'",
    "\u00ab": "\u00bb",
}  # opening quote -> what may close it
_QUOTES = "".join(_CLOSERS)
_NEXT_MARK = {opening: re.compile(rf"[{re.escape(closing)}\\]") for opening, closing in _CLOSERS.items()}

_BLANK = r"\s++|//[^\n]{0,200}+(?:\n|\Z)|\#[^\n]{0,200}+(?:\n|\Z)|/\*[^*]{0,200}+\*/"  # bounded: it is looked ahead
_GAP = rf"(?:{_BLANK}){{0,8}}+"
_QUOTED_KEY = rf"(?:[*_]{{0,2}}[{_QUOTES}])[\w][\w .\-]{{0,63}}[{_QUOTES}\u00bb][*_]{{0,2}}\s{{0,8}}(?::|=|\uff1a)"
_BARE_KEY = r"[^\W\d]\w{0,63}\s{0,8}(?::|=>|\uff1a)(?!//)"
_KEY = rf"(?:{_QUOTED_KEY}|{_BARE_KEY})"
_COMMAS = rf"[,;\uff0c\uff1b](?:[,;\uff0c\uff1b]|{_BLANK}){{0,8}}+"
_CUT_KEY = rf"[{_QUOTES}][\w .\-]{{0,63}}[{_QUOTES}]?\s{{0,8}}\Z"
_SPACE = re.compile(r"(?:\s|//[^\n]*|\#[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))*+")
_SEPARATORS = re.compile(r"(?:\s|[,;\uff0c\uff1b]|//[^\n]*|\#[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))*+")
_COLON = re.compile(r"\s*+[*_]{0,2}(?:=>|:=|:|=|\uff1a)[*_]{0,2}")
_ENDS_IN_OBJECT = re.compile(
    rf"[ \t]*+(?:\Z|\n|\r)|{_GAP}(?:\Z|[}}\]]|{_COMMAS}(?:\Z|[}}\]]|{_KEY}|{_CUT_KEY})|{_QUOTED_KEY})"
)
_ITEM = rf"[{_QUOTES}\[{{}}\]]|\.\.\.|-?\d|true|false|null|None|True|False"
_ENDS_IN_LIST = re.compile(rf"[ \t]*+(?:\Z|\n|\r)|{_GAP}(?:\Z|[}}\]]|{_COMMAS}(?:\Z|{_ITEM}))")
_ENDS_KEY = re.compile(r"\s*+[*_]{0,2}(?:=>|:|=|\uff1a)")
_QUOTED_KEY_AT = re.compile(_QUOTED_KEY)
_BARE_KEY_AT = re.compile(r"[*_`]{0,3}([^\W\d][\w .\-]{0,63}?|\d{1,6})[*_`]{0,3}\s{0,8}(?==>|:|=|\uff1a)")
_AFTER_COMMA = re.compile(rf"{_COMMAS}(?:\Z|[}}\]]|{_KEY}|{_CUT_KEY})")
_BARE = re.compile(r"[^,;\uff0c\uff1b{}\[\]\n\r]*+")
_COMMA = ",;\uff0c\uff1b"
_BARE_COMMENT = re.compile(r"\s(?://|\#|/\*).*$", re.DOTALL)
_OPEN = re.compile(r"\{|\[(?=\s*+\{)")
_NEXT_KEY = re.compile(rf"[,\n][^\S\n]*+(?={_KEY})")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", "\n": "\n"}
_HEX4 = re.compile(r"[0-9a-fA-F]{4}")
_LONGEST_KEY = 200
_SKIPPED = 300
_STRICT_REREADS = 16
_TRIPLES = ('"""', "'''")


@dataclass(frozen=True, slots=True)
class Found:
    """An object in a text: where it stood, and whether it was closed."""

    value: Any
    start: int
    end: int
    complete: bool = True
    clean: bool = False  # valid JSON as it stands
    notes: tuple[str, ...] = ()


class _TooDeepError(ValueError):
    """Brackets nested beyond the limit; no reply means that."""


class _Reader:
    """Read one value that starts at a bracket, quote or bare word."""

    def __init__(self, text: str, *, cut: bool = False) -> None:
        self.text = text
        self.cut = cut  # the text may end anywhere: a value that goes on to its end is unfinished
        self.pos = 0
        self.complete = True
        self.notes: dict[str, None] = {}

    def read(self, start: int) -> Any:
        self.pos, self.complete, self.notes = start, True, {}
        return self.value(0, in_list=False)

    def value(self, depth: int, *, in_list: bool) -> Any:
        if depth > MAX_DEPTH.maximum:
            raise _TooDeepError
        mark = self.text[self.pos]
        if mark == "{":
            return self.read_object(depth)
        if mark == "[":
            return self.read_list(depth)
        if mark in _CLOSERS:
            return self.string(in_list=in_list)
        return self.bare(in_list=in_list)

    def read_object(self, depth: int) -> dict[str, Any]:
        text = self.text
        out: dict[str, Any] = {}
        self.pos += 1
        while True:
            self.skip(_SEPARATORS)
            if self.pos >= len(text):
                self.cut_off()
                return out
            mark = text[self.pos]
            if mark == "}":
                self.pos += 1
                return out
            if mark == "{":  # {{ ... }} as templates write it
                inner = self.value(depth + 1, in_list=False)
                out.update(inner)
                continue
            if mark == "]":
                self.note("a wrong bracket was skipped")
                self.pos += 1
                continue
            key = self.key()
            if key is None:
                if self.to_next_key():
                    continue
                self.cut_off()
                return out
            self.skip(_COLON)
            self.skip(_SPACE)
            if self.pos >= len(text):
                self.cut_off()
                return out
            if text[self.pos] in _COMMA + "}]":
                value: Any = Plain("")
            else:
                value = self.value(depth + 1, in_list=False)
            if value is _CUT or self.is_unfinished():
                self.note(unfinished(key))
                return out
            if key in out:
                self.note(f"{key!r} stood there twice; the last one counts")
            out[key] = value

    def read_list(self, depth: int) -> list[Any]:
        text = self.text
        out: list[Any] = []
        self.pos += 1
        while True:
            self.skip(_SEPARATORS)
            if self.pos >= len(text):
                self.cut_off()
                return out
            mark = text[self.pos]
            if mark == "]":
                self.pos += 1
                return out
            if mark == "}":
                self.note("a wrong bracket closed a list")
                if _AFTER_COMMA.match(text, self.pos + 1):
                    self.pos += 1
                return out
            value = self.value(depth + 1, in_list=True)
            if value is _CUT or self.is_unfinished():
                return out
            if value == "" and isinstance(value, Plain):
                self.pos += 1  # a bare word that is empty stands before a stray mark
                continue
            if value != "..." or not isinstance(value, Plain):
                out.append(value)

    def key(self) -> str | None:
        """Read the key at this place, or return None if there is none; the colon is left to the caller."""
        text = self.text
        start = self.pos
        marks = start
        while marks < len(text) and text[marks] in "*_" and marks - start < 2:
            marks += 1
        if marks < len(text) and text[marks] in _CLOSERS:
            pattern, end = _NEXT_MARK[text[marks]], marks + 1
            while (hit := pattern.search(text, end, marks + _LONGEST_KEY)) is not None:
                if hit[0] != "\\" and _ENDS_KEY.match(text, hit.end()):
                    self.pos = hit.end()
                    if text[marks] != '"':
                        self.note("quotes were mended")
                    return text[marks + 1 : hit.start()].strip()
                end = hit.end()
            return None
        bare = _BARE_KEY_AT.match(text, start)
        if bare is None:
            return None
        self.note("a key without quotes was read")
        self.pos = bare.end()
        return bare[1].strip()

    def to_next_key(self) -> bool:
        """Skip something unreadable, but never leave this object."""
        hit = _NEXT_KEY.search(self.text, self.pos, self.pos + _SKIPPED)
        if hit is None or any(mark in "{}" for mark in self.text[self.pos : hit.start()]):
            return False
        self.note("something unreadable was skipped")
        self.pos = hit.end()
        return True

    def string(self, *, in_list: bool) -> str:
        text = self.text
        opening = text[self.pos]
        if text.startswith(_TRIPLES, self.pos):
            return self.triple(text[self.pos : self.pos + 3])
        if opening != '"':
            self.note("quotes were mended")
        pattern = _NEXT_MARK[opening]
        ends = _ENDS_IN_LIST if in_list else _ENDS_IN_OBJECT
        start = end = self.pos + 1
        parts: list[str] = []
        while (hit := pattern.search(text, end)) is not None:
            if hit[0] == "\\":
                parts.append(text[end : hit.start()])
                decoded, end = _unescape(text, hit.start())
                parts.append(decoded)
                continue
            if not text[hit.end() : hit.end() + 1].isalnum() and ends.match(text, hit.end()):
                parts.append(text[end : hit.start()])
                self.pos = hit.end()
                return _tidy("".join(parts))
            if (line := self.line_before_key(start, hit.start())) >= 0:
                parts.append(text[end:line])  # the closing quote was forgotten: the next line is the next key
                self.note("a missing quote was put in")
                self.pos = hit.start()
                return _tidy("".join(parts).rstrip().rstrip(","))
            self.note("quotes within a text were kept")
            parts.append(text[end : hit.end()])
            end = hit.end()
        parts.append(text[end:])
        self.pos = len(text)
        self.cut_off()
        return _tidy("".join(parts)).rstrip("\n")

    def line_before_key(self, start: int, quote: int) -> int:
        """Return where the line break before this quote is, if the quote opens the key on a new line; else -1."""
        text = self.text
        if not text[quote - 1].isspace() or not _QUOTED_KEY_AT.match(text, quote):
            return -1
        line = text.rfind("\n", max(start, quote - _SKIPPED), quote)
        return line if line >= 0 and not text[line:quote].strip() else -1

    def triple(self, mark: str) -> str:
        self.note("quotes were mended")
        end = self.text.find(mark, self.pos + 3)
        if end < 0:
            self.cut_off()
            end = len(self.text)
        start, self.pos = self.pos + 3, min(end + 3, len(self.text))
        return _tidy(self.text[start:end])

    def bare(self, *, in_list: bool) -> Any:
        text, start = self.text, self.pos
        while True:
            hit = _BARE.match(text, self.pos)
            self.pos = hit.end() if hit else len(text)
            if self.pos >= len(text) or text[self.pos] not in _COMMA + "[{" or (in_list and text[self.pos] in _COMMA):
                break
            if text[self.pos] in _COMMA and _AFTER_COMMA.match(text, self.pos):
                break
            if text[self.pos] in _COMMA and text[self.pos + 1 : self.pos + 2] in {"\n", "\r"}:
                break
            self.pos += 1
        word = _BARE_COMMENT.sub("", text[start : self.pos]).strip()
        if self.pos >= len(text) and not (self.cut and word in _WHOLE_WORDS):
            self.cut_off()
            if _is_stub(word):
                return _CUT
        if number(word) is None and word not in _WHOLE_WORDS:
            self.note("a value without quotes was read")
        return Plain(_tidy(word))

    def skip(self, pattern: re.Pattern[str]) -> None:
        hit = pattern.match(self.text, self.pos)
        if hit is not None:
            self.pos = hit.end()

    def is_unfinished(self) -> bool:
        """Return whether the value that was just read ran into the end of a text that was cut off."""
        return self.cut and not self.complete and self.pos >= len(self.text)

    def cut_off(self) -> None:
        self.complete = False
        self.note("the end is missing")

    def note(self, text: str) -> None:
        self.notes[text] = None


def unfinished(key: str) -> str:
    """Return the note on a field that was left out because the reply was cut off inside its value."""
    return f"the reply was cut off: {key!r} was unfinished and is left out"


_WHOLE_WORDS = frozenset({"true", "false", "null"})
_CUT = object()  # a value of which only a meaningless beginning came


def _is_stub(word: str) -> bool:
    """Return whether a cut-off word could still have become anything: `tru`, `0.`, `-`."""
    if not word or (word[-1] in ".-+eE" and number(word.rstrip(".-+eE") or "0") is not None):
        return True
    low = word.lower()
    return any(full.startswith(low) and full != low for full in ("true", "false", "null", "none"))


def _unescape(text: str, at: int) -> tuple[str, int]:
    """Return the character for a backslash at this place, and where the text goes on."""
    mark = text[at + 1 : at + 2]
    if mark != "u":
        return _ESCAPES.get(mark, mark), at + 2
    high = _HEX4.match(text, at + 2)
    if high is None:
        return "u", at + 2
    code, end = int(high[0], 16), at + 6
    if 0xD800 <= code < 0xDC00 and text.startswith("\\u", end):
        low = _HEX4.match(text, end + 2)
        if low is not None and 0xDC00 <= int(low[0], 16) < 0xE000:
            return chr(0x10000 + ((code - 0xD800) << 10) + (int(low[0], 16) - 0xDC00)), end + 6
    return ("\N{REPLACEMENT CHARACTER}" if 0xD800 <= code < 0xE000 else chr(code)), end


def _tidy(text: str) -> str:
    return text.replace("\r\n", "\n")


def find_objects(text: str, *, cut: bool = False) -> Iterator[Found]:
    """Yield every object (or list of objects) in a text, from the first brace on.

    An unclosed one is also searched for others inside, because it may have swallowed the real answer. Of a text that
    was `cut` off, a value that is not whole is left out.
    """
    reader = _Reader(text, cut=cut)
    budget = REREADS * len(text) + 1000
    strict_budget = _STRICT_REREADS * len(text)
    pos = 0
    while budget > 0 and (hit := _OPEN.search(text, pos)) is not None:
        start = hit.start()
        pos = start + 1
        end, looked_at = strict_end(text, start) if strict_budget > 0 else (-1, 0)
        strict_budget -= looked_at
        if end > 0 and (clean := strict_json(text[start:end])):
            yield Found(clean, start, end, clean=True)
            pos = end
            continue
        try:
            value = reader.read(start)
        except _TooDeepError:
            budget -= reader.pos - start
            pos = reader.pos
            continue
        budget -= reader.pos - start + 1
        if not value:
            budget -= _LONGEST_KEY  # what was looked at to find no key
            continue
        if reader.complete:
            pos = reader.pos
        yield Found(value, start, reader.pos, reader.complete, notes=tuple(reader.notes))


def read_loose(text: str) -> Any:
    """Read the object or list that the text begins with, or return None."""
    if not text.startswith(("{", "[")):
        return None
    end, _ = strict_end(text, 0)
    if end > 0 and (clean := strict_json(text[:end])) is not None:
        return clean
    try:
        return _Reader(text).read(0)
    except _TooDeepError:
        return None
