"""What of a new table could not be made as asked."""

from simhash_hbase.cli.output import Output
from simhash_hbase.stores.base import Shortfalls, Store

__all__ = ["warn_of_shortfalls"]


def warn_of_shortfalls(store: Store, output: Output) -> None:
    """Say what of a new table is not as asked, and how it can be had."""
    if isinstance(store, Shortfalls) and store.shortfalls:
        lines = ["warning: the table is not all that it should be; schema/ has it for an operator:", *store.shortfalls]
        output.warn("\n  ".join(lines))
