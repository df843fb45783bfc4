"""`Wording`: a line that a model was asked to word, and what the checker says of its words."""

from collections.abc import Mapping
from typing import NamedTuple

from tickmind.mind.talk.line_checker import clean_line, problem_of
from tickmind.mind.talk.repeats import SpokenBefore
from tickmind.mind.talk.wording_check import names_another, without_question, wording_problem
from tickmind.mind.talk.wording_task import EXAMPLE_NAMES, beginning_asked, finished, line_asked
from tickmind.protocol import ThoughtReport


class Wording(NamedTuple):
    """A line that a model was asked to word, and its words; `problem` says why the checker refuses them."""

    who: str
    tick_id: int
    told: str
    words: str
    problem: str = ""


def read_wording(report: ThoughtReport, names: Mapping[str, str]) -> Wording | None:
    """Return what a thought worded; None if it was about something else or has no reply.

    `names` are those of all actors by id. That a line was said before is no problem here: it may keep the sense.
    """
    thought = report.thought
    told = line_asked(thought.user_message) if thought.reply else ""
    if not told:
        return None
    plan = thought.directives.get("plan")
    text = str(plan.get("text", "")) if isinstance(plan, Mapping) else thought.reply
    words = finished(beginning_asked(thought.user_message), next(iter(text.strip().splitlines()), ""))
    own, others = report.entity_id, [name for who, name in names.items() if who != report.entity_id]
    line = clean_line(without_question(words.strip(), told), (own, names.get(own, own)))
    problem = problem_of(line, SpokenBefore()) or wording_problem(line, told, names.values())
    if not problem and names_another(line, thought.user_message, (*others, *EXAMPLE_NAMES)):
        problem = "it names another"
    return Wording(own, report.tick_id, told, line, problem)
