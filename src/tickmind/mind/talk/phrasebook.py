"""`Phrasebook`: lines for every act of a talk, for minds without a model, and where a model's line is no good."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from tickmind.mind.talk.phrases import PARTS


class Act(StrEnum):
    """What a line is for."""

    GREET = "greet"
    ASK = "ask"
    TELL = "tell"
    ANSWER = "answer"
    ADMIT = "admit"  # that one does not know
    REACT = "react"
    REQUEST = "request"
    PROMISE = "promise"
    DECLINE = "decline"
    INVITE = "invite"
    FAREWELL = "farewell"
    FAREWELL_BACK = "farewell back"


_TRIES = 12  # wordings that are compared, at most

_LINES: Mapping[Act, Sequence[str]] = MappingProxyType(
    {
        Act.GREET: ("{hail}. {remark}", "{hail}! {remark}"),
        Act.ASK: ("{question}", "{question_lead} {question}"),
        Act.TELL: ("{lead}: {news}", "{lead}, {name}: {news}"),
        Act.ANSWER: ("{lead_answer}: {news}", "{lead_answer}, {name}: {news}"),
        Act.ADMIT: ("{unknown}",),
        Act.REACT: ("{react} {question}", "{react} {remark}"),
        Act.REQUEST: ("{plea} {request}", "{name}, {plea_low} {request}"),
        Act.PROMISE: ("{agree} {promise}",),
        Act.DECLINE: ("{refuse}",),
        Act.INVITE: ("{welcome} {invitation}",),
        Act.FAREWELL: ("{reason} {bye}", "{end} {bye}", "{end} {reason} {bye}"),
        Act.FAREWELL_BACK: ("{bye_back} {bye}", "{bye_back} {reason} {bye}", "{bye_back} {end} {bye}"),
    }
)


QUESTIONS = tuple(PARTS["question"])  # that fit any time and partner

_SENTENCE = re.compile(r"[^.!?;]+")
_WORD = re.compile(r"[\w']+")


def _opening(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower())[:2])


_OPENINGS = frozenset(
    _opening(sentence) for parts in PARTS.values() for part in parts for sentence in _SENTENCE.findall(part)
)


def is_small_talk(text: str) -> bool:
    """Return whether a line is nothing but phrases of this book, of which nothing is to be remembered."""
    return all(_opening(sentence) in _OPENINGS for sentence in _SENTENCE.findall(text) if _opening(sentence))


def choose_part(chance: random.Random, names: Sequence[str]) -> str:
    """Return one of some parts; one with more wordings comes more often, so that none of them wears out."""
    return chance.choices(names, [len(PARTS[name]) for name in names])[0]


class Phrasebook:
    """Makes lines of parts by a seeded chance, and prefers those that are not like lines before."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def line(
        self, act: Act, slots: Mapping[str, str], shared: Callable[[str], float], *, choices: Mapping[str, str]
    ) -> str:
        """Return a line for an act: of some wordings the one that shares least with lines before.

        `slots` are the words for what is in braces, `choices` say which list of parts stands for one.
        """
        best, least = "", 2.0
        for _ in range(_TRIES):
            text = _capitalised(self._fill(self._chance.choice(_LINES[act]), slots, choices))
            if (found := shared(text)) < least:
                best, least = text, found
            if not least:
                break
        return best

    def part(self, name: str, slots: Mapping[str, str]) -> str:
        """Return one wording of a part."""
        return _capitalised(self._fill(self._chance.choice(PARTS[name]), slots, {}))

    def _fill(self, text: str, slots: Mapping[str, str], choices: Mapping[str, str]) -> str:
        filled = []
        for piece in text.split("{"):
            name, brace, rest = piece.partition("}")
            if not brace:
                filled.append(piece)
                continue
            part = PARTS.get(choices.get(name, name))
            filled.append(slots[name] if part is None else self._fill(self._chance.choice(part), slots, choices))
            filled.append(rest)
        return "".join(filled)


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
