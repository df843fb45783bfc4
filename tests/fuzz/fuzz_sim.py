"""Play histories of a world in which everything goes wrong: `python tests/fuzz/fuzz_sim.py [--seed N] [--cases N]`."""

import argparse
import logging
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.sim.simulation import play

STEP = 100


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="where to begin; the same seed gives the same history")
    parser.add_argument("--cases", type=int, default=0, help="when to stop; 0 goes on until Ctrl-C")
    args = parser.parse_args()
    logging.disable(logging.WARNING)  # slow disks are part of it
    ends: Counter[str] = Counter()
    played = ticks = 0
    try:
        while not args.cases or played < args.cases:
            report = play(args.seed + played)
            played += 1
            ticks += report.ticks
            ends.update(report.ends)
            if played % STEP == 0 or played == args.cases:
                sys.stdout.write(f"{played:,} histories up to seed {report.seed:,}: {ticks:,} ticks, {dict(ends)}\n")
                sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stdout.write("stopped\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
