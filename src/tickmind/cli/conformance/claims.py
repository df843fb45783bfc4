"""The claims of the launch contract, judged by the evidence of a trial."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from tickmind.cli.conformance.evidence import Evidence
from tickmind.protocol import Reason

ILLEGAL = (Reason.ILLEGAL_ACTION, Reason.TEXT_TOO_LONG, Reason.UNKNOWN_KIND)


class ClaimVerdict(StrEnum):
    """What became of a claim."""

    PASS = "pass"  # noqa: S105  # no password
    FAIL = "FAIL"
    UNTRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Judgement:
    """One claim with its verdict, what was seen, and what to do if it failed."""

    claim: str
    verdict: ClaimVerdict
    seen: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class _Seen:
    ok: bool | None  # None: it could not be tried
    what: str


@dataclass(frozen=True, slots=True)
class _Claim:
    text: str
    advice: str
    look: Callable[[Evidence], _Seen]
    only_tls: bool = False  # whether it is a claim of worlds behind TLS alone


def judge(evidence: Evidence) -> list[Judgement]:
    """Judge all claims, in the order of the specification."""
    judgements = []
    for claim in (claim for claim in CLAIMS if evidence.plan.tls or not claim.only_tls):
        seen = claim.look(evidence)
        if seen.ok is None:
            judgements.append(Judgement(claim.text, ClaimVerdict.UNTRIED, seen.what))
        elif seen.ok:
            judgements.append(Judgement(claim.text, ClaimVerdict.PASS, seen.what))
        else:
            judgements.append(Judgement(claim.text, ClaimVerdict.FAIL, seen.what, claim.advice))
    return judgements


def _untried(evidence: Evidence) -> _Seen:
    if not evidence.took_control:
        return _Seen(None, "it was never in control")
    return _Seen(None, evidence.early_end or "the world accepted none of its intents")


def _takes_control(evidence: Evidence) -> _Seen:
    if evidence.took_control:
        return _Seen(True, "it acquired the lease of its character")
    last = f"; it printed: {evidence.last_output}" if evidence.last_output else ""
    if evidence.early_end:
        return _Seen(False, f"{evidence.early_end}, before it was in control{last}")
    return _Seen(False, f"it was not in control {evidence.plan.start_s:g} s after its start{last}")


def _answers(evidence: Evidence) -> _Seen:
    if not evidence.took_control:
        return _untried(evidence)
    answered, controlled = evidence.answered_ticks, max(1, evidence.controlled_ticks)
    text = f"{answered} accepted intents in {controlled} ticks"
    if evidence.early_end:
        text = f"{text}, then {evidence.early_end}"
    return _Seen(not evidence.early_end and answered >= evidence.plan.least_answered * controlled, text)


def _open_tick(evidence: Evidence) -> _Seen:
    if not evidence.took_control:
        return _untried(evidence)
    early, late = evidence.refused[Reason.EARLY_TICK], evidence.refused[Reason.LATE_TICK]
    ticks = max(1, evidence.controlled_ticks)
    if not early and late <= evidence.plan.most_late * ticks:
        return _Seen(True, f"{late} of its intents came late in {ticks} ticks")
    return _Seen(False, f"{late} intents for ticks that were over and {early} for ticks to come{_such_as(evidence)}")


def _once(evidence: Evidence) -> _Seen:
    if not evidence.took_control:
        return _untried(evidence)
    twice, flood = evidence.refused[Reason.DUPLICATE_INTENT], evidence.refused[Reason.OVERLOADED]
    if not twice and not flood:
        return _Seen(True, "no tick got a second intent")
    return _Seen(False, f"{twice + flood} intents for ticks that had one already{_such_as(evidence)}")


def _legal(evidence: Evidence) -> _Seen:
    if not evidence.took_control:
        return _untried(evidence)
    wrong = {reason: evidence.refused[reason] for reason in ILLEGAL if evidence.refused[reason]}
    if not wrong:
        return _Seen(True, "the world could read all of its intents")
    listed = ", ".join(f"{count} {reason}" for reason, count in wrong.items())
    return _Seen(False, f"refused intents: {listed}")


def _survives(evidence: Evidence) -> _Seen:
    if evidence.answers_after_refusals is None:
        return _untried(evidence)
    after, ticks = evidence.answers_after_refusals, evidence.plan.refused_ticks
    text = f"{after} answers in the {ticks} ticks after {ticks} refused ones"
    return _Seen(after >= evidence.plan.least_answered * ticks - 1, text)


def _keeps(evidence: Evidence) -> _Seen:
    if evidence.kept_lease is None:
        return _untried(evidence)
    plan = evidence.plan
    what = f"a world that stood still for {plan.quiet_s:g} s, with leases of {plan.lease_ttl_ms / 1000:g} s"
    return _Seen(evidence.kept_lease, f"it {'kept' if evidence.kept_lease else 'lost'} its lease in {what}")


def _drop(evidence: Evidence) -> _Seen:
    if not evidence.tried_drop:
        return _untried(evidence)
    if evidence.back_after_drop_s is None:
        return _Seen(False, f"it did not act within {evidence.plan.back_s:g} s of a dropped connection")
    text = f"it acted again {evidence.back_after_drop_s:.1f} s after a dropped connection"
    if evidence.had_to_wait_for_lease:
        text += "; it waited for its old lease to expire: open with previous_lease_id to be back at once"
    return _Seen(True, text)


def _restart(evidence: Evidence) -> _Seen:
    if not evidence.tried_restart:
        return _untried(evidence)
    if evidence.back_after_restart_s is None:
        return _Seen(False, f"it did not act within {evidence.plan.back_s:g} s of the world's return")
    return _Seen(True, f"it acted again {evidence.back_after_restart_s:.1f} s after the world came back")


def _exchange(evidence: Evidence) -> _Seen:
    if not evidence.tried_exchange:
        return _untried(evidence)
    if evidence.back_after_exchange_s is None:
        return _Seen(False, f"it did not act within {evidence.plan.back_s:g} s of the exchange")
    return _Seen(True, f"it acted again {evidence.back_after_exchange_s:.1f} s after its token was exchanged")


def _ends(evidence: Evidence) -> _Seen:
    if evidence.ended_in_time is None:
        return _Seen(None, f"it was no longer there: {evidence.early_end}")
    if not evidence.ended_in_time:
        return _Seen(False, f"it was still there {evidence.plan.grace_s:g} s after SIGTERM, and was killed")
    return _Seen(evidence.exit_code == 0, evidence.ending)


def _gives_back(evidence: Evidence) -> _Seen:
    if evidence.released is None:
        return _Seen(None, "it was not in control when it was asked to end")
    return _Seen(evidence.released, f"its character was {'free' if evidence.released else 'still held'} after its end")


def _leaves_none(evidence: Evidence) -> _Seen:
    if evidence.left_processes is None:
        return _Seen(None, "it was killed with all its processes")
    count = evidence.left_processes
    return _Seen(count == 0, f"{count} processes of its own were there after its end" if count else "nothing was left")


def _quiet(evidence: Evidence) -> _Seen:
    if evidence.leaked:
        return _Seen(False, f"its output holds {' and '.join(evidence.leaked)}")
    return _Seen(True, "no secret is in its output")


def _such_as(evidence: Evidence) -> str:
    return f", such as {evidence.examples[0]}" if evidence.examples else ""


CLAIMS = (
    _Claim(
        "takes control",
        "connect to WORLD_ADDR and open control of ENTITY_ID as CONTROLLER_ID; try again while the world is not there",
        _takes_control,
    ),
    _Claim("answers most ticks", "send one intent for each observation, before its deadline_ms is over", _answers),
    _Claim(
        "acts for the open tick",
        "put the tick_id of the newest observation into each intent, and drop older observations unanswered",
        _open_tick,
    ),
    _Claim("acts once in a tick", "send one intent for each observation: the first counts, others are refused", _once),
    _Claim("sends legal intents", "set exactly one action, with values that the schema and the world allow", _legal),
    _Claim("survives refusals", "a refused intent is an answer: go on with the next observation", _survives),
    _Claim(
        "keeps its lease",
        "send keep_alive every third of ttl_ms, also while there is nothing to answer, apart from what thinks",
        _keeps,
    ),
    _Claim("comes back after a dropped connection", "connect again, with a growing wait in between", _drop),
    _Claim("comes back after the world's restart", "try again until the world is there, and acquire anew", _restart),
    _Claim(
        "comes back after its token was exchanged",
        "when the world refuses the token, read world_token_file of the launch file again, and connect with it",
        _exchange,
        only_tls=True,
    ),
    _Claim("ends on SIGTERM", "on SIGTERM release the lease and exit with 0 within the grace time", _ends),
    _Claim("gives its character back", "release the lease before the process ends", _gives_back),
    _Claim("leaves no process", "end and wait for every process that the agent has started", _leaves_none),
    _Claim("prints no secret", "print neither lease ids nor what AGENT_SECRETS_FD holds", _quiet),
)
