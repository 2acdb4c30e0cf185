"""What of a new index could not be made as asked, or should be made otherwise."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from simhash_hbase.cli.screen.output import Output
from simhash_hbase.features.hashes import WeakHashWarning
from simhash_hbase.stores.abilities import Shortfalls
from simhash_hbase.stores.base import Store


def warn_of_shortfalls(store: Store, output: Output) -> None:
    """Say what of a new table is not as asked, and how it can be had."""
    if isinstance(store, Shortfalls) and store.shortfalls:
        lines = ["warning: the table is not all that it should be; schema/ has it for an operator:", *store.shortfalls]
        output.warn("\n  ".join(lines))


@contextmanager
def warnings_as_lines(output: Output) -> Iterator[None]:
    """Print what the library warns of as lines, not as Python does."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WeakHashWarning)
        yield
    for warning in caught:
        output.warn(f"warning: {warning.message}")
