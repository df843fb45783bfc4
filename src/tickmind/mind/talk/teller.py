"""`Teller`: what a mind has to tell others, and what it keeps from them."""

import random
import re
from collections.abc import Callable, Collection, Iterable
from functools import partial

from tickmind.mind.memory import EntryKind, Memory, MemoryEntry
from tickmind.mind.memory.memory import DAY_TICKS, entry_text
from tickmind.mind.memory.words import has_phrase, words_of
from tickmind.mind.mood import Mood
from tickmind.mind.people import People
from tickmind.mind.talk.line_checker import names_time
from tickmind.mind.talk.meaning import in_third_person, says_as_much
from tickmind.mind.talk.phrasebook import QUESTIONS
from tickmind.mind.talk.questions import is_open, remembered_answer, search_text
from tickmind.mind.talk.wording_check import TOLD_CHARS
from tickmind.mind.talk.wordings import Wordings

_TOLD_KINDS = (EntryKind.DID, EntryKind.SAW, EntryKind.GOT, EntryKind.GAVE, EntryKind.HEARD, EntryKind.INSIGHT)
_NEWS_ENTRIES = 12  # that are looked through for something new
_HOW_ARE_YOU = re.compile(r"\b(?:how are you|how do you (?:do|feel)|how is it going|are you well)\b", re.IGNORECASE)
SPREAD_BY = 5  # others who know news with a time, after which a character tells it of itself no more
REHEARSED = 24  # lines in a model's words that are ready for news, at most


class Teller:
    """Choose from a memory and some facts what others have not heard yet, and what answers their questions.

    It tells a `secret` close friends only; they may tell others. `answer` returns what the character knows about a
    question besides, or nothing.
    """

    def __init__(
        self,
        entity_id: str,
        name: str,
        chance: random.Random,
        memory: Memory,
        *,
        answer: Callable[[str], str] = lambda _question: "",
        facts: Iterable[str] = (),
        secret: str = "",
        day_ticks: int = DAY_TICKS,
    ) -> None:
        self.mood = Mood(day_ticks)
        self.people = People(entity_id, name)
        self.wordings = Wordings()
        self._me = entity_id
        self._name = name
        self._chance = chance
        self._memory = memory
        self._answer = answer
        self._facts = tuple(facts)
        self._secret = secret
        own = (*self._facts, secret) if secret else self._facts
        self._own = {entry_text(form) for text in own for form in (text, in_third_person(text, name))}

    def answer_to(self, tick: int, question: str, partner_id: str, *others: str) -> str:
        """Return what it knows or remembers about a question, or its news if that is open; else nothing.

        `others` hear the answer, too.
        """
        known = self._answer(question)
        if known:
            return known
        if _HOW_ARE_YOU.search(question):
            return f"I feel {self.mood.word(tick)}."
        asked = self._asked_words(question, partner_id)
        about = [person.person_id for person in self.people if words_of(person.called) & asked]
        may_tell = partial(self._may_tell, listeners=(partner_id, *others))
        if (entry := remembered_answer(self._memory, tick, question, asked, about, may_tell)) is not None:
            return entry.text
        return self._news(tick, partner_id, *others) if not about and is_open(question, asked) else ""

    def search_for(self, question: str, partner_id: str) -> str:
        """Return the words by which it searches its memory for an answer."""
        return search_text(question, self._asked_words(question, partner_id))

    def _asked_words(self, question: str, partner_id: str) -> frozenset[str]:
        return words_of(question) - words_of(f"{self._name} {self.people.called(partner_id)}")

    def untold(self, tick: int, tried: Collection[str] = (), fits: Callable[[str], object] = bool) -> str:
        """Return what it might tell next and has few words of a model for, but for what was `tried`; or nothing.

        `fits` says of a text whether a model may word it.
        """
        recent = self._memory.recall(tick, most=_NEWS_ENTRIES)
        news = (*(entry.text for entry in recent if entry.kind in _TOLD_KINDS), *self._facts)
        fit = [text for text in news if not names_time(text) and TOLD_CHARS.allows(len(text)) and fits(text)]
        if sum(told in fit for told in self.wordings.news) >= REHEARSED:
            return ""
        return self.wordings.scarcest([text for text in fit if text not in tried])

    def unasked(self, tried: Collection[str] = ()) -> str:
        """Return a question that it has few words of a model for, but for what was `tried`; or nothing."""
        return self.wordings.scarcest([text for text in QUESTIONS if text not in tried])

    def teller_of(self, news: str) -> str:
        """Return who is to be named as the source of something; nothing if it has none, or begins with its name."""
        entry = next((one for one in self._memory if one.text == news and one.told_by), None)
        source = self.people.called(entry.told_by) if entry else ""
        return "" if source and re.match(rf"{re.escape(source)}\b", news) else source

    def _news(self, tick: int, *listeners: str) -> str:
        """Return something that one of the listeners has not heard from this character yet, as a sentence; or nothing.

        It is kept from none of them. What a model has worded ahead goes first.
        """
        people = [self.people.meet(who) for who in listeners]

        def is_new(text: str) -> bool:
            return not all(person.has_topic(text) for person in people) and not self._is_old(text)

        if self._secret and is_new(self._secret) and all(person.is_close for person in people):
            return self._secret
        recent = self._memory.recall(tick, most=_NEWS_ENTRIES)
        fresh = [entry for entry in recent if self._is_news_for(entry, listeners) and is_new(entry.text)]
        facts = [fact for fact in self._facts if is_new(fact)]
        pressing = next((text for text in (*facts, *(one.text for one in fresh)) if names_time(text)), "")
        if pressing:
            return pressing
        ready = frozenset(self.wordings.news)
        if worded := [text for text in (*(one.text for one in fresh), *facts) if text in ready]:
            return self._chance.choice(worded)
        if fresh:
            return self._chance.choice(fresh[:4]).text
        return self._chance.choice(facts) if facts else ""

    def _is_old(self, text: str) -> bool:
        """Return whether so many have it of this character or have told it that the others will hear it from them."""
        return names_time(text) and sum(person.has_topic(text) for person in self.people) >= SPREAD_BY

    def _is_news_for(self, entry: MemoryEntry, listeners: Collection[str]) -> bool:
        """Return whether it may tell an entry, and the entry is no hearsay of itself or of a listener."""
        if entry.kind not in _TOLD_KINDS or not self._may_tell(entry, listeners):
            return False
        names = (self._name, *(self.people.called(who) for who in listeners))
        text = entry.text.lower()
        return not (entry.told_by and any(has_phrase(text, name.lower()) for name in names))

    def _may_tell(self, entry: MemoryEntry, listeners: Collection[str]) -> bool:
        """Return whether an entry is about none of the listeners, and does not give the secret away."""
        if not {*entry.about, entry.told_by}.isdisjoint(listeners):
            return False
        known = (self.people.get(who) for who in listeners)
        may_know = not self._secret or all(one is not None and one.is_close for one in known)
        return may_know or not says_as_much(entry.text, self._secret)  # as an insight may

    def _names(self) -> set[str]:
        return {self._name, self._me, *self._others()}

    def _others(self) -> set[str]:
        return {name for person in self.people for name in (person.called, person.person_id)}
