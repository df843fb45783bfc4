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
    for answer in answers:
        numbers, links = (" ".join(parts) for parts in _citations(answer))
        thought = answer.thought.text if answer.thought is not None else ""
        known = "yes" if answer.known else "no"
        cells = (answer.who, str(answer.tick_id), answer.question, known, answer.text, numbers, links, thought)
        writer.writerow([_harmless_cell(cell) for cell in cells])
    return out.getvalue()


def as_markdown(answers: Sequence[InterviewAnswer]) -> str:
    """Return a table in Markdown, with a link into the replay for each cited memory."""
    lines = ["| who | question | answer | memories | thought then |", "|---|---|---|---|---|"]
    for answer in answers:
        cited = ", ".join(f"[{each.number}, tick {each.tick_id}]({each.address})" for each in answer.citations)
        thought = (
            f"{_plain(answer.thought.text)} [tick {answer.thought.tick_id}]({answer.thought.address})"
            if answer.thought
            else ""
        )
        lines.append(
            f"| {_plain(answer.who)} | {_plain(answer.question)} | {_plain(answer.text)} | {cited} | {thought} |"
        )
    return "\n".join(lines) + "\n"


def _citations(answer: InterviewAnswer) -> tuple[list[str], list[str]]:
    return [str(each.number) for each in answer.citations], [each.address for each in answer.citations]


def _harmless_cell(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _plain(text: str) -> str:
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
