"""Plug-ins: stores, input formats and analyzers that other installed packages offer by entry points.

Metadata of the installed packages is read only when a name is asked for that this package does not have.
"""

from functools import cache
from typing import Any

from simhash_hbase.errors import Unsupported

STORES = "simhash_hbase.stores"
"""Group of entry points of stores, by address scheme; see `simhash_hbase.stores.addresses.StorePlugin`."""
INPUTS = "simhash_hbase.inputs"
"""Group of entry points of inputs, by format and suffix; see `simhash_hbase.inputs.reading.Reader`."""
ANALYZERS = "simhash_hbase.analyzers"
"""Group of entry points of analyzers, by name; see `simhash_hbase.features.analyzers.Analyzer`."""
_THING = {STORES: "store", INPUTS: "input format", ANALYZERS: "analyzer"}


def offered_names(group: str) -> list[str]:
    """Return the sorted names that installed packages offer in a group of entry points, such as `INPUTS`."""
    return sorted(_offers(group))


@cache
def offered(group: str, name: str) -> Any:  # noqa: ANN401 - whatever a package offers
    """Return the object that an installed package offers under a name in a group of entry points; None if none does.

    Raises
    ------
    Unsupported
        When two packages offer the name, or it cannot be imported.
    """
    offers = _offers(group).get(name, {})
    what = f"the {_THING[group]} {name!r}"
    if len(offers) > 1:
        raise Unsupported(f"{what} is offered by the packages {' and '.join(sorted(offers))}: uninstall all but one")
    for package, point in offers.items():
        try:
            return point.load()
        except Exception as error:
            why = " ".join(f"{type(error).__name__}: {error}".split())
            raise Unsupported(f"{what} of the package {package} cannot be loaded: {why}") from error
    return None


@cache
def _offers(group: str) -> dict[str, dict[str, Any]]:
    """Return all entry points in a group: for each name the entry point by the package that offers it."""
    # importlib.metadata takes longer to import than this package.
    from importlib.metadata import entry_points  # noqa: PLC0415

    offers: dict[str, dict[str, Any]] = {}
    for point in entry_points(group=group):
        package = point.dist.name if point.dist is not None else point.value
        offers.setdefault(point.name, {})[package] = point
    return offers
