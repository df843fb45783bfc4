"""Throw spoilt messages at the codec until stopped: `python tests/fuzz/fuzz_wire.py [--seed N] [--cases N]`."""

import argparse
import sys

from tests.kits.wire_fuzz import Fuzzer

STEP = 20_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="where to begin; the same seed gives the same cases")
    parser.add_argument("--cases", type=int, default=0, help="when to stop; 0 goes on until Ctrl-C")
    args = parser.parse_args()
    fuzzer = Fuzzer(args.seed)
    try:
        while not args.cases or fuzzer.report.cases < args.cases:
            report = fuzzer.run(min(STEP, args.cases - fuzzer.report.cases) if args.cases else STEP)
            refused, legal = report.refused.total(), report.legal.total()
            sys.stdout.write(
                f"{report.cases:,} cases: {report.unreadable:,} unreadable, {refused:,} refused, {legal:,} legal\n"
            )
            sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stdout.write("stopped\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
