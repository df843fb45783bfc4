"""`Interviewer`: asks a character what it knew at a tick; every answer cites the memories that it rests on."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from tickmind.agent.character.sociable import SociableCharacter
from tickmind.base import Limit, redact
from tickmind.mind.memory import Memory, MemoryEntry
from tickmind.mind.memory.words import indexed_words, words_of
from tickmind.mind.talk.questions import is_open, remembered_answer
from tickmind.record.story.formats import REPLAY, tick_address

if TYPE_CHECKING:
    from tickmind.agent.character.body import Body
    from tickmind.protocol import Thought

UNKNOWN: Final = "I do not know."
MAX_QUESTION_CHARS = Limit("length of a question in an interview", 1000, "characters")
LATEST = 3  # memories that answer what is new
RETRIEVED = 8  # memories that a model words an answer from
RETRIEVED_LOCAL = 4  # the same for a model on this machine, which reads some thirty tokens a second
THOUGHT_CHARS = 400  # of a thought that is shown beside an answer
_CITED = re.compile(r"\s*\[\s*(?:memory\s*)?(\d+(?:\s*,\s*\d+)*)\s*\]", re.IGNORECASE)
_WITH_WHOM = re.compile(r"\bwhom?\b.*\b(?:talk|talked|speak|spoke|spoken|chat|chatted)\b", re.IGNORECASE)
_MOST_DIGITS = 9  # of the number of a memory
_INSTRUCTIONS = """\
You are {name}. {persona}
You are interviewed about your life up to now. Answer in the first person, in one to three sentences, from the numbered
memories only. Before each sentence put the number of its memory in square brackets. If these memories do not answer the
question, answer exactly: {unknown}

An example:
[3] Fay gave me 1 pear.
[4] I gave Fay 2 plums.
[5] I saw pears at the gate.
The question: Who gave you pears?
[3] Fay gave me 1 pear.
The question: To whom did you give plums?
[4] I gave 2 plums to Fay."""

WordAnswer: TypeAlias = Callable[[str, str, Sequence[int]], Iterable[str]]
"""Yields the parts of a model's reply to a system prompt and a message, with the memories that it may cite."""


def citing_grammar(numbers: Sequence[int]) -> str:
    r"""Return the grammar (GBNF) that has a llama.cpp server cite one of these memories before each sentence.

    Or it says that they do not answer the question; a small model that is free to cite never does.

    >>> print(citing_grammar([3, 12]))
    root ::= "I do not know." | said (" " said)? (" " said)?
    said ::= "[" ("3" | "12") "] " [A-Z] [^\[\]\n.!?]{2,160} [.!?]
    """
    cited = " | ".join(f'"{number}"' for number in numbers)
    said = rf'"[" ({cited}) "] " [A-Z] [^\[\]\n.!?]{{2,160}} [.!?]'
    return f'root ::= "{UNKNOWN}" | said (" " said)? (" " said)?\nsaid ::= {said}'


def _nothing(_question: str) -> str:
    return ""


def _not_shown(_part: str) -> None:
    """Ignore a part of a reply that is under way."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A memory that an answer rests on, and where the replay shows it."""

    number: int
    tick_id: int
    text: str
    told_by: str
    address: str


@dataclass(frozen=True, slots=True)
class ThoughtBeside:
    """What a character really thought about the subject of a question, as it was recorded."""

    tick_id: int
    text: str
    address: str


@dataclass(frozen=True, slots=True)
class InterviewAnswer:
    """What a character answers, whether it knew anything, and what that rests on.

    An answer without citations that is known comes from its map of the world or from its persona.
    """

    who: str
    tick_id: int
    question: str
    text: str
    known: bool
    citations: tuple[Citation, ...] = ()
    thought: ThoughtBeside | None = None
    by_model: bool = False  # whether a model worded it


@dataclass(frozen=True, slots=True)
class AskedMind:
    """A mind after a tick, as far as an interview needs it. The mind is changed by no question."""

    who: str
    name: str
    tick_id: int
    memory: Memory
    people: Mapping[str, str] = field(default_factory=dict)  # id of a known person -> its name
    facts: Sequence[str] = ()  # that its persona knows from the beginning
    persona: str = ""  # its description
    knows: Callable[[str], str] = _nothing  # what it knows besides, as where there is something to eat
    thoughts: Sequence["Thought"] = ()

    @classmethod
    def of(cls, character: "Body", tick_id: int, thoughts: "Sequence[Thought]") -> Self:
        """Return a character that was lived again up to a tick."""
        people: dict[str, str] = {}
        knows: Callable[[str], str] = _nothing
        if isinstance(character, SociableCharacter):
            people, knows = {person.person_id: person.called for person in character.talker.people}, character.answer
        persona = character.persona
        return cls(
            character.entity_id,
            character.name,
            tick_id,
            character.memory,
            people,
            persona.knows,
            persona.description(),
            knows,
            thoughts,
        )


class Interviewer:
    """Ask one mind. Without `word` its own code answers; with it a model words what `retrieved` memories say.

    A model that cites none of the memories is not believed, and the mind's own code answers.
    """

    def __init__(
        self, mind: AskedMind, *, word: WordAnswer | None = None, retrieved: int = RETRIEVED, replay: str = REPLAY
    ) -> None:
        self._mind = mind
        self._word = word
        self._most = retrieved
        self._replay = replay
        self._facts = Memory()
        for fact in mind.facts:
            self._facts.note(0, fact)

    @property
    def who(self) -> str:
        """The id of who is asked."""
        return self._mind.who

    def ask(self, question: str, show: Callable[[str], None] = _not_shown) -> InterviewAnswer:
        """Return the answer to a question; what the mind never perceived it does not know, and says so.

        `show` gets the parts of what a model words, as they come and before their citations are checked.
        """
        MAX_QUESTION_CHARS.check(len(question))
        thought = self._thought_about(question)
        if self._word is not None and (entries := self._retrieved(question)):
            worded = self._worded(question, entries, thought, self._word, show)
            if worded is not None:
                return worded
        if _WITH_WHOM.search(question) and (told := self._told()):
            *others, last = [self._mind.people.get(entry.told_by, entry.told_by) for entry in told]
            names = f"{', '.join(others)} and {last}" if others else last
            return self._answer(question, f"With {names}, who told me something.", told, thought)
        if entry := self._remembered(self._mind.memory, question):
            return self._answer(question, entry.text, (entry,), thought)
        if fact := self._remembered(self._facts, question):
            return self._answer(question, fact.text, (), thought)
        if known := self._mind.knows(question):
            return self._answer(question, known, (), thought)
        if latest := self._latest(question):
            return self._answer(question, " ".join(entry.text for entry in latest), latest, thought)
        return self._unknown(question, thought)

    def _remembered(self, memory: Memory, question: str) -> MemoryEntry | None:
        return remembered_answer(
            memory, self._mind.tick_id, question, self._words(question), self._about(question), lambda _entry: True
        )

    def _told(self) -> tuple[MemoryEntry, ...]:
        """Return the last thing that each of the people told it with whom it talked last."""
        last = {entry.told_by: entry for entry in sorted(self._mind.memory, key=lambda one: one.tick) if entry.told_by}
        return tuple(sorted(last.values(), key=lambda one: -one.tick)[:LATEST])

    def _words(self, question: str) -> frozenset[str]:
        """Return the words that carry the meaning of a question, without the name of who is asked."""
        return words_of(question) - words_of(self._mind.name)

    def _about(self, question: str) -> list[str]:
        asked = self._words(question)
        return [person_id for person_id, called in self._mind.people.items() if words_of(called) & asked]

    def _latest(self, question: str) -> tuple[MemoryEntry, ...]:
        """Return the newest memories, if anything new answers a question, as "What did you do today?"."""
        words = self._words(question) - words_of("do did happened happen new today lately now last happening")
        return () if words or not is_open(question, ()) else tuple(self._mind.memory.latest(LATEST))

    def _retrieved(self, question: str) -> list[MemoryEntry]:
        """Return the memories from which a model may word an answer: those that have to do with the question.

        The one that the mind's own code would answer with comes first, since small models prefer what does.
        """
        mind, asked, about = self._mind, set(indexed_words(question)), self._about(question)
        recalled = mind.memory.scored(mind.tick_id, question, about=about, most=self._most)
        fit = [
            one.entry
            for one in recalled
            if asked & set(indexed_words(one.entry.text)) or set(about) & set(one.entry.about)
        ]
        if (entry := self._remembered(mind.memory, question)) is not None:
            fit = [entry, *(one for one in fit if one != entry)][: self._most]
        return fit or list(self._latest(question))

    def _worded(
        self,
        question: str,
        entries: Sequence[MemoryEntry],
        thought: ThoughtBeside | None,
        word: WordAnswer,
        show: Callable[[str], None],
    ) -> InterviewAnswer | None:
        """Have a model word an answer. Citations that do not exist are dropped; without any there is no answer."""
        mind = self._mind
        told = {entry.number: entry for entry in entries}
        system = _INSTRUCTIONS.format(name=mind.name, persona=mind.persona, unknown=UNKNOWN)
        lines = "\n".join(f"[{entry.number}] {entry.text}" for entry in entries)
        parts = []
        message = f"Your memories, what fits best first:\n{lines}\n\nThe question: {question}"
        for part in word(system, message, sorted(told)):
            parts.append(part)
            show(redact(part))
        reply = " ".join("".join(parts).split())
        cited: dict[int, MemoryEntry] = {}

        def keep(match: re.Match[str]) -> str:
            numbers = [number.strip() for number in match[1].split(",")]
            real = [int(number) for number in numbers if len(number) <= _MOST_DIGITS and int(number) in told]
            cited.update((number, told[number]) for number in real)
            return f" [{', '.join(map(str, real))}]" if real else ""

        text = _CITED.sub(keep, reply).strip()
        if not cited:
            return None
        return self._answer(question, text, tuple(cited.values()), thought, by_model=True)

    def _answer(
        self,
        question: str,
        text: str,
        entries: Sequence[MemoryEntry],
        thought: ThoughtBeside | None,
        *,
        by_model: bool = False,
    ) -> InterviewAnswer:
        who = self._mind.who
        citations = tuple(
            Citation(
                entry.number,
                entry.tick,
                redact(entry.text),
                entry.told_by,
                tick_address(max(1, entry.tick), who, self._replay),
            )
            for entry in entries
        )
        tick_id = self._mind.tick_id
        return InterviewAnswer(who, tick_id, question, redact(text), True, citations, thought, by_model)

    def _unknown(self, question: str, thought: ThoughtBeside | None) -> InterviewAnswer:
        mind = self._mind
        return InterviewAnswer(mind.who, mind.tick_id, question, UNKNOWN, False, (), thought)

    def _thought_about(self, question: str) -> ThoughtBeside | None:
        """Return the last thought up to the tick that shares a word of meaning with a question."""
        asked = set(indexed_words(question)) - words_of(self._mind.name)
        past = [one for one in self._mind.thoughts if one.answered_tick <= self._mind.tick_id and one.reply]
        for thought in sorted(past, key=lambda one: one.answered_tick, reverse=True):
            text = f"{thought.thinking} {thought.reply}".strip()
            if asked & set(indexed_words(text)):
                address = tick_address(thought.asked_tick, self._mind.who, self._replay)
                return ThoughtBeside(thought.asked_tick, redact(text)[:THOUGHT_CHARS], address)
        return None
