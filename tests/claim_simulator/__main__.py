"""Simulate claims, and what runs beside them, under schedules that follow from seeds.

Each schedule is a few writers on a simulated HBase that is slow, loses answers, does requests late or twice; writers
crash, stand still, come back, and have wrong clocks. Every change of a document cell is checked. Exit code 1: something
is wrong, and is printed with its seed. --seed N runs one schedule again and prints each of its steps.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from multiprocessing import get_context

from claim_simulator.mutations import MUTATIONS, take_out
from claim_simulator.simulate import outcome_of, simulate

SCHEDULES = 5_000
AT_ONCE = 10


def main(arguments: Sequence[str]) -> int:
    """Simulate, and print what was found; 1 when something is wrong."""
    parser = argparse.ArgumentParser(
        prog="simulate-claims", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--schedules", type=int, default=SCHEDULES, help=f"how many ({SCHEDULES:,})")
    add("--first", type=int, default=1, help="seed of the first; the others follow it (1)")
    add("--seed", type=int, help="run this one schedule and print its steps")
    add("--processes", type=int, default=os.cpu_count(), help="processes at once (one a core)")
    add("--mutation", choices=MUTATIONS, help="the part of the protocol to remove")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        take_out(given.mutation)
        world = simulate(given.seed)
        print(*world.trace, sep="\n")
        print(*[f"WRONG: {wrong}" for wrong in world.wrong] or ["found nothing wrong"], sep="\n")
        return int(bool(world.wrong))
    began, done, had = time.monotonic(), 0, Counter()
    seeds = range(given.first, given.first + given.schedules)
    # The part that is taken out stays out, and nothing is inherited but the name of it.
    with get_context("spawn").Pool(given.processes, take_out, (given.mutation,)) as pool:
        for done, (happened, wrong) in enumerate(pool.imap(outcome_of, seeds, chunksize=AT_ONCE), 1):
            had.update(happened)
            if wrong:
                again = f"--seed {seeds[done - 1]}" + (f" --mutation {given.mutation}" if given.mutation else "")
                print(f"WRONG: {wrong[0]}\nafter {done:,} schedules; to see it: simulate-claims {again}")
                return 1
            seconds = time.monotonic() - began
            if not done % 1_000:
                print(f"{done:,} schedules, {seconds:.0f} s", flush=True)
    print(", ".join(f"{count:,} {name}" for name, count in sorted(had.items())))
    print(f"{done:,} schedules from seed {given.first} found nothing wrong; {60 * done / seconds:,.0f} a minute")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
