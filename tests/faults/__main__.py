"""Hurt real stores on purpose, and check every answer: ./scripts/faults [SCENARIO…].

``cluster ACTION …`` starts and hurts the cluster alone; ``cluster --help`` says how.

Ctrl-C ends a scenario of HBase after the fault under way, with all its checks.
"""

import argparse
import random
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from faults import bulk, embedded, hbase, restart, service
from faults.cluster import Cluster, run_action
from faults.outcome import ENDING, HEADER

ON_CLUSTER = {
    **dict.fromkeys((*hbase.FAULTS, hbase.IN_TURN), hbase.run),
    **dict.fromkeys(bulk.SCENARIOS, bulk.run),
    **service.SCENARIOS,
}
SCENARIOS = (*embedded.SCENARIOS, restart.SCENARIO, *ON_CLUSTER)
TIMES = 10


def main(words) -> int:
    if words[:1] == ["cluster"]:
        return run_action(words[1:])
    given = _parser().parse_args(words)
    if given.list:
        print("\n".join(SCENARIOS))
        return 0
    if unknown := set(given.scenarios) - set(SCENARIOS):
        print(f"faults: no scenario is called {unknown.pop()!r}; --list prints all", file=sys.stderr)
        return 2
    print(f"seed {given.seed}", file=sys.stderr)
    # Python leaves it ignored where a shell started this in the background.
    signal.signal(signal.SIGINT, lambda *_: ENDING.set())
    outcomes = []
    with ExitStack() as stack:
        cluster = None
        for name in given.scenarios or SCENARIOS:
            if ENDING.is_set():
                break
            times = given.times or TIMES
            if name in ON_CLUSTER:
                cluster = cluster or stack.enter_context(Cluster.started(given.dir, rpc=given.rpc))
                outcomes.append(ON_CLUSTER[name](cluster, name, times, given.seed, _say))
            elif name == restart.SCENARIO:
                outcomes.append(restart.run(given.times or 1, given.minutes, given.url, _say))
            else:
                outcomes.append(embedded.SCENARIOS[name](times, given.seed, _say))
            _say(f"{outcomes[-1]} refused {outcomes[-1].refused}")
            for line in outcomes[-1].wrong[:10]:
                _say(f"WRONG: {line}")
    print(HEADER, *outcomes, sep="\n")
    return 0 if all(outcome.is_good for outcome in outcomes) else 1


def _say(line):
    print(line, file=sys.stderr, flush=True)


def _parser():
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    add = parser.add_argument
    add("scenarios", nargs="*", metavar="SCENARIO", help="the scenarios to run (all)")
    add("--list", action="store_true", help="print the scenarios")
    add("--times", type=int, help=f"faults in each scenario ({TIMES})")
    add("--minutes", type=float, default=10, help=f"how long clients ask in {restart.SCENARIO!r} (10)")
    add("--url", help=f"where {restart.SCENARIO!r} makes its index (in a folder)")
    add("--seed", type=int, default=random.randrange(10**6), help="repeat the choices of a run")
    add("--rpc", action="store_true", help="reach tables of the cluster without a gateway, by one region server")
    add("--dir", type=Path, help="folder of the cluster (the one of ./scripts/faults cluster up)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
