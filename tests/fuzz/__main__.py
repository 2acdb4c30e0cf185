"""Runs targets by seeded mutations: python -m fuzz [--seconds N] [--seed N] [TARGET…]."""

import argparse
from importlib import import_module
from random import SystemRandom

from fuzz import TARGETS, run


def main() -> None:
    """Run each target for its time, and say how many inputs it was given."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target; 60 if it is left out")
    parser.add_argument("--seed", type=int, help="of the mutations; another one each time if it is left out")
    words = parser.parse_args()
    for name in words.targets or TARGETS:
        seed = SystemRandom().randrange(1 << 32) if words.seed is None else words.seed
        number = run(import_module(f"fuzz.{name}"), seed=seed, seconds=words.seconds)
        print(f"{name}: {number:,} inputs of seed {seed}", flush=True)


if __name__ == "__main__":
    main()
