"""Play histories of a world in which everything goes wrong: `python -m tests.fuzz.fuzz_sim [--seed N] [--cases N]`."""

import logging
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count

from tests.kits.fuzzing import run_until_stopped
from tests.sim.simulation import play

STEP = 100


def rounds(seed: int, cases: int) -> Iterator[str]:
    """Yield how the histories ended so far."""
    logging.disable(logging.WARNING)  # slow disks are part of it
    ends: Counter[str] = Counter()
    ticks = 0
    for played in range(1, cases + 1) if cases else count(1):
        report = play(seed + played - 1)
        ticks += report.ticks
        ends.update(report.ends)
        if played % STEP == 0 or played == cases:
            yield f"{played:,} histories up to seed {report.seed:,}: {ticks:,} ticks, {dict(ends)}"


if __name__ == "__main__":
    sys.exit(run_until_stopped(__doc__, rounds))
