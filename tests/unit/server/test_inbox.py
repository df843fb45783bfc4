"""One intent for each actor and tick; the first one counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.protocol import ACTION_CODES, REASONS, UNUSED, ActionType, Direction, IntentColumns, Move, Reason, Wait
from tickmind.server.control.inbox import Inbox, merge, select

SAY = ACTION_CODES[ActionType.SAY]


def waits(*rows, texts=None):
    """Columns of actors that wait, or speak where there is a text."""
    count = len(rows)
    action = np.zeros(count, dtype=np.uint8)
    action[list(texts or {})] = SAY
    unused = np.full(count, UNUSED, dtype=np.int32)
    return IntentColumns(
        np.array(rows, dtype=np.int32), action, unused.astype(np.int8), unused, unused, unused, texts or {}
    )


@pytest.fixture
def inbox():
    box = Inbox(6)
    box.open(5)
    return box


def test_the_first_intent_counts(inbox):
    assert inbox.offer(0, 5, Wait()) is Reason.NONE
    assert inbox.offer(0, 5, Move(Direction.N)) is Reason.DUPLICATE_INTENT
    assert inbox.close()[0] == {0: Wait()}


@pytest.mark.parametrize(("tick_id", "reason"), [(4, Reason.LATE_TICK), (6, Reason.EARLY_TICK), (5, Reason.NONE)])
def test_only_the_open_tick_is_taken(inbox, tick_id, reason):
    assert inbox.offer(0, tick_id, Wait()) is reason


def test_a_closed_tick_is_late_and_the_next_one_early(inbox):
    inbox.close()
    assert inbox.offer(0, 5, Wait()) is Reason.LATE_TICK
    assert inbox.offer(0, 6, Wait()) is Reason.EARLY_TICK
    inbox.open(6)
    assert inbox.offer(0, 6, Wait()) is Reason.NONE


def test_a_refused_intent_leaves_no_trace(inbox):
    inbox.offer(0, 4, Wait())
    assert not inbox.answered.any()
    assert inbox.close() == ({}, [])


def test_what_is_forgotten_may_be_said_anew(inbox):
    inbox.offer(0, 5, Wait())
    inbox.offer(1, 5, Wait())
    inbox.offer_many(5, waits(2, 3, 4, texts={1: ("local", "gone"), 2: ("local", "kept")}))
    inbox.offer_many(5, waits(5))
    inbox.forget(np.array([1, 3, 5], dtype=np.int32))
    assert inbox.answered.tolist() == [True, False, True, False, True, False]
    assert inbox.offer(3, 5, Move(Direction.N)) is Reason.NONE
    single, [batch] = inbox.close()
    assert single == {0: Wait(), 3: Move(Direction.N)}
    assert batch.actor.tolist() == [2, 4]
    assert batch.texts == {1: ("local", "kept")}


def test_columns_and_single_intents_are_one_inbox(inbox):
    inbox.offer(2, 5, Wait())
    codes = inbox.offer_many(5, waits(1, 2, 3, texts={0: ("local", "a"), 2: ("local", "c")}))
    assert [REASONS[code] for code in codes] == [Reason.NONE, Reason.DUPLICATE_INTENT, Reason.NONE]
    assert inbox.offer(3, 5, Wait()) is Reason.DUPLICATE_INTENT
    single, [batch] = inbox.close()
    assert single == {2: Wait()}
    assert batch.actor.tolist() == [1, 3]
    assert batch.texts == {0: ("local", "a"), 1: ("local", "c")}


def test_late_columns_are_refused_one_by_one(inbox):
    codes = inbox.offer_many(4, waits(0, 1))
    assert {REASONS[code] for code in codes} == {Reason.LATE_TICK}
    assert not inbox.answered.any()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.data())
def test_merging_keeps_every_intent_with_its_text(owners, data):
    spoken = {row: ("local", f"text {row}") for row in range(len(owners)) if data.draw(st.booleans())}
    parts = []
    for owner in range(4):
        rows = [row for row, one in enumerate(owners) if one == owner]
        parts.append(waits(*rows, texts={place: spoken[row] for place, row in enumerate(rows) if row in spoken}))
    whole = merge(parts)
    assert whole.actor.tolist() == list(range(len(owners)))
    assert whole.texts == spoken
    assert [code == SAY for code in whole.action.tolist()] == [row in spoken for row in range(len(owners))]


@given(st.lists(st.booleans(), max_size=12))
def test_selecting_keeps_texts_with_their_speakers(kept):
    columns = waits(*range(len(kept)), texts={place: ("local", str(place)) for place in range(len(kept))})
    some = select(columns, np.array(kept, dtype=np.bool_))
    assert {int(some.actor[place]): text for place, (_, text) in some.texts.items()} == {
        place: str(place) for place, keep in enumerate(kept) if keep
    }
