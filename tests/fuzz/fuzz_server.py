"""Throw messages at a world until stopped: `python tests/fuzz/fuzz_server.py [--seed N] [--cases N]`."""

import argparse
import sys

from tests.kits.server_fuzz import ServerFuzzer

STEP = 5_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="where to begin; the same seed gives the same cases")
    parser.add_argument("--cases", type=int, default=0, help="when to stop; 0 goes on until Ctrl-C")
    args = parser.parse_args()
    fuzzer = ServerFuzzer(args.seed)
    try:
        while not args.cases or fuzzer.report.cases < args.cases:
            report = fuzzer.run(min(STEP, args.cases - fuzzer.report.cases) if args.cases else STEP)
            refused, answered = report.refused.total(), report.answered.total()
            sys.stdout.write(
                f"{report.cases:,} cases in {report.ticks:,} ticks: {refused:,} unreadable, {answered:,} answered, "
                f"{report.accepted:,} intents accepted\n"
            )
            sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stdout.write("stopped\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
