"""What a mind remembers, for how long, and what comes to its mind."""

import math
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.mind.memory import EntryKind, Memory, MemoryEntry, Source, Weights
from tickmind.mind.memory.memory import MAX_ENTRIES, MAX_ENTRY_CHARS, MAX_EVIDENCE, MAX_PINNED_INSIGHTS
from tickmind.mind.memory.retrieval import EntryIndex
from tickmind.mind.memory.words import has_phrase, indexed_words, words_in, words_of

NOTHING = Weights(words=0, subjects=0, importance=0, recency=0, meaning=0)
WORDS = ("mill", "bread", "forest", "hugo", "ada", "river", "the", "wolf")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
NOTES = st.tuples(
    st.integers(0, 400),  # ticks since the note before
    TEXTS,
    st.sampled_from(EntryKind),
    st.sampled_from([(), ("hugo",), ("ada", "hugo")]),
    st.sampled_from(["", "bram"]),
    st.lists(st.integers(1, 40), max_size=6).map(tuple),
)


def letters(texts):
    """An embedding for tests: how often each letter is there."""
    counted = np.array([[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts])
    lengths = np.maximum(1e-9, np.linalg.norm(counted, axis=1, keepdims=True))
    return (counted / lengths).astype(np.float32)


def lived(notes, **settings):
    memory = Memory(**settings)
    tick = 0
    for later, text, kind, about, told_by, evidence in notes:
        tick += later
        grounds = evidence if kind is EntryKind.INSIGHT else ()
        memory.note(tick, text, kind=kind, about=about, told_by=told_by, evidence=grounds)
    return memory


def test_small_words_are_not_what_a_text_is_about():
    assert words_of("Where is the bread of the mill?") == {"bread", "mill"}
    assert words_in("Bread, and bread!") == ["bread", "bread"]


def test_the_kind_says_how_important_an_entry_is_and_interests_raise_it():
    memory = Memory(interests=("He is afraid of the wolf",))
    heard = memory.note(1, "The mill stands still.", kind=EntryKind.HEARD)
    feared = memory.note(1, "There is a Wolf in the forest.", kind=EntryKind.HEARD)
    assert heard.importance == 0.4
    assert feared.importance == pytest.approx(0.6)
    assert memory.note(1, "wolf", importance=5).importance == 1.0
    assert memory.note(1, "mill", importance=math.nan).importance == 0.0


def test_an_entry_knows_where_its_knowledge_comes_from():
    memory = Memory()
    seen = memory.note(1, "Ada baked bread.")
    told = memory.note(2, "Hugo fears the forest.", kind=EntryKind.HEARD, told_by="bram")
    insight = memory.note(3, "Bram knows Hugo.", kind=EntryKind.INSIGHT, evidence=(seen.number, told.number, 99))
    assert [one.source for one in (seen, told, insight)] == [Source.SEEN, Source.TOLD, Source.INFERRED]
    assert insight.evidence == (seen.number, told.number)
    above = memory.note(4, "So it is.", kind=EntryKind.INSIGHT, evidence=(insight.number,))
    assert above.evidence == insight.evidence


def test_the_same_within_an_hour_counts_up_and_later_is_another_entry():
    memory = Memory(day_ticks=240)
    first = memory.note(1, "I picked  berries.", kind=EntryKind.DID, about="bush:1")
    again = memory.note(11, "I picked berries.", kind=EntryKind.DID, about="bush:1", place="the wood")
    assert (again.number, again.times, again.tick, again.first_tick) == (first.number, 2, 11, 1)
    assert (again.about, again.place) == (("bush:1",), "the wood")
    assert memory.note(12, "I picked berries.", kind=EntryKind.DID, about="bush:2").times == 1
    assert memory.note(22, "I picked berries.", kind=EntryKind.DID, about="bush:1").number != first.number
    assert memory.note(22, "I picked berries.", kind=EntryKind.HEARD, told_by="ada").times == 1
    assert [entry.tick for entry in memory.latest(2)] == [22, 22]


def test_an_entry_is_one_short_line():
    made = Memory().note(1, "word\n" * 100)
    assert len(made.text) <= MAX_ENTRY_CHARS.maximum
    assert made.text.startswith("word word")
    assert made.text.endswith("…")


def test_the_newest_is_the_most_recent():
    memory = Memory(day_ticks=100)
    for tick in (1, 50, 99):
        memory.note(tick, f"tick {tick}")
    by_age = memory.scored(100, weights=Weights(importance=0))
    assert [found.entry.tick for found in by_age] == [99, 50, 1]
    assert by_age[1].recency == pytest.approx(0.3 * 2**-0.5)


def test_words_subjects_and_importance_bring_entries_to_mind():
    memory = Memory()
    memory.note(1, "Hugo said he is afraid of the forest.", about="hugo", kind=EntryKind.HEARD, told_by="hugo")
    memory.note(1, "The river is high.", about="river")
    memory.note(1, "Ada promised me a loaf of bread.", kind=EntryKind.PROMISED, about="ada")
    assert memory.recall(2, "what is in the forest?")[0].about == ("hugo",)
    assert memory.recall(2, about="river")[0].about == ("river",)
    assert memory.recall(2)[0].kind is EntryKind.PROMISED
    parts = memory.scored(2, "forest", about=("hugo", "nobody"), most=1)[0]
    assert parts.subjects == 0.5
    assert parts.score == pytest.approx(parts.words + 0.5 + 0.16 + parts.recency)
    assert memory.recall(2, most=0) == []
    assert Memory().recall(2, "forest") == []


def slow_bm25(memory, question):
    """BM25 as it stands in the books, with every word of an entry counted once."""
    entries = list(memory)
    lengths = [len(indexed_words(entry.text)) for entry in entries]
    mean = sum(lengths) / len(entries)
    asked = indexed_words(question)
    with_word = {word: sum(word in indexed_words(entry.text) for entry in entries) for word in asked}
    rarity = {word: math.log(1 + (len(entries) - number + 0.5) / (number + 0.5)) for word, number in with_word.items()}
    found = {}
    for entry, length in zip(entries, lengths, strict=True):
        damped = 1 + 1.2 * (0.25 + 0.75 * length / mean) if mean else 1
        shared = sum(rarity[word] for word in asked if word in indexed_words(entry.text))
        found[entry.number] = shared * 2.2 / damped / sum(rarity.values()) if asked else 0.0
    return found


@settings(max_examples=60)
@given(st.lists(NOTES, min_size=1, max_size=30), st.lists(NOTES, max_size=5), TEXTS)
def test_shared_words_count_as_in_bm25_also_after_more_was_noted(notes, more, question):
    memory = lived(notes)
    memory.recall(1, question)
    tick = max(entry.tick for entry in memory)
    for _, text, kind, about, told_by, _ in more:
        memory.note(tick, text, kind=kind, about=about, told_by=told_by)
    expected = slow_bm25(memory, question)
    found = memory.scored(tick, question, most=len(memory), weights=Weights(1, 0, 0, 0, 0))
    words = {one.entry.number: one.words for one in found}
    assert words == pytest.approx(expected)
    assert [one.entry for one in found] == sorted(
        memory, key=lambda entry: (-words[entry.number], -entry.tick, -entry.number)
    )


@settings(max_examples=60)
@given(st.lists(NOTES, min_size=1, max_size=40), TEXTS, st.integers(1, 8), st.sampled_from([0.5, 0.05, 3.0, 0.0, -0.5]))
def test_the_best_few_are_those_of_a_comparison_of_all(notes, question, most, weight):
    memory = lived(notes, embed=letters)
    tick, by = max(entry.tick for entry in memory), Weights(meaning=weight)
    compared = memory.scored(tick, question, about=["ada"], most=len(memory), weights=by)
    assert memory.scored(tick, question, about=["ada"], most=most, weights=by) == compared[:most]


def test_entries_with_the_same_words_in_another_order_are_equals_and_the_newest_goes_first():
    memory = lived([(0, text, EntryKind.SAW, (), "", ()) for text in ("wolf mill hugo", "hugo mill wolf", "ada", "a")])
    found = memory.scored(0, "mill hugo wolf bread", most=2, weights=Weights(1, 0, 0, 0, 0))
    assert [one.entry.text for one in found] == ["hugo mill wolf", "wolf mill hugo"]
    assert found[0].words == found[1].words


@settings(max_examples=10)
@given(st.integers(0, 2**32), st.integers(2, 2000))
def test_memory_keeps_its_budget_its_pins_and_its_sources(seed, day_ticks):
    memory, chance, tick, full = Memory(day_ticks=day_ticks), random.Random(seed), 0, 0
    for number in range(900):
        kind = chance.choice([*EntryKind, EntryKind.SAW, EntryKind.SAW])
        about = tuple(f"thing:{chance.randrange(200)}" for _ in range(chance.randrange(3)))
        grounds = tuple(chance.randrange(max(1, number - 50), number + 1) for _ in range(3)) if number else ()
        tick += chance.randrange(40)
        before = memory.pinned() if len(memory) == MAX_ENTRIES.maximum else set()
        full += bool(before)
        made = memory.note(
            tick, f"note {number}", kind=kind, about=about, evidence=grounds if kind is EntryKind.INSIGHT else ()
        )
        assert len(memory) <= MAX_ENTRIES.maximum
        if not about and made.kind not in (EntryKind.INSIGHT, EntryKind.PROMISED):  # which take the place of others
            assert before <= {entry.number for entry in memory}
        if number % 100 == 99:
            memory.tidy(tick)
    assert full  # so that something had to be forgotten
    assert [entry.tick for entry in memory] == sorted(entry.tick for entry in memory)
    for entry in memory:
        for number in entry.evidence:
            ground = memory.entry(number)
            assert ground is not None
            assert ground.source is not Source.INFERRED
        assert len(entry.evidence) <= MAX_EVIDENCE.maximum


@settings(max_examples=20)
@given(st.lists(NOTES, max_size=60), TEXTS, st.sampled_from([None, letters]))
def test_the_same_experiences_give_the_same_memory(notes, question, embed):
    one, other = lived(notes, embed=embed), lived(notes, embed=embed)
    tick = max((entry.tick for entry in one), default=0)
    for asked in range(0, tick, 50):
        one.recall(asked, question)  # to ask changes nothing
    assert list(one) == list(other)
    assert one.scored(tick, question) == other.scored(tick, question)
    again = Memory(embed=embed)
    again.restore(list(one))
    assert list(again) == list(one)
    assert again.scored(tick, question) == one.scored(tick, question)
    assert again.note(tick + 1, "new").number == other.note(tick + 1, "new").number


def test_entries_are_merged_before_any_is_forgotten():
    memory = Memory(day_ticks=100)
    for number in range(int(MAX_ENTRIES.maximum)):
        memory.note(number, f"I ate meal {number}.", kind=EntryKind.DID, place="the inn")
    rare = memory.note(600, "A wolf came.", kind=EntryKind.DID, place="the wood")
    assert memory.entry(rare.number) == rare
    (merged,) = [entry for entry in memory if entry.place == "the inn"]
    assert (merged.times, merged.first_tick, merged.tick) == (600, 0, 599)
    assert memory.recall(600, "wolf")[0] == rare


def test_at_night_only_earlier_days_are_merged():
    memory = Memory(day_ticks=100)
    for tick in (1, 2, 190, 191):
        memory.note(tick, f"I ate meal {tick}.", kind=EntryKind.DID)
    memory.tidy(200)
    assert sorted((entry.tick, entry.times) for entry in memory) == [(2, 2), (190, 1), (191, 1)]


def test_the_least_worthy_are_forgotten():
    memory = Memory(day_ticks=100)
    for number in range(int(MAX_ENTRIES.maximum) + 1):
        memory.note(number, "a trifle", about=f"thing:{number}", importance=0.9 if number % 10 == 0 else 0.1)
    kept = {entry.tick for entry in memory}
    assert kept >= set(range(0, 600, 10))
    assert len(memory) == 540


def test_of_too_many_insights_the_newest_stay():
    memory = Memory()
    for number in range(700):
        ground = memory.note(number, f"ground {number}", about=f"thing:{number % 3}")
        memory.note(number, f"insight {number}", kind=EntryKind.INSIGHT, evidence=(ground.number,))
    insights = [entry for entry in memory if entry.kind is EntryKind.INSIGHT]
    assert insights[-1].text == "insight 699"
    assert len(insights) >= MAX_PINNED_INSIGHTS.maximum
    assert all(memory.entry(number) for entry in insights for number in entry.evidence)


def test_with_embeddings_a_like_meaning_counts_and_each_text_is_embedded_once():
    asked = []

    def embed(texts):
        asked.extend(texts)
        return letters(texts)

    memory = Memory(embed=embed)
    memory.note(1, "stale")
    memory.note(1, "xyz")
    best = memory.scored(1, "least", weights=Weights(0, 0, 0, 0, 1.0))
    assert [found.entry.text for found in best] == ["stale", "xyz"]
    assert best[0].meaning == pytest.approx(1.0)
    memory.note(2, "queue")
    assert memory.recall(2, "quee", weights=Weights(0, 0, 0, 0, 1.0))[0].text == "queue"
    assert sorted(asked) == ["least", "quee", "queue", "stale", "xyz"]


def about_fear(texts):
    """An embedding for tests, which knows that one is scared if one is afraid."""
    return np.array([["afraid" in text or "scared" in text, "Hugo" in text, 0.1] for text in texts], dtype=np.float32)


def test_a_like_meaning_goes_before_the_same_words():
    for embed, first in ((None, "Hugo picked berries."), (about_fear, "Hugo is afraid of the forest.")):
        memory = Memory(embed=embed)
        memory.note(1, "Hugo is afraid of the forest.")
        memory.note(2, "Hugo picked berries.")
        assert memory.recall(2, "What is Hugo scared of?")[0].text == first


def test_what_is_merged_or_forgotten_loses_its_vector_and_nothing_is_embedded_again():
    asked = []

    def embed(texts):
        asked.extend(texts)
        return letters(texts)

    memory, fill = Memory(day_ticks=100, embed=embed), int(MAX_ENTRIES.maximum) - 20
    for number in range(fill):
        memory.note(number, f"meal {number}", kind=EntryKind.DID if number < 100 else EntryKind.SAW, about=f"{number}")
    for number in range(20):
        memory.note(fill, f"the same {number}", about="me", place="the inn")
    memory.recall(fill, "meal")
    memory.note(fill + 1, "a wolf", importance=1.0)  # one too many
    assert len(memory) < fill
    fresh = Memory(day_ticks=100, embed=letters)
    fresh.restore(list(memory))
    assert memory.scored(fill + 1, "flow") == fresh.scored(fill + 1, "flow")
    vectors = memory._index._vectors
    assert vectors is not None
    assert len(vectors) == len(memory)
    assert len(asked) == len(set(asked))


def test_an_embedding_that_fails_once_costs_one_question():
    fails = [True]

    def embed(texts):
        if fails and fails.pop():
            raise RuntimeError("the service is away")
        return letters(texts)

    memory = Memory(embed=embed)
    memory.note(1, "stale")
    with pytest.raises(RuntimeError, match="away"):
        memory.recall(1, "least")
    memory.note(2, "xyz")
    assert [found.meaning > 0.4 for found in memory.scored(2, "least")] == [True, False]


def test_an_entry_can_be_forgotten_on_purpose_and_is_recalled_no_more():
    memory = Memory()
    first, second = (memory.note(tick, f"I saw bread at the mill {tick}.") for tick in (1, 2))
    assert memory.recall(3, "bread")
    assert memory.forget(first.number)
    assert not memory.forget(first.number)
    assert memory.recall(3, "bread") == [second]
    assert memory.note(4, first.text).number > second.number


def test_at_night_what_one_speaker_told_stays_apart_and_what_was_told_again_is_merged():
    memory = Memory(day_ticks=600)
    for tick, told in ((1, "The mill burns."), (2, "The well is dry."), (100, "The mill burns.")):
        memory.note(tick, told, kind=EntryKind.HEARD, about="ada", told_by="ada", place="the square")
        memory.note(tick, f"I saw fox {tick}.", about="fox", place="the square")
    memory.note(900, "I met Ada.", importance=1.0, about="ada")
    memory.note(900, "A fox bit me.", importance=1.0, about="fox")  # these are the best of their subjects, and pinned
    memory.tidy(900)
    texts = [entry.text for entry in memory]
    assert sorted(text for text in texts if "fox" not in text) == ["I met Ada.", "The mill burns.", "The well is dry."]
    assert sum(text.startswith("I saw fox") for text in texts) == 1


_SAID = st.sampled_from(["Ada bakes bread.", "Bram fells trees at the wood.", "Cleo saw Ada.", "fish", "", "Tea, tea!"])
_ENTRIES = st.lists(st.tuples(_SAID, st.sampled_from(["", "ada", "bram"])), max_size=12)


@given(_ENTRIES, st.sets(st.integers(0, 11)), _ENTRIES)
def test_an_index_that_has_lost_entries_answers_as_one_that_never_had_them(before, gone, after):
    def noted(some, first):
        return [
            MemoryEntry(
                first + number, EntryKind.SAW, number, f"{text} {number % 3}", 0.1 * number, (who,) if who else ()
            )
            for number, (text, who) in enumerate(some)
        ]

    old = noted(before, 1)
    kept = [entry for place, entry in enumerate(old) if place not in gone] + noted(after, 100)
    index, fresh = EntryIndex(600), EntryIndex(600)
    index.follow(old)
    made = index.of(kept)
    fresh.follow(kept)
    for question in ("Who bakes bread?", "tea", "the wood 1", ""):
        by = Weights()
        assert made.best(50, question, ["ada"], 5, by) == fresh.best(50, question, ["ada"], 5, by)
    made.follow([MemoryEntry(500, EntryKind.SAW, 60, "Ada drinks tea.", 0.5, ("ada",))])
    assert made.best(60, "Ada drinks tea", ["ada"], 1, Weights())[0].entry.number == 500


@given(st.text("ab_é -.!", max_size=12), st.text("ab_é-.", min_size=1, max_size=3))
def test_a_phrase_is_found_where_no_letter_stands_beside_it_as_by_a_pattern(text: str, phrase: str) -> None:
    assert has_phrase(text, phrase) is (re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None)


def test_looking_for_many_phrases_leaves_the_patterns_of_others_in_their_cache() -> None:
    pattern = "what is looked for in each tick"
    first = re.compile(pattern)
    for number in range(2000):
        assert not has_phrase("Tom met Ann.", f"name {number}")
    assert re.compile(pattern) is first
