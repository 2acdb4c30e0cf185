"""Runs parts of the benchmark and prints their tables: ``./scripts/bench [--large] [PART…]``."""

import sys

import click

from bench.machine import describe
from bench.parts import DEFAULT_PARTS, PARTS
from bench.sizes import DEFAULT, LARGE


@click.command()
@click.option("--large", is_flag=True, help="Ten million fingerprints in the index that is queried.")
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
def main(parts: tuple[str, ...], large: bool) -> None:
    """Measure PARTs, all by default, and print Markdown tables."""
    print(describe().markdown())
    for name in parts or DEFAULT_PARTS:
        for table in PARTS[name](LARGE if large else DEFAULT):
            print(f"\n{table.markdown()}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
