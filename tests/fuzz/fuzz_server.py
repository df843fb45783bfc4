"""Throw messages at a world until stopped: `python -m tests.fuzz.fuzz_server [--seed N] [--cases N]`."""

import sys
from collections.abc import Iterator

from tests.kits.fuzzing import run_until_stopped
from tests.kits.server_fuzz import ServerFuzzer

STEP = 5_000


def rounds(seed: int, cases: int) -> Iterator[str]:
    """Yield what became of the messages so far."""
    fuzzer = ServerFuzzer(seed)
    while not cases or fuzzer.report.cases < cases:
        report = fuzzer.run(min(STEP, cases - fuzzer.report.cases) if cases else STEP)
        refused, answered = report.refused.total(), report.answered.total()
        yield (
            f"{report.cases:,} cases in {report.ticks:,} ticks: {refused:,} unreadable, {answered:,} answered, "
            f"{report.accepted:,} intents accepted"
        )


if __name__ == "__main__":
    sys.exit(run_until_stopped(__doc__, rounds))
