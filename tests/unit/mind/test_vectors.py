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


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.integers(1, 90), st.sampled_from([1, 3, 256, 1500]), st.randoms())
def test_a_likeness_is_the_cosine_and_depends_on_no_other_row(seed, count, columns, chance):
    rows = np.random.default_rng(seed).normal(size=(count + 1, columns)).astype(np.float32)
    embed, asked, order = rows_of(rows), rows[-1], chance.sample(range(count), count)
    found = table_of([str(place) for place in range(count)], embed).likeness(str(count))
    cosines = rows[:-1] @ asked / (np.linalg.norm(rows[:-1], axis=1) * np.linalg.norm(asked))
    assert found == pytest.approx(np.maximum(0.0, cosines), abs=0.02)
    one_by_one = VectorTable(embed)
    for place in order:
        one_by_one.add([str(place)])
    assert one_by_one.likeness(str(count)).tolist() == found[order].tolist()


def test_a_text_is_wholly_like_itself_and_not_at_all_like_its_opposite():
    table = table_of(["1 2 3", "-1 -2 -3", "10 20 30"])
    assert table.likeness("2 4 6") == pytest.approx([1.0, 0.0, 1.0])


def test_what_means_nothing_is_like_nothing():
    table = table_of(["0 0", "1 0"])
    assert table.likeness("1 1") == pytest.approx([0.0, 0.5**0.5])
    assert table.likeness("0 0").tolist() == [0.0, 0.0]


def test_an_empty_table_has_nothing_to_compare():
    table = VectorTable(numbers_in)
    table.add([])
    assert table.likeness("1 2").tolist() == []
    assert table.picked([]).likeness("1 2").tolist() == []


def test_only_picked_rows_stay():
    texts = ["1 2 3", "3 2 1", "1 1 1", "0 5 1", "7 0 0"]
    table = table_of(texts)
    picked = table.picked([3, 0])
    picked.add([texts[4]])
    assert len(picked) == 3
    assert picked.likeness(texts[1]).tolist() == table.likeness(texts[1])[[3, 0, 4]].tolist()


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_each_text_needs_a_row(rows):
    table = VectorTable(lambda _texts: np.ones((rows, 2), dtype=np.float32))
    with pytest.raises(ValueError, match=f"{rows} rows for 2 texts"):
        table.add(["a", "b"])
    assert len(table) == 0


def test_a_full_memory_has_vectors_of_less_than_200_kilobytes():
    table, chance = VectorTable(rows_of(np.ones((1, 256), dtype=np.float32))), random.Random(5)
    while len(table) < 600:  # in parts, as they are noted
        table.add(["0"] * min(600 - len(table), chance.randint(1, 20)))
    assert len(table) == 600
    assert table._rows.nbytes + table._lengths.nbytes < 200_000
