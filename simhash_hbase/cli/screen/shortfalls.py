"""Warnings about a new index that could not be made as asked."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from simhash_hbase.stores.abilities import Shortfalls

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output
    from simhash_hbase.stores.base import Store


def warn_of_shortfalls(store: Store, output: Output) -> None:
    """Report what a gateway could not set, and how an operator can."""
    if isinstance(store, Shortfalls) and store.shortfalls:
        lines = [
            "warning: the gateway could not set everything; ask an operator to run schema/ for:",
            *store.shortfalls,
        ]
        output.note("\n  ".join(lines))


@contextmanager
def warnings_as_lines(output: Output) -> Iterator[None]:
    """Print the library's warnings as lines, not as Python does."""
    from simhash_hbase.features.hashes import WeakHashWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WeakHashWarning)
        yield
    for warning in caught:
        output.note(f"warning: {warning.message}")
