"""What words mean, from the files of an installed package: without a service, and without a network."""

import functools
import logging
import random
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.base import ConfigError, Limit
from tickmind.mind import embeddings
from tickmind.mind.embeddings import find_embeddings, word_embeddings
from tickmind.mind.memory import EntryKind, Memory
from tickmind.mind.talk import Talker, TalkScene

PARTS = ("safetensors", "tokenizers", "wordllama")
needs_words = pytest.mark.skipif(not all(map(find_spec, PARTS)), reason="the extra mind is not installed")

PEOPLE = ("Ada", "Bram", "Greta", "Otto", "Lena", "Nils", "Mara", "Tom", "Ilse", "Karl", "Sara", "Finn")
PLACES = ("the mill", "the wood", "the square", "the market", "the north field", "the inn", "the river")
THINGS = ("berries", "bread", "wheat", "wood", "apples", "a boat", "stones", "the oven", "a story", "the well", "herbs")
DAYS = (
    "{who} gave {other} 1 {thing}.",
    "I saw {who} at {place}.",
    "{who} spoke of {thing} at {place}.",
    "I picked {thing} at {place}.",
    "{who} wants to go to {place}.",
    "{who} promised to bring {other} 1 {thing} by 18:00.",
    "{who} asked {other} for {thing}.",
    "I ate {thing} at {place}.",
)
ASKED = {  # in other words -> what is remembered
    "what is hugo scared of?": "hugo said he is afraid of the forest",
    "Has anyone stolen something?": "A thief took the coins from the inn.",
    "Who plays music?": "Lena plays the fiddle at the tavern.",
    "Did it rain?": "A storm soaked the north field.",
    "Who is tired?": "Bram fell asleep at his work.",
    "What happened to the baby?": "The child of Ilse was born at night.",
}


def village_days(embed=None):
    """300 memories of a village, and among them what is asked for."""
    chance, lines = random.Random(3), set[str]()
    while len(lines) < 300 - len(ASKED):
        who, other = chance.sample(PEOPLE, 2)
        given = {"who": who, "other": other, "place": chance.choice(PLACES), "thing": chance.choice(THINGS)}
        lines.add(chance.choice(DAYS).format(**given))
    memory, texts = Memory(embed=embed), [*sorted(lines), *ASKED.values()]
    for tick, text in enumerate(chance.sample(texts, len(texts))):
        memory.note(tick, text)
    return memory


def found_in(memory):
    """The questions whose answer is among the five entries that fit best."""
    return [question for question, text in ASKED.items() if text in {one.text for one in memory.recall(300, question)}]


@needs_words
def test_what_is_asked_in_other_words_is_found_among_300_memories():
    assert found_in(village_days(word_embeddings())) == [*ASKED]
    assert found_in(village_days()) == ["what is hugo scared of?", "Who plays music?"]  # by "hugo" and "plays"


@needs_words
def test_a_question_about_a_person_is_answered_by_what_it_means():
    for embed, answer in ((None, "Hugo has bought an axe."), (word_embeddings(), "Hugo is afraid of the forest.")):
        ada = Talker("ada", "Ada", random.Random(1), Memory(embed=embed))
        ada.people.meet("hugo", "Hugo")
        ada._memory.note(10, "Hugo is afraid of the forest.", kind=EntryKind.HEARD, about="hugo", told_by="cleo")
        ada._memory.note(90, "Hugo has bought an axe.", kind=EntryKind.HEARD, about="hugo", told_by="cleo")
        ada.talks.hear(100, "bram", "Hello, Ada! What is Hugo scared of?")
        talk = ada.talks.current
        assert talk is not None
        assert ada.next_remark(talk, TalkScene(100, "evening")).news == answer


@needs_words
def test_a_text_means_the_same_alone_or_among_others():
    embed = word_embeddings()
    texts = [
        "Two wolves came to the mill.",
        "Bread!",
        "",
        "Ada said to me: \U0001f43a is here, is it not so, my friend?",
    ]
    together = embed(texts)
    assert together.shape == (4, 256)
    assert together.dtype == np.float32
    assert [embed([text])[0].tolist() for text in texts] == together.tolist()
    assert embed(["BREAD!"]).tolist() == together[[1]].tolist()
    assert not together[2].any()
    assert embed([]).shape == (0, 256)


@needs_words
@settings(max_examples=60)
@given(st.text(st.characters(exclude_categories=())) | st.sampled_from(["\ud800", "<s></s><unk>", "[PAD]", "\0"]))
def test_any_text_has_a_meaning(text):
    assert np.isfinite(word_embeddings()([text])).all()


@needs_words
@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from([*"abc  e<s>\u2581.,!?'\u00e9\u6f22\n\t\u00a0\u2003\U0001f98a", " the ", "</s>"]), max_size=20
    ).map("".join)
)
def test_the_tokens_of_a_text_are_those_of_its_words(text):
    encode = _encode()
    assert embeddings._tokens_by_words(encode)(text) == encode(text)


@functools.cache
def _encode():
    tokenizers, package = pytest.importorskip("tokenizers"), find_spec("wordllama")
    assert package is not None
    assert package.submodule_search_locations is not None
    path = Path(package.submodule_search_locations[0]) / embeddings._TOKENIZER
    tokenizer = tokenizers.Tokenizer.from_str(path.read_text(encoding="utf-8"))
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def test_the_tokens_of_the_last_words_are_kept(monkeypatch):
    encoded = []

    def encode(text):
        encoded.append(text)
        return [len(text)]

    monkeypatch.setattr(embeddings, "MAX_SPLIT_WORDS", Limit("words", 3))
    tokens_of = embeddings._tokens_by_words(encode)
    long = "n" * 40
    assert tokens_of(f"a fox saw a fox {long} {long}") == [1, 3, 3, 1, 3, 40, 40]
    assert encoded == ["a", "fox", "saw", long, long]
    assert tokens_of("one more fox") == [3, 4, 3]
    assert encoded[5:] == ["one", "more", "fox"]
    assert tokens_of("two  spaces") == [11]


@needs_words
def test_words_are_loaded_once_without_a_network_and_leave_the_log_alone(monkeypatch):
    def refuse(*_args, **_more):
        raise AssertionError("the network was used")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
    handlers, level = list(logging.root.handlers), logging.root.level
    monkeypatch.setattr(embeddings, "word_embeddings", words := functools.cache(word_embeddings.__wrapped__))
    assert words()(["wolf"]).any()
    assert find_embeddings("words") is words()
    assert "wordllama" not in sys.modules  # its import would change the log
    assert (logging.root.handlers, logging.root.level) == (handlers, level)


def test_without_a_name_there_are_no_embeddings_and_an_unknown_name_is_refused():
    assert find_embeddings("") is None
    with pytest.raises(ConfigError, match="no embeddings 'wrods'; choose 'words'"):
        find_embeddings("wrods")


@pytest.mark.parametrize("part", PARTS)
def test_without_the_extra_it_is_named(monkeypatch, part):
    monkeypatch.setitem(sys.modules, part, None)
    with pytest.raises(ConfigError, match=r"which is not installed: `pip install 'tickmind\[mind\]'`$"):
        word_embeddings.__wrapped__()


@needs_words
@pytest.mark.parametrize("weights", [None, b"", b"\x08\0\0\0\0\0\0\0{}      "])
def test_files_that_are_missing_or_damaged_are_to_be_installed_again(monkeypatch, tmp_path, weights):
    if weights is not None:
        (tmp_path / "weights").mkdir()
        (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(weights)
    monkeypatch.setattr(embeddings, "find_spec", lambda _name: SimpleNamespace(submodule_search_locations=[tmp_path]))
    with pytest.raises(ConfigError, match=r"can't be read \(.*\); install it again: `pip install 'tickmind\[mind\]'`"):
        word_embeddings.__wrapped__()
