"""`tickmind interview`: a mind of a run answers from its memories, and cites them."""

import csv
import hashlib
import io
import json
import re
import sys

import pytest
from tests.kits.lived_runs import AGENTS, TICKS, record_villagers
from typer.testing import CliRunner

from tickmind.cli.app import app
from tickmind.cli.lab.interview import AnswerFormat, _converse, _put
from tickmind.lab.interviews.interviewer import UNKNOWN, AskedMind, Interviewer
from tickmind.lab.interviews.tables import as_markdown
from tickmind.llm.testing import FakeProvider
from tickmind.mind.memory import EntryKind, Memory
from tickmind.protocol import Thought

ITEMS = ("bread", "honey", "nails", "cheese", "rope", "candles", "apples", "flour", "wool", "salt")
PEOPLE = {"tom": "Tom", "gita": "Gita", "bram": "Bram", "zoe": "Zoe", "ulf": "Ulf"}
PLACES = ("mill", "square", "wood", "harbour", "chapel")


def planted():
    """50 facts, each with a question that asks for it and a word of the right answer."""
    for number, item in enumerate(ITEMS):
        who, other = list(PEOPLE)[number % 5], list(PEOPLE)[(number + 2) % 5]
        place = PLACES[number % 5]
        name, third = PEOPLE[who], PEOPLE[other]
        yield f"{name} gave me 2 {item}.", EntryKind.GOT, who, f"Who gave you {item}?", name
        yield f"I gave {third} 1 {item}.", EntryKind.GAVE, other, f"To whom did you give {item}?", third
        yield f"I saw {item} at the {place}.", EntryKind.SAW, "", f"Where did you see {item}?", place
        yield f"{name} sells {item} at noon.", EntryKind.HEARD, who, f"Who sells {item}?", name
        yield f"I promised to bring {third} {item}.", EntryKind.PROMISED, other, f"Whom did you promise {item}?", third


def unperceived():
    """50 questions about what the mind never perceived: things, people and places that are in no memory."""
    things = ("silver", "pepper", "a sword", "ink", "saffron", "a crown", "marble", "a lute", "velvet", "tar")
    for number, thing in enumerate(things):
        yield f"Who gave you {thing}?"
        yield f"Where did you see {thing}?"
        yield f"Who sells {thing}?"
        yield f"To whom did you give {thing}?"
        yield f"What did the queen of the {number + 1} isles do with {thing}?"


FACTS, UNKNOWN_QUESTIONS = list(planted()), list(unperceived())


@pytest.fixture(scope="module")
def mind():
    memory = Memory(day_ticks=600)
    for tick, (text, kind, about, _, _) in enumerate(FACTS, start=1):
        told_by = about if kind is EntryKind.HEARD else ""
        memory.note(tick, text, kind=kind, about=about, told_by=told_by)
    thoughts = [
        Thought(1, 10, 11, "", "", reply="I shall fetch honey for Gita."),
        Thought(1, 40, 41, "", "", reply="Honey again? The rope is more urgent."),
        Thought(1, 80, 81, "", "", reply="Honey, but after the interview."),
    ]
    return AskedMind("ada", "Ada", 60, memory, PEOPLE, ("The chapel was built by monks.",), thoughts=thoughts)


def check_citations(answer, memory):
    """Every citation is a memory that there is, at its tick, with a link to it."""
    for one in answer.citations:
        entry = memory.entry(one.number)
        assert (one.tick_id, one.text) == (entry.tick, entry.text)
        assert one.address == f"http://127.0.0.1:8700/#tick={entry.tick}&actor=ada"


@pytest.mark.parametrize(("text", "question", "right"), [(fact[0], fact[3], fact[4]) for fact in FACTS])
def test_a_planted_fact_is_answered_with_the_memory_of_it(mind, text, question, right):
    answer = Interviewer(mind).ask(question)
    assert answer.known
    assert right in answer.text
    assert answer.citations
    check_citations(answer, mind.memory)


@pytest.mark.parametrize("question", UNKNOWN_QUESTIONS)
def test_what_was_never_perceived_is_not_known(mind, question):
    answer = Interviewer(mind).ask(question)
    assert (answer.text, answer.known, answer.citations) == (UNKNOWN, False, ())


def test_there_are_fifty_questions_of_each_kind():
    assert (len(FACTS), len(UNKNOWN_QUESTIONS)) == (50, 50)


def test_a_fact_of_the_persona_is_known_without_a_memory(mind):
    answer = Interviewer(mind).ask("Who built the chapel?")
    assert (answer.text, answer.known, answer.citations) == ("The chapel was built by monks.", True, ())


def test_the_last_thought_about_the_subject_up_to_the_tick_stands_beside_the_answer(mind):
    thought = Interviewer(mind).ask("Who gave you honey?").thought
    assert thought is not None
    assert (thought.tick_id, thought.text) == (40, "Honey again? The rope is more urgent.")
    assert thought.address.endswith("#tick=40&actor=ada")
    assert Interviewer(mind).ask("Who gave you salt?").thought is None


@pytest.mark.parametrize("most", [1, 4])
def test_a_model_that_reads_slowly_gets_few_memories(mind, most):
    given = []

    def word(_system, _message, numbers):
        given.append(len(numbers))
        return "I do not know."

    Interviewer(mind, word=word, retrieved=most).ask("Who gave you honey?")
    assert given == [most]


def test_what_is_new_is_answered_with_the_latest_memories(mind):
    answer = Interviewer(mind).ask("What happened today?")
    assert len(answer.citations) == 3
    check_citations(answer, mind.memory)


def test_a_model_words_only_what_the_memories_say_and_false_citations_are_dropped(mind):
    asked = []

    def word(system, message, numbers):
        asked.append((system, message, numbers))
        (number,) = re.findall(r"\[(\d+)\] Gita gave me 2 honey", message)
        return f"It was Gita [{number}, 977], I believe [4711]."

    answer = Interviewer(mind, word=word).ask("Who gave you honey?")
    assert (answer.by_model, answer.known) == (True, True)
    assert re.fullmatch(r"It was Gita \[\d+\], I believe\.", answer.text)
    check_citations(answer, mind.memory)
    assert len(answer.citations) == 1
    system, message, numbers = asked[0]
    assert "You are Ada." in system
    assert sorted(map(int, re.findall(r"^\[(\d+)\]", message, re.MULTILINE))) == numbers
    assert len(numbers) <= 8


@pytest.mark.parametrize("form", [AnswerFormat.TEXT, AnswerFormat.CSV, AnswerFormat.MARKDOWN])
def test_what_was_said_does_not_command_a_terminal(mind, capsys, form):
    answer = Interviewer(mind, word=lambda _system, _message, _numbers: "\x1b]0;owned\x07 Bram did [1].").ask(
        "Who gave you bread?"
    )
    assert answer.known
    _put("run", [answer], form, None)
    shown = capsys.readouterr().out
    assert "owned" in shown
    assert "\x1b" not in shown


def test_a_number_that_no_memory_can_have_is_dropped(mind):
    long = f"A dragon gave it to me [{'9' * 5000}]."
    assert not Interviewer(mind, word=lambda _system, _message, _numbers: long).ask("Who sells salt?").by_model


@pytest.mark.parametrize("reply", ["A dragon gave it to me [9999].", UNKNOWN, ""])
def test_a_model_that_cites_nothing_is_not_believed_and_the_mind_answers_itself(mind, reply):
    for question in ("Who sells salt?", "Who sold salt to the queen of the isles?"):
        own = Interviewer(mind).ask(question)
        answer = Interviewer(mind, word=lambda _system, _message, _numbers: reply).ask(question)
        assert answer == own
        assert not answer.by_model
    assert Interviewer(mind, word=lambda _system, _message, _numbers: reply).ask("Who sells salt?").known


def test_a_model_is_not_asked_about_what_no_memory_has_to_do_with(mind):
    def refuse(_system, _message, _numbers):
        raise AssertionError("there is nothing to word")

    assert not Interviewer(mind, word=refuse).ask("Who stole velvet?").known


def test_markdown_takes_no_marks_from_texts(mind):
    table = as_markdown([Interviewer(mind).ask("Who stole | `velvet` [x](y)?")])
    assert r"\| \`velvet\` \[x\]" in table


@pytest.mark.parametrize("question", ["Who did you talk with?", "Whom have you spoken to today?"])
def test_with_whom_it_talked_is_answered_by_what_they_told_it(question):
    memory = Memory(day_ticks=600)
    for tick, who in enumerate(["bram", "gita", "bram", "hugo", "iris"], start=1):
        memory.note(tick, f"{who} picked {tick} berries.", kind=EntryKind.HEARD, about=who, told_by=who)
    people = {who: who.capitalize() for who in ("bram", "gita", "hugo", "iris")}
    answer = Interviewer(AskedMind("ada", "Ada", 60, memory, people)).ask(question)
    assert answer.text == "With Iris, Hugo and Bram, who told me something."
    assert [citation.told_by for citation in answer.citations] == ["iris", "hugo", "bram"]
    assert not Interviewer(AskedMind("ada", "Ada", 60, Memory(), people)).ask(question).known


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    record_villagers(folder, "lived", AGENTS)
    return folder


def interview(runs, *words):
    return CliRunner().invoke(app, ["interview", *words, "--runs", str(runs)], prog_name="tickmind")


def digest(folder):
    """Names, contents and times of all files below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [(str(path), hashlib.sha256(path.read_bytes()).digest(), path.stat().st_mtime_ns) for path in files]


def test_a_character_of_a_run_is_asked_as_it_was_and_the_run_stays_as_it_is(runs):
    before = digest(runs)
    early = interview(runs, "lived", "entity:1", "--tick", "1", "--question", "What happened?", "--format", "json")
    late = interview(runs, "lived", "entity:1", "--question", "What happened?", "--question", "Who stole velvet?")
    assert (early.exit_code, late.exit_code) == (0, 0), early.output + late.output
    (first,) = json.loads(early.stdout)["answers"]
    assert first["tick_id"] == 1
    assert all(one["tick_id"] <= 1 for one in first["citations"])
    assert "entity:1: Who stole velvet?\nI do not know." in late.stdout
    assert digest(runs) == before


def test_whom_to_ask_may_be_an_option_too(runs):
    done = interview(runs, "lived", "entity:1", "--who", "entity:2", "--question", "What happened?", "--format", "json")
    assert done.exit_code == 0, done.output
    assert [answer["who"] for answer in json.loads(done.stdout)["answers"]] == ["entity:1", "entity:2"]


def test_a_file_of_questions_for_all_characters_gives_a_table(runs, tmp_path):
    questions = tmp_path / "questions.txt"
    questions.write_text("# two\nWhat happened?\n\nWho stole velvet?\n")
    done = interview(runs, "lived", "--questions", str(questions), "--format", "csv")
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["who"] for row in rows} == {"entity:1", "entity:2", "entity:3"}
    assert len(rows) == 6
    assert {row["known"] for row in rows if "velvet" in row["question"]} == {"no"}
    out = tmp_path / "table.md"
    words = ("--questions", str(questions), "--format", "markdown", "--out", str(out))
    assert interview(runs, "lived", "entity:2", *words).exit_code == 0
    assert out.read_text().startswith("| who | question | answer |")


def test_a_conversation_goes_on_until_an_empty_line(mind, monkeypatch, capsys):
    lines = iter(["Who gave you honey?", "Who stole velvet?", "", "Who sells salt?"])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(lines))
    _converse("lived", Interviewer(mind))
    shown = capsys.readouterr().out
    assert re.search(r"^Gita gave me 2 honey\.\n  memory \d+, tick \d+: Gita", shown)
    assert shown.endswith("I do not know.\n")
    assert next(lines) == "Who sells salt?"


@pytest.mark.slow
def test_a_model_that_is_configured_words_the_answers(runs, monkeypatch):
    def answer(request):
        return f"Something happened {re.findall(r'^(.[0-9]+.)', request.messages[-1].text, re.MULTILINE)[-1]}."

    with FakeProvider.in_thread(answer, models=("m",)) as provider:
        monkeypatch.setenv("LLM_BASE_URL", provider.base_url)
        words = ("lived", "entity:1", "--question", "What happened?", "--format", "json")
        worded = interview(runs, *words, "--model", "m")
        held = interview(runs, *words, "--model", "m", "--local-model")
        own = interview(runs, *words, "--own-words")
    assert (worded.exit_code, own.exit_code) == (0, 0), worded.output + own.output
    (by_model,), (by_code,) = (json.loads(one.stdout)["answers"] for one in (worded, own))
    assert (by_model["by_model"], by_code["by_model"]) == (True, False)
    assert by_model["text"] == f"Something happened [{by_model['citations'][0]['number']}]."
    assert by_model["citations"][0] in by_code["citations"]
    assert held.stdout == worded.stdout
    free, held_to = (one.body.get("grammar", "") for one in provider.seen if one.request is not None)
    assert free == ""
    assert all(f'"{one["number"]}"' in held_to for one in by_code["citations"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["entity:1"], "there is no question: give --question TEXT"),
        ([], "name whom to ask"),
        (["zoe", "--question", "Who?"], "has no actor 'zoe'"),
        (["entity:1", "--question", "Who?", "--tick", "99"], f"run lived ends with tick {TICKS}"),
        (["entity:1", "--questions", "gone.txt"], "the questions in gone.txt can't be read"),
    ],
)
def test_an_interview_that_cannot_be_had_says_what_to_do(runs, words, says):
    done = interview(runs, "lived", *words)
    assert done.exit_code == 1
    assert says in done.output


def test_questions_of_a_program_are_answered_line_by_line_as_they_come(runs, monkeypatch):
    """What a mind's own code prints meanwhile is no line of them."""
    ask = Interviewer.ask

    def chatty(*args, **kwargs):
        sys.stdout.write("asked\n")
        return ask(*args, **kwargs)

    words = ["interview", "lived", "entity:1", "--questions", "-", "--format", "lines", "--runs", str(runs)]
    monkeypatch.setattr(Interviewer, "ask", chatty)
    asked = f"What happened?\n\n{'x' * 1001}\nWho stole velvet?\n"
    done = CliRunner().invoke(app, words, input=asked, prog_name="tickmind")
    assert done.exit_code == 0, done.output
    ready, first, refused, last = map(json.loads, done.stdout.splitlines())
    assert ready == {"ready": ["entity:1"]}
    assert first["answer"]["known"]
    assert refused == {
        "error": "length of a question in an interview is 1,001 characters, more than the limit of 1,000"
    }
    assert last["answer"]["text"] == "I do not know."


@pytest.mark.parametrize(
    ("parts", "checked"),
    [
        (("Gita gave me ", "some [6]."), ""),
        (("Gita gave me ", "some [6, 999]."), "Gita gave me some [6].\n"),
        (("A dragon gave me ", "honey [999]."), "Gita gave me 2 honey.\n"),  # the mind's own words
    ],
)
def test_what_a_model_says_is_shown_as_it_comes_and_again_if_its_check_changes_it(
    mind, monkeypatch, capsys, parts, checked
):
    seen = []

    def word(_system, _asked, _numbers):
        for part in parts:
            seen.append(capsys.readouterr().out)
            yield part

    lines = iter(["Who gave you honey?", ""])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(lines))
    _converse("lived", Interviewer(mind, word=word))
    assert seen == ["", parts[0]]
    assert capsys.readouterr().out.startswith(f"{parts[1]}\n{checked}  memory 6, tick 6: Gita gave me 2 honey.")
