"""Tables of answers: as JSON, CSV and Markdown."""

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from tickmind.lab.interviews.interviewer import InterviewAnswer

COLUMNS: Final = ("who", "tick", "question", "known", "answer", "memories", "links", "thought")
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~!&])")


def as_json(run_id: str, answers: Sequence[InterviewAnswer]) -> str:
    """Return all answers with their citations as JSON."""
    return json.dumps({"run": run_id, "answers": [asdict(answer) for answer in answers]}, indent=1, ensure_ascii=False)


def as_csv(answers: Sequence[InterviewAnswer]) -> str:
    """Return a line for each answer; numbers and links of cited memories are separated by spaces."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in answers:
        numbers, links = (" ".join(parts) for parts in _citations(one))
        thought = one.thought.text if one.thought is not None else ""
        known = "yes" if one.known else "no"
        cells = (one.who, str(one.tick_id), one.question, known, one.text, numbers, links, thought)
        writer.writerow([_harmless_cell(cell) for cell in cells])
    return out.getvalue()


def as_markdown(answers: Sequence[InterviewAnswer]) -> str:
    """Return a table in Markdown, with a link into the replay for each cited memory."""
    lines = ["| who | question | answer | memories | thought then |", "|---|---|---|---|---|"]
    for one in answers:
        cited = ", ".join(f"[{each.number}, tick {each.tick_id}]({each.address})" for each in one.citations)
        thought = (
            f"{_plain(one.thought.text)} [tick {one.thought.tick_id}]({one.thought.address})" if one.thought else ""
        )
        lines.append(f"| {_plain(one.who)} | {_plain(one.question)} | {_plain(one.text)} | {cited} | {thought} |")
    return "\n".join(lines) + "\n"


def _citations(one: InterviewAnswer) -> tuple[list[str], list[str]]:
    return [str(each.number) for each in one.citations], [each.address for each in one.citations]


def _harmless_cell(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _plain(text: str) -> str:
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
