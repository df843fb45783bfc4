from collections import Counter

import pytest

from tickmind.cli.conformance.claims import CLAIMS, ClaimVerdict, judge
from tickmind.cli.conformance.commands import report
from tickmind.cli.conformance.evidence import Evidence
from tickmind.protocol import Reason


def good(**changed):
    evidence = Evidence(
        took_control=True,
        controlled_ticks=30,
        answered_ticks=30,
        answers_after_refusals=5,
        kept_lease=True,
        tried_drop=True,
        back_after_drop_s=0.5,
        tried_restart=True,
        back_after_restart_s=0.5,
        ending="it exited with 0",
        ended_in_time=True,
        exit_code=0,
        released=True,
        left_processes=0,
    )
    for name, value in changed.items():
        setattr(evidence, name, value)
    return evidence


def failed(evidence):
    return [one.claim for one in judge(evidence) if one.verdict is ClaimVerdict.FAIL]


def test_good_evidence_passes_every_claim():
    assert {one.verdict for one in judge(good())} == {ClaimVerdict.PASS}
    assert report(judge(good())).endswith("13 of 13 claims hold: the agent conforms to contract 1\n")


@pytest.mark.parametrize(
    ("changed", "claim", "seen"),
    [
        ({"answered_ticks": 23}, "answers most ticks", "23 accepted intents in 30 ticks"),
        ({"early_end": "it exited with 3"}, "answers most ticks", "then it exited with 3"),
        ({"refused": Counter({Reason.EARLY_TICK: 1})}, "acts for the open tick", "1 for ticks to come"),
        ({"refused": Counter({Reason.LATE_TICK: 7})}, "acts for the open tick", "7 intents for ticks that were over"),
        ({"refused": Counter({Reason.DUPLICATE_INTENT: 1})}, "acts once in a tick", "1 intents for ticks that had one"),
        ({"refused": Counter({Reason.OVERLOADED: 9})}, "acts once in a tick", "9 intents for ticks that had one"),
        ({"refused": Counter({Reason.ILLEGAL_ACTION: 2})}, "sends legal intents", "2 illegal_action"),
        ({"answers_after_refusals": 1}, "survives refusals", "1 answers in the 5 ticks after 5 refused ones"),
        ({"kept_lease": False}, "keeps its lease", "it lost its lease in a world that stood still for 4.5 s"),
        ({"back_after_drop_s": None}, "comes back after a dropped connection", "within 20 s"),
        ({"back_after_restart_s": None}, "comes back after the world's restart", "within 20 s"),
        ({"ended_in_time": False, "released": None}, "ends on SIGTERM", "5 s after SIGTERM, and was killed"),
        ({"exit_code": 1, "ending": "it exited with 1"}, "ends on SIGTERM", "it exited with 1"),
        ({"released": False}, "gives its character back", "still held"),
        ({"left_processes": 2}, "leaves no process", "2 processes of its own"),
        ({"leaked": ["a lease id"]}, "prints no secret", "its output holds a lease id"),
    ],
)
def test_what_was_seen_fails_its_claim_alone_and_says_what_to_do(changed, claim, seen):
    evidence = good(**changed)
    assert failed(evidence) == [claim]
    (judgement,) = [one for one in judge(evidence) if one.claim == claim]
    assert seen in judgement.seen
    assert f"FAIL       {claim}: " in report([judgement])
    assert f"do: {judgement.advice}" in report([judgement])


def test_an_agent_that_never_took_control_is_tried_no_further():
    evidence = Evidence(ended_in_time=True, exit_code=0, ending="it exited with 0", last_output="no such module")
    judgements = {one.claim: one for one in judge(evidence)}
    assert failed(evidence) == ["takes control"]
    assert judgements["takes control"].seen.endswith("it printed: no such module")
    assert judgements["keeps its lease"].verdict is ClaimVerdict.UNTRIED


def test_what_an_agent_printed_does_nothing_to_the_terminal():
    evidence = Evidence(ended_in_time=True, early_end="it exited with 1", last_output="\x1b]0;title\x07gone")
    assert "it printed: \ufffd]0;title\ufffdgone\n" in report(judge(evidence))


def test_a_lease_that_was_waited_for_passes_with_a_hint():
    (judgement,) = [one for one in judge(good(had_to_wait_for_lease=True)) if "dropped" in one.claim]
    assert judgement.verdict is ClaimVerdict.PASS
    assert "previous_lease_id" in judgement.seen


def test_every_claim_has_an_advice_and_a_name_of_its_own():
    assert len({claim.text for claim in CLAIMS}) == len(CLAIMS)
    assert all(claim.advice for claim in CLAIMS)
