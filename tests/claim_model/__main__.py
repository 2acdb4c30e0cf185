"""Every interleaving of the protocol of claim: it holds, and each part of it is needed.

Prints a line for each case. Exit code 1: a case is not as it has to be, and the steps that lead there are printed.
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import combinations

from claim_model.explore import explore
from claim_model.rules import Rules
from claim_model.settings import CASES, ONE_SIDED, Case, Setting, claim, near

# Where the search comes first upon what is wrong without a part, and what that is.
NEEDED = {
    "below": ("one id twice", "a decision that changed"),
    "second_query": ("a pair", "two originals"),
    "yielding": ("a pair", "a wrong duplicate"),
    "own_cell": ("one id twice", "a decision that changed"),
    "counting": ("a chain, an end first", "two originals"),
    "text_compared": ("a move: beside its new text", "a wrong duplicate"),
    "previous": ("a move: one beside each text", "a decision that changed"),
    "stamps": ("adds and removals: the original is removed and claimed", "an original that queries miss"),
    "refresh": ("expiry: two clocks", "an original that expired though it had just been named"),
    "expiry": ("expiry: two clocks", "two originals"),
    "placed": ("additions: and a removal", "an acknowledged change that a late request undid"),
    "above_claims": ("adds and removals: the id itself is added", "a decision that changed"),
    "read_back": ("additions: and a move", "an addition that was acknowledged and never stood"),
    "raising": ("additions: of what is removed twice", "an acknowledged change that a late request undid"),
}


def questions() -> Iterator[tuple[str, Setting, str]]:
    """Yield what is asked: its name, the setting, and how the answer begins; with nothing, none may be wrong."""
    for name, case in CASES.items():
        yield name, case.setting(), ""
    # With one order of the writers all others are among these relations, under other numbers.
    pairs = list(combinations(range(3), 2))
    for size in range(4):
        for chosen in combinations(pairs, size):
            case = Case(tuple(claim(number, number) for number in range(3)), near(*chosen))
            yield f"three claims, within reach are {chosen or 'none'}", case.setting(), ""
    for name, case in ONE_SIDED.items():
        yield f"reach of one side: {name}", case.setting(), "two originals"
    for rule in Rules.__dataclass_fields__:
        name, problem = NEEDED[rule]
        yield f"without {rule}: {name}", CASES[name].setting(Rules(**{rule: False})), problem


def main() -> int:
    """Explore all, or the cases whose names contain a text; 1 when one is not as it has to be."""
    parser = argparse.ArgumentParser(
        prog="model-claims", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="explore the cases whose names contain one of these")
    texts = parser.parse_args().texts
    states = failed = 0
    for name, setting, wanted in questions():
        if texts and not any(text in name for text in texts):
            continue
        found = explore(setting)
        states += found.states
        is_right = str(found.problem).startswith(wanted) if wanted else found.problem is None
        failed += not is_right
        print(f"{'' if is_right else 'WRONG: '}{name}: {found.states:,} states, {found.problem or 'none is wrong'}")
        if not is_right:
            print("\n".join(found.trace))
        sys.stdout.flush()
    print(f"{states:,} states; {failed} cases are not as they have to be")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
