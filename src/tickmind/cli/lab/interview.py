"""`tickmind interview`: questions to characters of a recorded run as they were after a tick."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError, Limit
from tickmind.base.files import RUNS_FOLDER, read_at_most
from tickmind.cli.lab.interview_lines import answer_in_lines, answer_line
from tickmind.cli.minds.program_output import programs_print_to_stderr
from tickmind.cli.runs.commands import Folder, RunAgents, RunId
from tickmind.cli.screen import harmless

if TYPE_CHECKING:
    from tickmind.lab.interviews.interviewer import AskedMind, InterviewAnswer, Interviewer, WordAnswer
    from tickmind.record import RunReader, RunStore

MAX_FILE_BYTES = Limit("size of a file of questions", 1_000_000, "bytes")
MAX_QUESTIONS = Limit("number of questions in an interview", 1000)
ANSWER_TOKENS, ANSWER_S = 300, 120.0
STDIN = Path("-")


class AnswerFormat(StrEnum):
    """The forms in which answers are printed."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    LINES = "lines"  # an object of JSON in each line, as it comes


def interview(
    run_id: RunId,
    who: Annotated[
        list[str] | None, typer.Argument(help="The ids of actors; with --questions all that have a mind if left out.")
    ] = None,
    who_too: Annotated[
        list[str] | None, typer.Option("--who", metavar="ACTOR", help="The same as WHO; may be given again.")
    ] = None,
    tick: Annotated[
        int | None, typer.Option(min=1, help="The tick after which to ask; the last one if left out.")
    ] = None,
    question: Annotated[list[str] | None, typer.Option(help="A question; may be given again.")] = None,
    questions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A file with a question in each line, for many characters; - is the input."),
    ] = None,
    form: Annotated[AnswerFormat, typer.Option("--format", help="How to print the answers.")] = AnswerFormat.TEXT,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the answers to a file.")] = None,
    model: Annotated[
        str, typer.Option(help="Have this model at LLM_BASE_URL word the answers, instead of LLM_MODEL.")
    ] = "",
    held: Annotated[
        bool,
        typer.Option("--local-model", help="The model is served by llama.cpp: hold it to citing, by a grammar."),
    ] = False,
    own_words: Annotated[
        bool, typer.Option("--own-words", help="Ask no model, even if there is one: the mind's own code answers.")
    ] = False,
    replay: Annotated[
        str, typer.Option("--replay", metavar="URL", help="Where `tickmind replay RUN` shows the run, for links.")
    ] = "http://127.0.0.1:8700/",
    agents: RunAgents = None,
    folder: Folder = RUNS_FOLDER,
) -> None:
    """Ask characters of a run what they knew after a tick. The run is not changed.

    Each mind is lived again up to that tick, so it is asked as it was. An answer cites the memories that it rests on,
    each with its link into the replay; what was never perceived is not known. Without a question it is a conversation.
    """
    from tickmind.lab.interviews.interviewer import RETRIEVED, RETRIEVED_LOCAL, Interviewer
    from tickmind.record import RunStore

    who = [*(who or ()), *(who_too or ())]
    comes = questions == STDIN and form is AnswerFormat.LINES  # questions come one by one
    asked = [*(question or ()), *(_read_questions(questions) if questions is not None and not comes else ())]
    MAX_QUESTIONS.check(len(asked))
    if not who and questions is None:
        raise ConfigError("name whom to ask, or give a file of questions for all characters with --questions FILE")
    if not asked and not comes and (len(who) != 1 or not sys.stdin.isatty()):
        raise ConfigError(
            "there is no question: give --question TEXT or --questions FILE, or ask one actor in a terminal"
        )
    store = RunStore(folder)
    with store.open(run_id) as run, _wording(model, own_words=own_words, held=held) as word:
        if run.last_tick_id is None or (tick is not None and tick > run.last_tick_id):
            raise ConfigError(f"run {run_id} ends with tick {run.last_tick_id or 0}; choose one up to it")
        with programs_print_to_stderr() as output:
            make = partial(Interviewer, word=word, retrieved=RETRIEVED_LOCAL if held else RETRIEVED, replay=replay)
            interviewers = _interviewers(store, run, who, tick or run.last_tick_id, agents, make)
            if form is AnswerFormat.LINES and out is None:
                answer_in_lines(interviewers, chain(asked, sys.stdin if comes else ()), output)
                return
            answers = [interviewer.ask(each) for interviewer in interviewers for each in asked]
        if not asked:
            _converse(run_id, interviewers[0])
            return
    _put(run_id, answers, form, out)


def _interviewers(
    store: "RunStore",
    run: "RunReader",
    who: Sequence[str],
    tick: int,
    agents: Path | None,
    make: "Callable[[AskedMind], Interviewer]",
) -> "list[Interviewer]":
    """Live minds again up to a tick; return an interviewer for each."""
    from tickmind.agent import CharacterHost
    from tickmind.agent.character.body import Body
    from tickmind.cli.minds.commands import show_progress
    from tickmind.lab.errors import InterviewError
    from tickmind.lab.interviews.interviewer import AskedMind
    from tickmind.lab.minds.relived import RelivedMinds, recorded_thoughts

    minds: RelivedMinds = RelivedMinds(store, run, who, agents=agents)
    fidelity = minds.live(tick, show_progress(tick))
    if not fidelity.exact:
        typer.echo(f"Not all came out as recorded; the first difference: {fidelity.differences[0]}", err=True)
    thoughts = recorded_thoughts(run)
    made: list[Interviewer] = []
    for group in minds.groups:
        host = group.host
        for name in (
            group.group.entity_ids
            if not who
            else [entity_id for entity_id in group.group.entity_ids if entity_id in who]
        ):
            character = host.character(name) if isinstance(host, CharacterHost) and name in host.entity_ids else None
            if isinstance(character, Body):
                made.append(make(AskedMind.of(character, tick, thoughts.get(name, ()))))
            elif who:
                raise InterviewError(
                    f"{name} can't be asked: its agent is no Character, or took part in no tick up to {tick}"
                )
    if not made:
        raise InterviewError(f"no actor of run {run.run_id} has a mind that can be asked after tick {tick}")
    return made


@contextmanager
def _wording(model: str, *, own_words: bool, held: bool) -> "Iterator[WordAnswer | None]":
    """Yield what asks the model that is configured, held to citing by a grammar or not; None if there is none."""
    import os

    if own_words or not (model or os.environ.get("LLM_BASE_URL")):
        yield None
        return
    from tickmind.lab.interviews.interviewer import citing_grammar
    from tickmind.llm import CallConfig, Message, SyncModelClient, load_model_config

    config = load_model_config(model=model or None)
    with SyncModelClient(config) as client:

        def word(system: str, asked: str, numbers: Sequence[int]) -> Iterator[str]:
            extra = {"grammar": citing_grammar(numbers)} if held else {}
            call = CallConfig(max_tokens=ANSWER_TOKENS, temperature=0.0, timeout_s=ANSWER_S, extra=extra)
            with client.stream([Message.system(system), Message.user(asked)], call) as stream:
                for chunk in stream:
                    yield chunk.content

        yield word


def _converse(run_id: str, interviewer: "Interviewer") -> None:
    typer.echo(f"Ask what you like about run {run_id}; an empty line ends the interview.", err=True)
    while True:
        try:
            question = input("> ").strip()
        except EOFError:
            return
        if not question:
            return
        shown: list[str] = []
        answer = interviewer.ask(question, partial(_show, shown))
        lines = _text(answer).splitlines()
        if shown:
            typer.echo()
        if answer.by_model and " ".join("".join(shown).split()) == answer.text:
            del lines[0]  # it stands there already; what citations have changed is shown as it is now
        typer.echo(harmless("\n".join(lines)))


def _show(shown: list[str], part: str) -> None:
    shown.append(part)
    typer.echo(harmless(part), nl=False)


def _put(run_id: str, answers: "Sequence[InterviewAnswer]", form: AnswerFormat, out: Path | None) -> None:
    from tickmind.cli.outputs import write_output
    from tickmind.lab.interviews.tables import as_csv, as_json, as_markdown

    forms: dict[AnswerFormat, Callable[[], str]] = {
        AnswerFormat.TEXT: lambda: "\n".join(
            f"{answer.who}: {answer.question}\n{_text(answer)}\n" for answer in answers
        ),
        AnswerFormat.JSON: lambda: as_json(run_id, answers) + "\n",
        AnswerFormat.CSV: lambda: as_csv(answers),
        AnswerFormat.MARKDOWN: lambda: as_markdown(answers),
        AnswerFormat.LINES: lambda: "".join(answer_line(answer) for answer in answers),
    }
    text = forms[form]()
    if out is not None:
        write_output(out, text.encode())
        typer.echo(str(out))
    else:
        is_for_programs = form is AnswerFormat.JSON and not sys.stdout.isatty()
        typer.echo(text if is_for_programs else harmless(text), nl=False)


def _text(answer: "InterviewAnswer") -> str:
    """Return an answer with its memories, and what was thought then."""
    lines = [answer.text]
    for citation in answer.citations:
        told = f", told by {citation.told_by}" if citation.told_by else ""
        lines.append(f"  memory {citation.number}, tick {citation.tick_id}{told}: {citation.text}  {citation.address}")
    if answer.known and not answer.citations:
        lines.append("  by what it knows of its world and of itself, no memory of an event")
    if answer.thought is not None:
        lines.append(f"  thought in tick {answer.thought.tick_id}: {answer.thought.text}  {answer.thought.address}")
    return "\n".join(lines)


def _read_questions(path: Path) -> list[str]:
    """Return the questions of a file: its lines that are neither empty nor begin with #."""
    try:
        most = int(MAX_FILE_BYTES.maximum) + 1
        data = sys.stdin.buffer.read(most) if path == STDIN else read_at_most(path, most)
        MAX_FILE_BYTES.check(len(data))
        lines = [line.strip() for line in data.decode().splitlines()]
    except OSError as error:
        raise ConfigError(f"the questions in {path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not a text in UTF-8; write a question in each line") from error
    questions = [line for line in lines if line and not line.startswith("#")]
    if not questions:
        raise ConfigError(f"{path} has no question; write one in each line")
    return questions
