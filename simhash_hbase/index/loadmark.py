"""The row that says a bulk load is under way, and whose server time a load takes for its own."""

import msgspec

from simhash_hbase.errors import CorruptIndex, StoreBusy
from simhash_hbase.rows.keys import index_row
from simhash_hbase.rows.layout import FAMILY_INDEX, VALUE_QUALIFIER
from simhash_hbase.stores.base import Cell, Store

_ROW = index_row("load")


class OpenLoad(msgspec.Struct, frozen=True):
    """What the row holds."""

    token: str  # Says which load it is.
    is_open: bool  # Whether it is still to be finished.


def read_open_load(store: Store) -> OpenLoad | None:
    """Read which load is under way."""
    [cell] = store.get(FAMILY_INDEX, [(_ROW, VALUE_QUALIFIER)])
    if cell is None:
        return None
    try:
        found = msgspec.json.decode(cell.value, type=OpenLoad)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptIndex(f"the row of loads at {store.url} does not decode: {error}") from error
    return found if found.is_open else None


def begin_load(store: Store, token: str, *, take_over: bool = False) -> int:
    """Open a load."""
    found = read_open_load(store)
    if found is not None and found.token != token and not take_over:
        raise StoreBusy(
            f"another load into {store.url} was not finished: repeat its command where it ran, or add `take_over`"
        )
    _write(store, OpenLoad(token, is_open=True))
    [cell] = store.get(FAMILY_INDEX, [(_ROW, VALUE_QUALIFIER)])
    if cell is None or cell.timestamp is None:
        raise CorruptIndex(f"the row of loads at {store.url} was written and is not there")
    return cell.timestamp


def end_load(store: Store, token: str) -> None:
    """Close a load."""
    _write(store, OpenLoad(token, is_open=False))


def _write(store: Store, what: OpenLoad) -> None:
    store.put(FAMILY_INDEX, [Cell(_ROW, VALUE_QUALIFIER, msgspec.json.encode(what))])
