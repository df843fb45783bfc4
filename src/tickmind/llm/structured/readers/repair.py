"""Read a part of a reply as objects, each graded by how much it had to be repaired."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Literal

from tickmind.llm.structured.readers.extract import Block, follows_example, without_fences
from tickmind.llm.structured.readers.fields import Field
from tickmind.llm.structured.readers.lines import read_lines
from tickmind.llm.structured.readers.loose_json import Found, find_objects, unfinished
from tickmind.llm.structured.readers.yaml_reader import NotYamlError, read_yaml

_ESCAPED = re.compile(r'\{(?:\s|\\n){0,40}+\\"')  # {\"action\": ... as it stands within a JSON text

Form = Literal["json", "yaml", "any"]


class Grade(IntEnum):
    """How certain it is that the model meant an object here: the less certain, the more fields must fit."""

    PROSE = 1  # labels here and there in a text
    LINES = 2  # `key: value` lines that stand together, without a fence
    MENDED = 3  # broken JSON, or broken YAML in a fence
    CLEAN = 4  # JSON, or YAML in a fence


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to read the reply as the object."""

    value: Any
    grade: Grade
    start: int
    example: bool = False
    notes: tuple[str, ...] = ()
    exact: frozenset[str] | None = field(default=None)  # names spelled as declared, where the keys no longer show it


def candidates(block: Block, fields: Sequence[Field], form: Form = "any", *, cut: bool = False) -> Iterator[Candidate]:
    """Yield the readings of one block, in the order of the text; a value that was `cut` off is left out."""
    cut = cut and not block.closed
    opens_with_brace = block.text.lstrip()[:1] in {"{", "["}
    if form != "yaml" or opens_with_brace:
        yield from _objects(block, cut=cut)
        if _ESCAPED.search(block.text):
            text = block.text.replace("\\n", "\n").replace('\\"', '"')
            yield from _objects(replace(block, text=text), cut=cut)
    if form != "json" and block.source == "fence" and block.is_data and not opens_with_brace:
        yield from _fenced_yaml(block, fields, cut=cut)


def _objects(block: Block, *, cut: bool) -> Iterator[Candidate]:
    for loose in find_objects(block.text, cut=cut):
        start = block.start + loose.start
        example = block.example or follows_example(block.text, loose.start)
        grade = Grade.CLEAN if loose.clean and not _is_code(block) else Grade.MENDED
        yield Candidate(loose.value, grade, start, example, loose.notes)


def _is_code(block: Block) -> bool:
    return block.source == "fence" and not block.is_data


def _fenced_yaml(block: Block, fields: Sequence[Field], *, cut: bool) -> Iterator[Candidate]:
    clean = False
    for document, notes in _documents(block.text, cut=cut):
        if isinstance(document, dict | list):
            clean = True
            yield Candidate(document, Grade.CLEAN, block.start, block.example, notes)
    read = None if clean else read_lines(block.text, fields, fenced=True, cut=cut)
    if read is not None:
        notes = ("broken YAML was read line by line", *read.notes)
        yield Candidate(read.data, Grade.MENDED, block.start, block.example, notes=notes, exact=read.exact)


def _documents(text: str, *, cut: bool) -> list[tuple[Any, tuple[str, ...]]]:
    """Parse the YAML documents of a text, each with notes; the last entry of one that was cut off is dropped."""
    try:
        documents = read_yaml(text)
    except NotYamlError:
        return []
    read: list[tuple[Any, tuple[str, ...]]] = [(document, ()) for document in documents]
    if cut and documents:
        last = documents[-1]
        if isinstance(last, dict) and last:
            *kept, (key, _) = last.items()
            read[-1] = dict(kept), (unfinished(str(key)),)
        elif isinstance(last, list):
            read[-1] = last[:-1], ()
    return read


def prose_candidates(text: str, fields: Sequence[Field], *, cut: bool = False) -> Iterator[Candidate]:
    """Yield the readings of a text without fences: as YAML if all of it is, else by its labels."""
    bare = without_fences(text)
    for document, notes in _documents(bare, cut=cut):
        if isinstance(document, dict | list):
            yield Candidate(document, Grade.LINES, 0, notes=notes)
    read = read_lines(bare, fields, fenced=False, cut=cut)
    if read is not None:
        grade = Grade.LINES if read.tight else Grade.PROSE
        yield Candidate(read.data, grade, 0, notes=("labels in a text were read", *read.notes), exact=read.exact)
    one_line = bare.strip()
    if "\n" not in one_line and "{" not in one_line:
        for loose in find_objects("{" + one_line + ("" if cut else "}"), cut=cut):
            yield Candidate(loose.value, Grade.LINES, 0, notes=("pairs on one line were read", *loose.notes))


def last_whole_object(text: str) -> Candidate | None:
    """Return a clean JSON object that ends a text, for thinking that was never closed before the answer."""
    last: Found | None = None
    for loose in find_objects(text):
        last = loose
    if last is None or not last.clean or text[last.end :].strip(" \n`~"):
        return None
    return Candidate(last.value, Grade.CLEAN, last.start)
