"""Throw spoilt messages at the codec until stopped: `python -m tests.fuzz.fuzz_wire [--seed N] [--cases N]`."""

import sys
from collections.abc import Iterator

from tests.kits.fuzzing import run_until_stopped
from tests.kits.wire_fuzz import Fuzzer

STEP = 20_000


def rounds(seed: int, cases: int) -> Iterator[str]:
    """Yield what became of the messages so far."""
    fuzzer = Fuzzer(seed)
    while not cases or fuzzer.report.cases < cases:
        report = fuzzer.run(min(STEP, cases - fuzzer.report.cases) if cases else STEP)
        refused, legal = report.refused.total(), report.legal.total()
        yield f"{report.cases:,} cases: {report.unreadable:,} unreadable, {refused:,} refused, {legal:,} legal"


if __name__ == "__main__":
    sys.exit(run_until_stopped(__doc__, rounds))
