"""The store that keeps an index in one Redis database."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex, IndexExists, IndexMissing, InvalidArgument, Unsupported
from simhash_hbase.rows.keys import BlockRows, pack_prefixes, pack_rows, unpack_rows
from simhash_hbase.rows.layout import BLOCK_ROW_BYTES, FAMILIES, FAMILY_BLOCKS, FAMILY_DOCUMENTS
from simhash_hbase.stores import base
from simhash_hbase.stores.redis.connection import Argument, RedisConnection, RedisOptions

SPACE = "simhash-hbase:"
FORMAT = SPACE + "format"
COUNTERS = SPACE + "rows"
BLOCKS = SPACE + "b:"
STAMP_BYTES = 8
# Prefixes of one script, and the rows at which it stops, however few of its prefixes are done.
PREFIXES_A_CALL = 2_000
ROWS_AN_ANSWER = 20_000

VERSION = b"1"
# A script keeps the server from everything else, so it is bounded to some milliseconds.
ROWS_A_CALL = 4_000
CELLS_A_CALL = 500
KEYS_A_CALL = 5_000
PREFIX_BYTES = 5
NO_ROWS = BlockRows(np.empty(0, np.uint64), np.empty(0, np.uint64))
# Numbers of scripts are doubles.
LARGEST_STAMP = 1 << 53


_PARTS = Path(__file__).with_name("scripts.lua").read_text("ascii").split("-- == ")[1:]
SCRIPTS = {
    name: "\n".join(line for line in code.split("\n") if not line.startswith("--"))
    for name, code in (part.split("\n", 1) for part in _PARTS)
}
"""The scripts of ``scripts.lua`` by name, without comments, which need not be sent."""


class RedisStore(base.Store):
    """Rows in one database of a Redis server; made by `create` and `open`.

    Redis keeps keys in no order. `scan_range` and `scan_cells` therefore read the keys of the whole database once, with
    ``SCAN``, keep those of the range, sort them, and then read their rows page by page: 8 bytes of this process for
    each prefix, and some 100 for each row of cells. A narrow range takes as long as the whole.

    Each call consists of scripts that run alone in the server. Timestamps decide between two writers of one cell, and
    no block row of several writers is lost. A broken connection is replaced and its scripts are sent once more, except
    those of `compare_and_set`, whose second run would deny the first.

    Threads and processes may share a database. The server's settings decide how much its crash may lose: with
    ``appendonly yes`` the last second, with ``appendfsync always`` nothing, with the default snapshots minutes. A claim
    that was lost so may be decided again, and otherwise. Servers that evict keys without an expiry are refused. Redis
    Cluster is not supported.
    """

    is_sorted = False

    def __init__(
        self, connection: RedisConnection, *, readonly: bool = False, clock: Callable[[], int] | None = None
    ) -> None:
        self._connection = connection
        self._readonly = readonly
        self._clock = clock

    @classmethod
    def create(cls, options: RedisOptions, *, clock: Callable[[], int] | None = None) -> Self:
        """Make a store for a new index in a database; other keys in the database are left alone."""
        store = cls(RedisConnection(options), clock=clock)
        with ExitStack() as on_error:
            on_error.callback(store.close)
            store._check_server()
            if store._connection.ask("SET", FORMAT, VERSION, "NX") is None:
                raise IndexExists(f"there is an index at {options.url} already, complete or begun")
            on_error.pop_all()
        return store

    @classmethod
    def open(cls, options: RedisOptions, *, readonly: bool = False, clock: Callable[[], int] | None = None) -> Self:
        """Open the store of the index in a database; raise `IndexMissing` where there is none."""
        store = cls(RedisConnection(options), readonly=readonly, clock=clock)
        with ExitStack() as on_error:
            on_error.callback(store.close)
            store._check_server()
            version = store._connection.ask("GET", FORMAT)
            if version is None:
                raise IndexMissing(f"there is no index at {options.url}")
            if version != VERSION:
                raise CorruptIndex(f"the index at {options.url} has form {version!r}: this version reads {VERSION!r}")
            on_error.pop_all()
        return store

    @property
    def url(self) -> str:
        return self._connection.url

    def scan(self, prefixes: NDArray[np.uint64], *, limit: int) -> base.PrefixScan:
        """Return the block rows, keys that lead to fingerprints, under some prefixes, at most `limit` for each.

        There is one round trip for each 16,000 prefixes.
        """
        base.check_positive("limit", limit)
        pieces: dict[int, list[bytes]] = {start: [] for start in range(0, len(prefixes), PREFIXES_A_CALL)}
        # Start of each piece that is not done yet, and the position at which it goes on.
        places = {start: start for start in pieces}
        cut: list[int] = []
        while places:
            asked = [prefixes[at : start + PREFIXES_A_CALL] for start, at in places.items()]
            calls = ((BLOCKS, limit, ROWS_AN_ANSWER, b"".join(pack_prefixes(piece))) for piece in asked)
            going_on = {}
            answers = zip(places.items(), asked, self._connection.run(SCRIPTS["scan"], calls), strict=True)
            for (start, at), piece, (done, rows, over) in answers:
                pieces[start].append(rows)
                cut += [at + position for position in over]
                if done < len(piece):
                    going_on[start] = at + done
            places = going_on
        rows_found = unpack_rows(b"".join(chain.from_iterable(pieces.values())))
        return base.PrefixScan(rows_found, prefixes[np.array(sorted(cut), dtype=np.intp)])

    def has_rows(self, rows: BlockRows) -> NDArray[np.bool_]:
        calls = [(space, packed) for space, _, packed in _row_calls(rows)]
        answers: Iterator[bytes] = self._connection.run(SCRIPTS["has_rows"], calls)
        return np.array([octet == ord("1") for octet in b"".join(answers)], dtype=np.bool_)

    def put_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        self._write(SCRIPTS["put_rows"], _row_calls(rows))

    def delete_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        self._write(SCRIPTS["delete_rows"], _row_calls(rows))

    def put(self, family: str, cells: Sequence[base.Cell]) -> None:
        """Write cells; of two writes of a cell with the same timestamp, the later one stays."""
        base.check_cell_family(family)
        _check_stamps(cells)
        now = self._clock() if self._clock is not None else ""
        head = (_space(family), COUNTERS, family, now)
        fields = [(c.row, c.qualifier, "" if c.timestamp is None else c.timestamp, c.value) for c in cells]
        self._write(SCRIPTS["put"], _calls(head, fields))

    def get(self, family: str, keys: Sequence[base.CellKey]) -> list[base.Cell | None]:
        """Read single cells by row and qualifier, with one round trip for each 4,000."""
        base.check_cell_family(family)
        return self._get(family, keys)

    def _get(self, family: str, keys: Sequence[base.CellKey]) -> list[base.Cell | None]:
        answers = self._connection.run(SCRIPTS["get"], _calls((_space(family),), keys))
        values = chain.from_iterable(answers)
        return [None if held is None else _cell(row, q, held) for (row, q), held in zip(keys, values, strict=True)]

    def get_rows(self, family: str, rows: Sequence[bytes], *, limit: int) -> list[list[base.Cell]]:
        """Read up to `limit` cells of each of some rows.

        Redis sends a row whole; of one with more cells than the limit, all qualifiers are read first.
        """
        base.check_cell_family(family, limit=limit)
        found: list[list[base.Cell]] = []
        wanted: dict[int, list[base.CellKey]] = {}
        calls = _calls((_space(family), limit), [(row,) for row in rows])
        for held, wide in self._connection.run(SCRIPTS["get_rows"], calls):
            for position in wide:
                at = len(found) + position
                wanted[at] = [(rows[at], qualifier) for qualifier in sorted(held[position])[:limit]]
                held[position] = []
            found += [
                sorted(_cell(row, qualifier, value) for qualifier, value in zip(flat[::2], flat[1::2], strict=True))
                for row, flat in zip(rows[len(found) :], held, strict=False)
            ]
        cells = iter(self._get(family, list(chain.from_iterable(wanted.values()))) if wanted else ())
        for at, keys in wanted.items():
            found[at] = [cell for _, cell in zip(keys, cells, strict=False) if cell is not None]
        return found

    def read_row(self, family: str, row: bytes, *, after: bytes, limit: int) -> list[base.Cell]:
        """Read up to `limit` cells of one row whose qualifiers come after `after`.

        All qualifiers of the row are read for that.
        """
        base.check_cell_family(family, limit=limit)
        held: list[bytes] = self._connection.ask("HKEYS", _space(family).encode() + row)
        wanted = sorted(qualifier for qualifier in held if qualifier > after)[:limit]
        cells = self._get(family, [(row, qualifier) for qualifier in wanted])
        return [cell for cell in cells if cell is not None]

    def delete(self, family: str, cells: Sequence[base.Cell]) -> None:
        base.check_deletions(family, cells)
        _check_stamps(cells)
        fields = [(c.row, c.qualifier, c.timestamp or 0) for c in cells]
        self._write(SCRIPTS["delete"], _calls((_space(family), COUNTERS, family), fields))

    def compare_and_set(self, swaps: Sequence[base.Swap]) -> list[bool]:
        """Change cells by compare-and-set; each swap is sent once, whatever happens to the connection."""
        now = self._clock() if self._clock is not None else ""
        head = (_space(FAMILY_DOCUMENTS), COUNTERS, FAMILY_DOCUMENTS, now)
        fields = [(row, q, "" if old is None else 1, old or b"", value) for row, q, old, value in swaps]
        self._check_writable()
        answers: Iterator[bytes] = self._connection.run(SCRIPTS["compare_and_set"], _calls(head, fields), once=True)
        return [octet == ord("1") for octet in b"".join(answers)]

    def scan_range(self, start: int, stop: int, *, page: int) -> Iterator[BlockRows]:
        base.check_positive("page", page)
        return self._pages_of_rows(start, stop, page)

    def scan_cells(self, family: str, start: bytes, stop: bytes | None, *, page: int) -> Iterator[list[base.Cell]]:
        base.check_cell_family(family, page=page)
        return self._pages_of_cells(family, start, stop, page)

    def _pages_of_rows(self, start: int, stop: int, page: int) -> Iterator[BlockRows]:
        packed = np.frombuffer(b"".join(chain.from_iterable(self._keys(FAMILY_BLOCKS))), np.uint8)
        prefixes = np.zeros(len(packed) // PREFIX_BYTES, np.uint64)
        for octets in packed.reshape(-1, PREFIX_BYTES).T:
            prefixes = prefixes << np.uint64(8) | octets
        prefixes = np.unique(prefixes[(prefixes >= start) & (prefixes < stop)])
        for at in range(0, len(prefixes), PREFIXES_A_CALL):
            found, cut = self.scan(prefixes[at : at + PREFIXES_A_CALL], limit=ROWS_A_CALL)
            edges = [0, *np.searchsorted(found.prefixes, cut, "right").tolist(), len(found.prefixes)]
            for first, end in pairwise(edges):
                rows = BlockRows(found.prefixes[first:end], found.simhashes[first:end])
                while len(rows.prefixes):
                    for i in range(0, len(rows.prefixes), page):
                        yield BlockRows(rows.prefixes[i : i + page], rows.simhashes[i : i + page])
                    # A limit cut the rows of the last prefix, or none.
                    rows = self._rows_after(rows) if rows.prefixes[-1] in cut else NO_ROWS

    def _rows_after(self, rows: BlockRows) -> BlockRows:
        """Return the rows that come after the last of `rows` and have its key prefix, `ROWS_A_CALL` at most."""
        last = BlockRows(rows.prefixes[-1:], rows.simhashes[-1:])
        [simhashes] = self._connection.run(SCRIPTS["rows_after"], [(BLOCKS, pack_rows(last), ROWS_A_CALL)])
        following = np.frombuffer(simhashes, ">u8").astype(np.uint64)
        return BlockRows(np.repeat(last.prefixes, len(following)), following)

    def _pages_of_cells(self, family: str, start: bytes, stop: bytes | None, page: int) -> Iterator[list[base.Cell]]:
        keys = chain.from_iterable(self._keys(family))
        rows = sorted({row for row in keys if start <= row and (stop is None or row < stop)})
        waiting: list[base.Cell] = []
        for at in range(0, len(rows), CELLS_A_CALL):
            some = rows[at : at + CELLS_A_CALL]
            for row, cells in zip(some, self.get_rows(family, some, limit=page), strict=True):
                waiting += cells
                while len(waiting) >= page:
                    yield waiting[:page]
                    del waiting[:page]
                more = cells
                while len(more) == page:
                    more = self.read_row(family, row, after=more[-1].qualifier, limit=page)
                    yield from filter(None, [waiting, more])
                    waiting = []
        if waiting:
            yield waiting

    def _keys(self, family: str) -> Iterator[list[bytes]]:
        """Yield lists of the row keys of a family, in no order, some more than once; for family ``b``, row prefixes."""
        space, cursor = _space(family).encode(), 0
        while True:
            cursor, keys = self._connection.ask("SCAN", cursor, "MATCH", space + b"*", "COUNT", KEYS_A_CALL)
            yield [key[len(space) :] for key in keys]
            if not cursor:
                return

    def size(self) -> base.StoreSize:
        counters = self._counters()
        rows = {family: sum(n for kind, n in counters.items() if kind[0] == family) for family in FAMILIES}
        return base.StoreSize(int(self._connection.ask("INFO", "memory")["used_memory_dataset"]), rows)

    def close(self) -> None:
        self._connection.close()

    def _check_writable(self) -> None:
        if self._readonly:
            raise InvalidArgument(f"{self.url}: this store was opened for reading only")

    def _write(self, script: str, calls: Sequence[Sequence[Argument]]) -> None:
        self._check_writable()
        for _ in self._connection.run(script, calls):
            pass

    def _check_server(self) -> None:
        """Raise `Unsupported` for a server that drops keys when its memory is full: a query would miss documents."""
        memory: dict[str, Any] = self._connection.ask("INFO", "memory")
        policy = str(memory.get("maxmemory_policy", "noeviction"))
        if int(memory.get("maxmemory", 0)) and policy.startswith("allkeys"):
            raise Unsupported(
                f"{self.url}: the server evicts keys when its memory is full (maxmemory-policy {policy}), and a query "
                "would miss documents: set it to noeviction"
            )

    def _counters(self) -> dict[str, int]:
        held: dict[bytes, bytes] = self._connection.ask("HGETALL", COUNTERS)
        return {kind.decode(): int(n) for kind, n in held.items()}


def _space(family: str) -> str:
    return f"{SPACE}{family}:"


def _row_calls(rows: BlockRows) -> list[tuple[Argument, ...]]:
    packed, step = pack_rows(rows), ROWS_A_CALL * BLOCK_ROW_BYTES
    return [(BLOCKS, COUNTERS, packed[i : i + step]) for i in range(0, len(packed), step)]


def _calls(head: tuple[Argument, ...], fields: Sequence[Sequence[Argument]]) -> list[list[Argument]]:
    """Return the arguments of each run of a script: the head, then the fields of up to 500 cells or rows."""
    starts = range(0, len(fields), CELLS_A_CALL)
    return [[*head, *chain.from_iterable(fields[i : i + CELLS_A_CALL])] for i in starts]


def _check_stamps(cells: Sequence[base.Cell]) -> None:
    for cell in cells:
        if cell.timestamp is not None and not 0 <= cell.timestamp <= LARGEST_STAMP:
            raise InvalidArgument(f"timestamp is {cell.timestamp}: wanted 0 to {LARGEST_STAMP}")


def _cell(row: bytes, qualifier: bytes, held: bytes) -> base.Cell:
    stamp = held[:STAMP_BYTES]
    return base.Cell(row, qualifier, held[STAMP_BYTES:], int.from_bytes(stamp, "big"))
