"""Service times: mean and deviation of a lane's last attempts, by size where that explains more.

An attempt that was cut off, by its deadline or because its caller left, is a lower bound: it raises the estimate and
never lowers it. What came before a change of speed is forgotten as soon as three attempts show the change.

`fit` is pure; `ServiceTimes` keeps the attempts of one lane and fits them only on demand, because a lane whose requests
never wait needs no estimate.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

KEPT = 64  # attempts that an estimate is made of
REFIT = 8  # attempts after which a full fit is renewed; a smaller one after each
SAFETY = 2.0  # deviations above the mean: a request's margin to be almost sure of its answer
MIN_DEVIATION = 0.02  # of the mean: no provider is more regular than that
NEWEST = 4  # attempts that are searched for a change of speed
CHANGED = 3  # of them must show it
CHANGE_QUARTILES = 1.5  # distances of the quartiles by which each of them is off
CHANGE_PART = 0.25  # of the mean by which each of them is off at least
EXPLAINS = 0.7  # of the deviation may be left for the sizes to count
MIN_SIZED = 8  # attempts of different sizes that a fit by size needs
MAX_PART = 0.998  # of its time left is the longest need of a request, else an idle slot would never be tried


class Sample(NamedTuple):
    """One attempt: how long it took, what was asked, and whether it came to its end or was cut off."""

    took_s: float
    prompt_tokens: int
    reply_tokens: int
    whole: bool


class ServiceTime(NamedTuple):
    """The expected time of the next attempt, learnt from so many `attempts`; 0: nothing is known.

    The time is `base_s` plus a part for each token of the prompt and of the requested reply.
    """

    attempts: int = 0
    mean_s: float = 0.0
    deviation_s: float = 0.0
    base_s: float = 0.0
    prompt_token_s: float = 0.0
    reply_token_s: float = 0.0

    def expected_s(self, prompt_tokens: int, reply_tokens: int) -> float:
        """Return the time that an attempt of this size is expected to take."""
        sized_s = self.base_s + prompt_tokens * self.prompt_token_s + reply_tokens * self.reply_token_s
        return sized_s if sized_s > 0 else 0.0

    def need_s(self, prompt_tokens: int, reply_tokens: int, allowed_s: float) -> float:
        """Return the time that a request must have left when it starts, at most nearly all of `allowed_s`.

        Without that bound a lane that is slower than every caller's deadline would never be tried again.
        """
        need_s = self.expected_s(prompt_tokens, reply_tokens) + SAFETY * self.deviation_s
        return min(need_s, MAX_PART * max(0.0, allowed_s))


UNKNOWN = ServiceTime()


def fit(samples: Sequence[Sample]) -> ServiceTime:
    """Estimate the service time from attempts, the oldest first.

    >>> fit([Sample(2.0, 100, 50, True), Sample(3.0, 100, 50, True), Sample(1.0, 100, 50, False)]).mean_s
    2.5
    """
    counted = _informative(samples)
    if not counted:
        return UNKNOWN
    count = len(counted)
    mean_s = math.fsum(sample.took_s for sample in counted) / count
    spread = math.fsum((sample.took_s - mean_s) ** 2 for sample in counted)
    deviation_s = max(math.sqrt(spread / count), MIN_DEVIATION * mean_s)
    flat = ServiceTime(count, mean_s, deviation_s, mean_s)
    if count < MIN_SIZED:
        return flat
    by_prompt, by_reply, left = _by_size(counted, mean_s, spread)
    sized_s = math.sqrt(max(left, 0.0) / count)
    if sized_s > EXPLAINS * deviation_s:
        return flat
    prompt = sum(sample.prompt_tokens for sample in counted) / count
    reply = sum(sample.reply_tokens for sample in counted) / count
    base_s = mean_s - by_prompt * prompt - by_reply * reply
    return ServiceTime(count, mean_s, max(sized_s, MIN_DEVIATION * mean_s), base_s, by_prompt, by_reply)


def since_change(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Return the attempts since the speed last changed: three of the newest four, if all are far off the others.

    The distance is measured by quartiles, because the first few new values already move mean and deviation.
    """
    older, newest = samples[:-NEWEST], samples[-NEWEST:]
    before = fit(older)
    if before.attempts < NEWEST:
        return samples
    errors = sorted(_error_s(sample, before) for sample in older if sample.whole) or [0.0]
    low_s, high_s = errors[len(errors) // 4], errors[3 * len(errors) // 4]
    off_s = max(CHANGE_QUARTILES * (high_s - low_s), CHANGE_PART * before.mean_s)
    slower = [sample for sample in newest if _error_s(sample, before) > high_s + off_s]
    faster = [sample for sample in newest if sample.whole and _error_s(sample, before) < low_s - off_s]
    changed = max(slower, faster, key=len)
    return changed if len(changed) >= CHANGED else samples


def _error_s(sample: Sample, known: ServiceTime) -> float:
    return sample.took_s - known.expected_s(sample.prompt_tokens, sample.reply_tokens)


def _informative(samples: Iterable[Sample]) -> list[Sample]:
    """Leave out cut-off attempts that lasted no longer than whole ones."""
    counted = [sample for sample in samples if sample.whole]
    cut_off = [sample for sample in samples if not sample.whole]
    if not counted:
        most_s = max((sample.took_s for sample in cut_off), default=0.0)
        return [sample for sample in cut_off if sample.took_s >= most_s / 2]
    mean_s = math.fsum(sample.took_s for sample in counted) / len(counted)
    return counted + [sample for sample in cut_off if sample.took_s > mean_s]


def _by_size(samples: Sequence[Sample], mean_s: float, spread: float) -> tuple[float, float, float]:
    """Return the seconds per prompt and reply token by least squares, and the part of the spread they leave."""
    count = len(samples)
    prompt = sum(sample.prompt_tokens for sample in samples) / count
    reply = sum(sample.reply_tokens for sample in samples) / count
    pp = rr = pr = pt = rt = 0.0
    for took_s, prompt_tokens, reply_tokens, _ in samples:
        p, r, t = prompt_tokens - prompt, reply_tokens - reply, took_s - mean_s
        pp += p * p
        rr += r * r
        pr += p * r
        pt += p * t
        rt += r * t
    choices = [(0.0, 0.0, spread)]
    if pp:
        choices.append((pt / pp, 0.0, spread - pt * pt / pp))
    if rr:
        choices.append((0.0, rt / rr, spread - rt * rt / rr))
    both = pp * rr - pr * pr
    if both > 1e-6 * pp * rr:
        by_prompt, by_reply = (pt * rr - rt * pr) / both, (rt * pp - pt * pr) / both
        choices.append((by_prompt, by_reply, spread - by_prompt * pt - by_reply * rt))
    # More text never takes less time: a negative slope is chance.
    return min((choice for choice in choices if choice[0] >= 0 and choice[1] >= 0), key=lambda choice: choice[2])


class ServiceTimes:
    """The last attempts of one lane; the estimate is computed on demand."""

    __slots__ = ("_estimate", "_fitted", "_samples", "added")

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int, int, bool]] = deque(maxlen=KEPT)  # fields of `Sample`, made on demand
        self._estimate = UNKNOWN
        self._fitted = 0  # how many had been added at the last fit
        self.added = 0

    def add(self, took_s: float, prompt_tokens: int, reply_tokens: int, whole: bool = True) -> None:
        """Record an attempt that was answered or, if not `whole`, cut off."""
        self._samples.append((took_s, prompt_tokens, reply_tokens, whole))
        self.added += 1

    def estimate(self) -> ServiceTime:
        """Return the expected time of the next attempt."""
        fresh = self.added - self._fitted
        if fresh and (fresh >= REFIT or len(self._samples) < KEPT or not self._is_expected()):
            kept = since_change([Sample._make(sample) for sample in self._samples])
            if len(kept) < len(self._samples):
                self._samples = deque(kept, maxlen=KEPT)
            self._estimate = fit(kept)
            self._fitted = self.added
        return self._estimate

    def _is_expected(self) -> bool:
        """Whether the last attempt took about as long as expected, so that a new fit can wait."""
        last, known = Sample._make(self._samples[-1]), self._estimate
        error_s = abs(last.took_s - known.expected_s(last.prompt_tokens, last.reply_tokens))
        return error_s <= SAFETY * known.deviation_s
