"""Print which shares of the lines and branches the tests ran, from what `coverage json` says on standard input."""

import json
import sys

totals = json.load(sys.stdin)["totals"]
for what, all_of_them in (("lines", totals["num_statements"]), ("branches", totals["num_branches"])):
    share = 100 * totals[f"covered_{what}"] / all_of_them
    print(f"{what}: {share:.1f} % of {all_of_them:,}")
