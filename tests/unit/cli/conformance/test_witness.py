import numpy as np

from tickmind.cli.conformance.witness import IntentWitness, WatchedInbox
from tickmind.protocol import IntentColumns, Reason, Wait


def test_refused_intents_are_counted_and_the_first_ones_described():
    witness = IntentWitness()
    inbox = WatchedInbox(witness)
    inbox.open(5)
    assert inbox.offer(0, 5, Wait()) is Reason.NONE
    assert inbox.offer(0, 5, Wait()) is Reason.DUPLICATE_INTENT
    assert inbox.offer(0, 4, Wait()) is Reason.LATE_TICK
    assert witness.reasons == {Reason.DUPLICATE_INTENT: 1, Reason.LATE_TICK: 1}
    assert witness.remembered[1] == "an intent for tick 4 while tick 5 was open: late_tick"
    inbox.close()
    assert inbox.was_answered


def test_what_is_refused_on_purpose_is_not_held_against_the_agent():
    witness = IntentWitness()
    witness.refusing = True
    inbox = WatchedInbox(witness)
    inbox.open(5)
    assert inbox.offer(0, 5, Wait()) is Reason.LATE_TICK
    zeros = np.zeros(1, dtype=np.int32)
    columns = IntentColumns(zeros, zeros.astype(np.uint8), zeros.astype(np.uint8), zeros, zeros, zeros, {}, {})
    assert inbox.offer_many(5, columns).tolist() != [0]
    assert (witness.remembered, witness.reasons) == ([], {})
    inbox.close()
    assert not inbox.was_answered
