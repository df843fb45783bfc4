"""The command line of fuzzers that run until they are stopped."""

import argparse
import sys
from collections.abc import Callable, Iterator


def run_until_stopped(about: str | None, rounds: Callable[[int, int], Iterator[str]]) -> int:
    """Print a line for each round of a fuzzer, given its seed and how many cases there may be (0: any number)."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--seed", type=int, default=0, help="where to begin; the same seed gives the same cases")
    parser.add_argument("--cases", type=int, default=0, help="when to stop; 0 goes on until Ctrl-C")
    args = parser.parse_args()
    try:
        for line in rounds(args.seed, args.cases):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stdout.write("stopped\n")
    return 0
