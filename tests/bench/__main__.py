"""Runs parts of the benchmark and prints their tables: ``./scripts/bench [--large] [PART…]``."""

import sys
from collections.abc import Callable
from dataclasses import replace

import click

from bench.claiming import measure_claim
from bench.deduping import measure_dedup
from bench.fingerprints import measure_fingerprints
from bench.growth import measure_growth, measure_growth_in_hbase
from bench.hbase import measure_hbase
from bench.loading import measure_load
from bench.measuring import Table, describe
from bench.passages import measure_passages
from bench.queries import measure_queries
from bench.service import measure_service, measure_singles, measure_singles_in_hbase
from bench.sizes import DEFAULT, LARGE, Sizes
from bench.throughput import measure_text

PARTS: dict[str, Callable[[Sizes], list[Table]]] = {
    "fingerprints": measure_fingerprints,
    "queries": measure_queries,
    "load": measure_load,
    "dedup": measure_dedup,
    "text": measure_text,
    "service": lambda sizes: [*measure_service(sizes), *measure_singles(sizes)],
    "claim": measure_claim,
    "hbase": measure_hbase,
    "service-hbase": measure_singles_in_hbase,
    "passages": measure_passages,
    "growth": measure_growth,
    "growth-hbase": measure_growth_in_hbase,
}
# `growth` takes hours and 20 GB of disk, `passages` some minutes and 3 GB; the others start an HBase.
DEFAULT_PARTS = ("fingerprints", "queries", "load", "dedup", "text", "service")


@click.command()
@click.option("--large", is_flag=True, help="Ten million fingerprints in the index that is queried.")
@click.option("--sizes", metavar="N,N…", help="Documents in the indexes of growth (100000,1000000,10000000).")
@click.option("--minutes", type=float, help="How long growth asks 4,000 lookups a second (10).")
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
def main(parts: tuple[str, ...], large: bool, sizes: str | None, minutes: float | None) -> None:
    """Measure PARTs, all by default, and print Markdown tables."""
    chosen = LARGE if large else DEFAULT
    if sizes is not None:
        chosen = replace(chosen, growth=tuple(sorted(map(int, sizes.split(",")))))
    if minutes is not None:
        chosen = replace(chosen, growth_minutes=minutes)
    print(describe().markdown())
    for name in parts or DEFAULT_PARTS:
        for table in PARTS[name](chosen):
            print(f"\n{table.markdown()}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
