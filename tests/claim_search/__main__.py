"""Search for a counter-example to claim on a real store: writers that are killed, slow or get no answer.

Several writers claim the same near copies and the same ids at the same time. The search checks every answer, and
everything that is stored in the end. Exit code 1: something is wrong, and is printed. Exit code 2: a writer broke.
A mutation removes a part of the protocol; then the search must find something.
"""

import argparse
import math
import random
import sys
from collections.abc import Sequence

from claim_search.crew import Broken
from claim_search.mutations import MUTATIONS, TRANSACTION
from claim_search.places import KINDS, kind_of
from claim_search.search import Search, search

SHOWN = 10
CLAIMS = 20_000
WRITERS = 4


def main(arguments: Sequence[str]) -> int:
    """Search, and print what was found; 1 when something is wrong, 2 when a writer broke."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if kind_of(given.store) not in KINDS:
        parser.error(f"--store {given.store}: wanted memory:, file:[FOLDER] or hbase://HOST:PORT/TABLE")
    if given.mutation == TRANSACTION and kind_of(given.store) != "file":
        parser.error("--mutation transaction is for file: only")
    mutation = f" --mutation {given.mutation}" if given.mutation else ""
    print(f"search-claims --store {given.store} --claims {given.claims} --seed {given.seed}{mutation}", flush=True)
    wanted = Search(given.store, given.seed, given.writers, given.mutation, given.protocol)
    contested = 0
    try:
        for part in search(wanted, given.claims, given.seconds):
            contested += part.contested
            print(part, flush=True)
            for wrong in part.wrong[:SHOWN]:
                print(f"WRONG: {wrong}")
            if part.wrong:
                return 1
    except Broken as broken:
        print(f"BROKEN: {broken}")
        return 2
    print(f"{contested:,} contested claims, found nothing wrong")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="search-claims", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--store", default="file:", help="memory:, file:[FOLDER] or hbase://HOST:PORT/TABLE (file:)")
    add("--claims", type=int, default=CLAIMS, help=f"least number of contested claims ({CLAIMS:,})")
    add("--seconds", type=float, default=math.inf, help="end the search after this time (no limit)")
    add("--seed", type=int, default=random.randrange(10**6), help="repeat the claims and the faults of a run")
    add("--writers", type=int, default=WRITERS, help=f"writers at once ({WRITERS})")
    add("--protocol", action="store_true", help="hide the transactions of file:, so that claims use compare-and-set")
    add(
        "--mutation",
        choices=MUTATIONS,
        help="the part to remove: transaction from file:, the others from claims by compare-and-set",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
