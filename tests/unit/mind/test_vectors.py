"""What texts mean, as rows of whole numbers: small, exact, and as good as the numbers that they come from."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.mind.memory.vectors import VectorTable


def numbers_in(texts):
    """An embedding for tests: the row that is written in a text."""
    return np.array([[float(number) for number in text.split()] for text in texts], dtype=np.float32)


def rows_of(known):
    """An embedding for tests: a text is the place of its row."""
    return lambda texts: known[[int(text) for text in texts]]


def table_of(texts, embed=numbers_in):
    table = VectorTable(embed)
    table.add(texts)
    return table


def likeness(table, text):
    return table.likeness(table.asked(text), slice(None))


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.integers(1, 90), st.sampled_from([1, 3, 100, 256, 257, 1500]), st.randoms())
def test_a_likeness_is_the_cosine_and_depends_on_no_other_row(seed, count, columns, chance):
    rows = np.random.default_rng(seed).normal(size=(count + 1, columns)).astype(np.float32)
    embed, asked, order = rows_of(rows), rows[-1], chance.sample(range(count), count)
    table = table_of([str(place) for place in range(count)], embed)
    found = likeness(table, str(count))
    cosines = rows[:-1] @ asked / (np.linalg.norm(rows[:-1], axis=1) * np.linalg.norm(asked))
    assert found == pytest.approx(np.maximum(0.0, cosines), abs=0.15 if columns > 200 else 0.02)
    some = np.array(order[: count // 2], dtype=np.intp)
    assert table.likeness(table.asked(str(count)), some).tolist() == found[some].tolist()
    one_by_one = VectorTable(embed)
    for place in order:
        one_by_one.add([str(place)])
    assert likeness(one_by_one, str(count)).tolist() == found[order].tolist()


@settings(max_examples=5)
@given(st.integers(0, 10_000))
def test_two_bits_rank_memories_much_as_whole_numbers_do(seed):
    """Six hundred rows around a few topics: of the best five more than three are the same, and ranks agree."""
    chance = np.random.default_rng(seed)
    topics = chance.normal(size=(30, 256))
    rows = (topics[chance.integers(0, 30, 620)] + chance.normal(size=(620, 256))).astype(np.float32)
    table = table_of([str(place) for place in range(600)], rows_of(rows))
    same, agreement = [], []
    for asked in range(600, 620):
        exact = rows[:600] @ rows[asked] / np.linalg.norm(rows[:600], axis=1)
        found = likeness(table, str(asked))
        same.append(len({*np.argsort(-exact)[:5].tolist()} & {*np.argsort(-found)[:5].tolist()}))
        alike = exact > 0
        ranks = [np.argsort(np.argsort(one[alike])).astype(np.float64) for one in (exact, found)]
        agreement.append(np.corrcoef(ranks[0], ranks[1])[0, 1])
    assert np.mean(same) > 3.0
    assert np.mean(agreement) > 0.8


def test_a_text_is_wholly_like_itself_and_not_at_all_like_its_opposite():
    table = table_of(["1 2 3", "-1 -2 -3", "10 20 30"])
    assert likeness(table, "2 4 6") == pytest.approx([1.0, 0.0, 1.0])


def test_zeros_after_a_row_do_not_make_it_less_like_others():
    long = np.zeros((2, 256), dtype=np.float32)
    long[:, :64] = np.random.default_rng(1).normal(size=64)
    assert likeness(table_of(["0"], rows_of(long)), "1") == pytest.approx([0.94], abs=0.04)


def test_what_means_nothing_is_like_nothing():
    table = table_of(["0 0", "1 0"])
    assert likeness(table, "1 1") == pytest.approx([0.0, 0.5**0.5])
    assert likeness(table, "0 0").tolist() == [0.0, 0.0]


def test_an_empty_table_has_nothing_to_compare():
    table = VectorTable(numbers_in)
    table.add([])
    assert likeness(table, "1 2").tolist() == []
    assert likeness(table.picked([]), "1 2").tolist() == []


def test_only_picked_rows_stay():
    texts = ["1 2 3", "3 2 1", "1 1 1", "0 5 1", "7 0 0"]
    table = table_of(texts)
    picked = table.picked([3, 0])
    picked.add([texts[4]])
    assert len(picked) == 3
    assert likeness(picked, texts[1]).tolist() == likeness(table, texts[1])[[3, 0, 4]].tolist()


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_each_text_needs_a_row(rows):
    table = VectorTable(lambda _texts: np.ones((rows, 2), dtype=np.float32))
    with pytest.raises(ValueError, match=f"{rows} rows for 2 texts"):
        table.add(["a", "b"])
    assert len(table) == 0


def test_a_full_memory_has_vectors_of_less_than_50_kilobytes():
    table, chance = VectorTable(lambda texts: np.ones((len(texts), 256), dtype=np.float32)), random.Random(5)
    while len(table) < 600:  # in parts, as they are noted
        more = min(600 - len(table), chance.randint(1, 20))
        table.add([str(place) for place in range(len(table), len(table) + more)])
    assert len(table) == 600
    assert table._numbers.nbytes + table._lengths.nbytes < 50_000


@pytest.mark.parametrize("columns", [3, 256])
def test_a_row_that_comes_later_takes_the_place_of_zeros(columns):
    late = np.arange(1, columns + 1, dtype=np.float32) - columns / 2
    rows = {"late": np.zeros(columns, dtype=np.float32), "known": -late, "asked": late}
    table = table_of(["late", "known"], lambda texts: np.array([rows[text] for text in texts]))
    assert likeness(table, "asked").tolist() == [0.0, 0.0]
    table.put(0, late)
    assert likeness(table, "asked") == pytest.approx([1.0, 0.0], abs=0.1)
