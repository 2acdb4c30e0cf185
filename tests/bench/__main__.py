"""Runs parts of the benchmark and prints their tables: ``./scripts/bench [--large] [PART…]``."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from bench.machine import describe
from bench.parts import DEFAULT_PARTS, PARTS
from bench.sizes import DEFAULT, LARGE


@click.command()
@click.option("--large", is_flag=True, help="Ten million fingerprints in the index that is queried.")
@click.option("--sizes", metavar="N,N…", help="Documents in the indexes of growth (100000,1000000,10000000).")
@click.option("--minutes", type=float, help="How long growth asks 4,000 lookups a second (10).")
@click.option("--keep", type=click.Path(path_type=Path), help="Folder for the indexes of growth, which stay there.")
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
def main(parts: tuple[str, ...], large: bool, sizes: str | None, minutes: float | None, keep: Path | None) -> None:
    """Measure PARTs, all by default, and print Markdown tables."""
    chosen = LARGE if large else DEFAULT
    if sizes is not None:
        chosen = replace(chosen, growth=tuple(sorted(map(int, sizes.split(",")))))
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        chosen = replace(chosen, growth_folder=keep.absolute())
    if minutes is not None:
        chosen = replace(chosen, growth_minutes=minutes)
    print(describe().markdown())
    for name in parts or DEFAULT_PARTS:
        for table in PARTS[name](chosen):
            print(f"\n{table.markdown()}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
