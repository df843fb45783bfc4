"""Kill a real world and resume it until stopped: `python -m tests.fuzz.fuzz_kill [--seed N] [--cases N]`."""

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from tests.sim.kills import KILLED, KillSite, Launcher

LIVES = 100  # of one world, before its whole record is replayed and another one begins


async def kill_for_ever(seed: int, cases: int) -> None:
    """Kill worlds at operations and moments that the seed decides."""
    rng = random.Random(seed)
    kills = ticks = 0
    with tempfile.TemporaryDirectory() as folder:
        async with Launcher(Path(folder) / "log") as launcher:
            for number in range(10**9):
                place = Path(folder) / str(number)
                place.mkdir()
                site = KillSite(place, launcher, rng)
                await site.live(ticks=2)
                for _ in range(LIVES if not cases else min(LIVES, cases - kills)):
                    if rng.random() < 0.7:
                        how = rng.choice(("before", "half", "after"))
                        code = await site.live(kill_at=rng.randint(1, 80), how=how)
                    else:
                        code = await site.live(kill_after_s=rng.uniform(0.001, 0.5))
                    assert code == KILLED, launcher.log.read_text()[-2000:]
                kills += site.kills
                ticks += site.check()
                sys.stdout.write(f"seed {seed}: {kills:,} kills, {ticks:,} ticks on record, none lost\n")
                sys.stdout.flush()
                if cases and kills >= cases:
                    return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="decides where worlds are killed")
    parser.add_argument("--cases", type=int, default=0, help="when to stop; 0 goes on until Ctrl-C")
    args = parser.parse_args()
    try:
        asyncio.run(kill_for_ever(args.seed, args.cases))
    except KeyboardInterrupt:
        sys.stdout.write("stopped\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
