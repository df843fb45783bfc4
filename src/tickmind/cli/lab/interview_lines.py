"""Interviews for programs: questions line by line, and an object of JSON in a line for all that happens.

`{"ready": ["ada"]}` comes once the minds are there. To each question then come `{"part": "..."}` for what a model says,
and at last `{"answer": {...}}`, or `{"error": "..."}` for a question that can't be asked.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TextIO

import typer

from tickmind.base import TickmindError, redact

if TYPE_CHECKING:
    from tickmind.lab.interviews.interviewer import InterviewAnswer, Interviewer


def answer_in_lines(interviewers: "Sequence[Interviewer]", questions: Iterable[str], output: TextIO) -> None:
    """Answer each question by all; a question that can't be asked costs no other one."""

    def put(said: dict[str, Any]) -> None:
        typer.echo(json.dumps(said), file=output)

    put({"ready": [interviewer.who for interviewer in interviewers]})
    for line in questions:
        question = line.strip()
        if not question:
            continue
        for interviewer in interviewers:
            try:
                answer = interviewer.ask(question, lambda part: put({"part": part}))
            except TickmindError as error:
                put({"error": redact(str(error))})
            else:
                typer.echo(answer_line(answer), file=output, nl=False)


def answer_line(answer: "InterviewAnswer") -> str:
    """Return an answer as a line."""
    return f"{json.dumps({'answer': asdict(answer)})}\n"
