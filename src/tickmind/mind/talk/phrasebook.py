"""`Phrasebook`: lines for every act of a talk, for minds without a model, and where a model's line is no good."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType


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

# Parts of lines by their names. A part may name others in braces; `{name}`, `{place}`, `{news}` and the like are given.
_PARTS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "hail_morning": ("Good morning, {name}", "Morning, {name}", "Up early too, {name}", "Hello, {name}"),
        "hail_day": ("Good day, {name}", "Hello, {name}", "Well met, {name}", "Hey, {name}", "{name}, hello"),
        "hail_evening": ("Good evening, {name}", "Evening, {name}", "Hello, {name}", "Still about, {name}"),
        "hail_night": ("Hello, {name}", "Out so late, {name}", "{name}, hello", "Good evening, {name}"),
        "remark_morning": (
            "I slept well for once.",
            "The day is young and so, nearly, am I.",
            "I have been up since the birds.",
            "There is dew on everything.",
            "I wonder what today brings.",
            "My head is still half asleep.",
            "I like it when it is still this quiet.",
        ),
        "remark_day": (
            "I thought I heard your steps.",
            "I was just thinking of you.",
            "It is a day for long walks.",
            "I have hardly sat down since morning.",
            "Half the day is gone already.",
            "The sun is doing my back good.",
            "I could use a little company.",
            "My feet know this path by now.",
        ),
        "remark_evening": (
            "The light goes early.",
            "It has been a full day.",
            "I am nearly done for today.",
            "I can smell supper somewhere.",
            "The shadows are long already.",
            "My legs tell me it is late.",
        ),
        "remark_night": (
            "I could not sleep.",
            "I ought to be in bed.",
            "It is so quiet that one hears the grass.",
            "The dark makes me walk faster.",
        ),
        "remark_place": (
            "I did not think to find you at {place}.",
            "You too like it at {place}.",
            "So many people at {place} today.",
            "I seem to end up at {place} every day.",
        ),
        "remark_weather": (
            "So much {weather} today.",
            "What do you make of this {weather}?",
            "I can feel the {weather} in my bones.",
        ),
        "introduction": ("I am {me}.", "My name is {me}.", "We have not met, I think. I am {me}."),
        "lead": (
            "Listen",
            "Have you heard",
            "I have something to say",
            "By the way",
            "This may interest you",
            "It is on my mind",
            "You will like this",
            "Between the two of us",
            "So you know",
            "One more thing",
        ),
        "lead_told": (
            "{teller} told me",
            "I have it from {teller}",
            "{teller} says",
            "As {teller} put it",
            "I heard it from {teller}",
        ),
        "lead_answer": (
            "Well",
            "Let me see",
            "As far as I know",
            "I can say this much",
            "I will be honest with you",
            "If you ask me",
            "Since you ask",
        ),
        "question": (
            "How has your day been?",
            "What brings you here?",
            "What have you been up to?",
            "What is new with you?",
            "Have you seen anything worth a story?",
            "What would make this a good day for you?",
            "Is anything troubling you?",
            "What are you going to do next?",
            "Who have you met today?",
        ),
        "question_place": (
            "Is there much to do at {place}?",
            "What is going on at {place}?",
            "Do you come to {place} often?",
            "Who else comes to {place}?",
        ),
        "plea": (
            "I could use your help.",
            "May I ask you for something?",
            "It is not easy for me to ask.",
            "My bag is empty.",
            "I would owe you something.",
        ),
        "plea_low": ("I need your help.", "do me a favour, please.", "it would mean a lot to me."),
        "agree": (
            "Of course, {name}.",
            "Gladly.",
            "Consider it done.",
            "For you, yes.",
            "Yes, {name}.",
            "You can count on me.",
        ),
        "refuse": (
            "I can't, {name}; I have too little myself.",
            "I am sorry, {name}, not this time.",
            "I have none to spare.",
            "I would if I could, {name}.",
            "Not today, I fear.",
        ),
        "welcome": (
            "There is room for one more.",
            "We were just speaking.",
            "You come at the right time.",
            "Do not stand there alone.",
            "The more, the merrier.",
            "Come closer.",
            "You might like to hear this.",
            "We have only just begun.",
            "Another pair of ears is welcome.",
        ),
        "question_person": (
            "Have you seen {person} lately?",
            "What do you think of {person}?",
            "Do you know how {person} is doing?",
            "When did you last speak with {person}?",
        ),
        "question_wish": (
            "I want {wish}. What do you want?",
            "All I want is {wish}; and you?",
            "Some days I only want {wish}. Do you know that feeling?",
            "Would you laugh if I said that I want {wish}?",
        ),
        "react": (
            "Is that so, {name}?",
            "I did not know that.",
            "That is good to know, {name}.",
            "You see more than I do.",
            "I will keep that in mind.",
            "I would not have guessed it.",
            "That makes me think.",
            "Then I will look for myself.",
            "I am glad that you say so.",
        ),
        "unknown": (
            "I do not know, {name}.",
            "I could not say.",
            "Nobody has said anything to me about it.",
            "Ask me again tomorrow; today I do not know.",
            "I have no answer to that yet.",
        ),
        "bye": (
            "Goodbye, {name}.",
            "Take care, {name}.",
            "See you, {name}.",
            "Farewell, {name}.",
            "Until later, {name}.",
            "Goodbye for now.",
            "See you around, {name}.",
        ),
        "reason": (
            "I want to {aim} now.",
            "It is time for me to {aim}.",
            "I have to {aim} before it gets late.",
            "I had better {aim}.",
            "Before anything else I must {aim}.",
            "My next thing is to {aim}.",
            "I said to myself that I would {aim}.",
        ),
        "end": (
            "I will not keep you any longer.",
            "That was a good talk.",
            "I am glad we met.",
            "You have given me something to think about.",
            "Thank you for the company.",
        ),
        "bye_back": (
            "And you, {name}.",
            "Thank you, {name}.",
            "It was good to see you.",
            "You too.",
            "I must be off as well.",
            "So must I.",
        ),
    }
)
_LINES: Mapping[Act, Sequence[str]] = MappingProxyType(
    {
        Act.GREET: ("{hail}. {remark}", "{hail}! {remark}"),
        Act.ASK: ("{question}", "{question}", "{name}, tell me: {question}"),
        Act.TELL: ("{lead}: {news}", "{lead}, {name}: {news}"),
        Act.ANSWER: ("{lead_answer}: {news}", "{lead_answer}, {name}: {news}"),
        Act.ADMIT: ("{unknown}",),
        Act.REACT: ("{react} {question}", "{react} {remark}"),
        Act.REQUEST: ("{plea} {request}", "{request}", "{name}, {plea_low} {request}"),
        Act.PROMISE: ("{agree} {promise}", "{agree} {promise}", "{promise}"),
        Act.DECLINE: ("{refuse}",),
        Act.INVITE: ("{welcome} {invitation}",),
        Act.FAREWELL: ("{reason} {bye}", "{end} {bye}", "{end} {reason} {bye}"),
        Act.FAREWELL_BACK: ("{bye_back} {bye}", "{bye_back} {reason} {bye}", "{bye_back} {end} {bye}"),
    }
)


QUESTIONS = tuple(_PARTS["question"])  # that fit any time and partner

_SENTENCE = re.compile(r"[^.!?;]+")
_WORD = re.compile(r"[\w']+")


def _opening(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower())[:2])


_OPENINGS = frozenset(
    _opening(sentence) for parts in _PARTS.values() for part in parts for sentence in _SENTENCE.findall(part)
)


def is_small_talk(text: str) -> bool:
    """Return whether a line is nothing but phrases of this book, of which nothing is to be remembered."""
    return all(_opening(sentence) in _OPENINGS for sentence in _SENTENCE.findall(text) if _opening(sentence))


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
            text = self._fill(self._chance.choice(_LINES[act]), slots, choices)
            if (found := shared(text)) < least:
                best, least = text, found
            if not least:
                break
        return best

    def part(self, name: str, slots: Mapping[str, str]) -> str:
        """Return one wording of a part."""
        return self._fill(self._chance.choice(_PARTS[name]), slots, {})

    def _fill(self, text: str, slots: Mapping[str, str], choices: Mapping[str, str]) -> str:
        filled = []
        for piece in text.split("{"):
            name, brace, rest = piece.partition("}")
            if not brace:
                filled.append(piece)
                continue
            part = _PARTS.get(choices.get(name, name))
            filled.append(slots[name] if part is None else self._fill(self._chance.choice(part), slots, choices))
            filled.append(rest)
        whole = "".join(filled)
        return whole[:1].upper() + whole[1:]
