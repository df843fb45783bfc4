"""A probe of models: whether one chooses from a menu by what the options say, or by where they stand."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tickmind.mind.options import Option, menu_text, read_choice

ENOUGH_RIGHT = 9  # of the twelve questions, for a model that decides
_SITUATIONS = (  # what is the case, and what there is to do, the sensible thing first
    (
        "Hunger 95 %, energy 80 %. You carry 2 bread. It is 12:00.",
        ("eat bread", "visit Tom", "work at the mill", "sit for a while"),
    ),
    (
        "Hunger 5 %, energy 3 %. You carry nothing. It is 23:30, night.",
        ("rest at home", "visit Tom", "work at the mill", "see what is new"),
    ),
    (
        'Hunger 5 %, energy 90 %. You carry 3 wheat. It is 15:00. memory said: "I promised Tom to visit him at 15:00."',
        ("visit Tom", "rest at home", "eat wheat", "sit for a while"),
    ),
)


class ProbeQuestion(NamedTuple):
    """A situation with a menu, of which one option is the sensible one."""

    text: str
    options: tuple[Option, ...]
    right: Option


class ProbeResult(NamedTuple):
    """How a model chose: how often rightly, and how often what stood first."""

    right: int
    first: int
    of: int

    @property
    def decides(self) -> bool:
        """Whether it chooses well enough to decide for a character."""
        return self.right >= ENOUGH_RIGHT


def probe_questions() -> list[ProbeQuestion]:
    """Return twelve questions: in each situation the sensible option stands at each place once."""
    questions = []
    for situation, (right, *others) in _SITUATIONS:
        for place in range(len(others) + 1):
            words = (*others[:place], right, *others[place:])
            options = tuple(Option(text, 0.5) for text in words)
            questions.append(ProbeQuestion(f"{situation}\n{menu_text(options)}", options, options[place]))
    return questions


def judge(questions: Sequence[ProbeQuestion], replies: Iterable[str]) -> ProbeResult:
    """Return how the replies to the questions chose."""
    chosen = [read_choice(reply, question.options) for question, reply in zip(questions, replies, strict=True)]
    right = sum(choice == question.right for question, choice in zip(questions, chosen, strict=True))
    first = sum(choice == question.options[0] for question, choice in zip(questions, chosen, strict=True))
    return ProbeResult(right, first, len(questions))
