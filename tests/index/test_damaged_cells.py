"""Every cell and row of a small index is damaged, one after another, in every way: what is then answered and mended."""

import copy
from contextlib import suppress
from itertools import islice

import msgspec
import pytest

from simhash_hbase import LocalIndex, SimhashError, create_index
from simhash_hbase.rows.documentcells import decode_member, encode
from simhash_hbase.rows.keys import row_flag
from simhash_hbase.rows.layout import FLAG_COPIES, FLAG_DOCUMENT, FLAG_MEMBERS
from simhash_hbase.stores.memory import MemoryStore

TEXTS = {
    "train": "the train from the north is late today because of snow on the line, and tickets stay valid until noon",
    "bread": "a recipe for bread needs flour, water, salt and yeast, and about six hours of patience before baking",
}
COPY = "copy"
STEP = 29  # One of so many ways to damage a cell is tried: 1 takes minutes.
KINDS = {FLAG_MEMBERS: "member", FLAG_DOCUMENT: "document", FLAG_COPIES: "copy"}


class Clock:
    """A clock that goes on by a millisecond whenever it is read."""

    def __init__(self):
        self.now = 1_700_000_000_000

    def __call__(self):
        self.now += 1
        return self.now


@pytest.fixture(scope="module")
def made():
    """Return a store with originals, a duplicate and a collection, and its clock."""
    clock = Clock()
    index = create_index("memory:", learn_from=list(TEXTS.values()), ttl_days=30, grace_s=0)
    store = MemoryStore(clock=clock)
    store._cells, store._blocks = index.store._cells, index.store._blocks
    index = LocalIndex(store, clock=clock)
    for name, text in TEXTS.items():
        index.claim(name, text, metadata={"source": name})
    assert index.claim(COPY, TEXTS["train"].upper()).of == "train"
    index.in_collection("news").claim("train", TEXTS["train"])
    return store, clock


def damaged(made, change):
    store, clock = made
    again = MemoryStore(clock=clock)
    again._cells, again._blocks = copy.deepcopy(store._cells), copy.deepcopy(store._blocks)
    change(again)
    return again, clock


def move(store, family, cell, **place):
    """Take a cell out of its place and put it into another one."""
    store._set_cell(family, cell.row, cell.qualifier, None)
    place_of(store, family, cell._replace(**place))


def place_of(store, family, cell):
    store._cells[family].setdefault(cell.row, {})[cell.qualifier] = cell


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]


def cells_of(store):
    return [(f, cell) for f in ("d", "m") for row in store._cells[f].values() for cell in row.values()]


def changed_values(store, family, cell):
    """List what may stand in a cell instead: each byte with another bit, the value cut, and that of other cells."""
    value, step = cell.value, 1 + len(cell.value) // 100
    bits = [flipped(value, at) for at in range(0, len(value), step)]
    cuts = [value[:-1], value[: len(value) // 2], value[1:], b"", value + b"\0"]
    others = [other.value for f, other in cells_of(store) if f == family and other.value != value]
    return bits, cuts + others


def damages(store):
    """List the ways to damage one cell or row that `verify` has to notice, by what they damage."""
    for family, cell in cells_of(store):
        kind = KINDS.get(row_flag(cell.row), "own row")
        yield kind, lambda s, f=family, c=cell: s._set_cell(f, c.row, c.qualifier, None)
        for value in changed_values(store, family, cell)[1]:
            yield kind, lambda s, f=family, c=cell, v=value: place_of(s, f, c._replace(value=v))
        if family == "m":
            continue
        rows = [other.row for f, other in cells_of(store) if f == family and other.row != cell.row]
        for row in [*rows, *(flipped(cell.row, at) for at in range(len(cell.row))), cell.row[:3], cell.row[:-2]]:
            yield kind, lambda s, f=family, c=cell, r=row: move(s, f, c, row=r)
        for qualifier in [*(flipped(cell.qualifier, at) for at in range(len(cell.qualifier))), cell.qualifier[:-1]]:
            yield kind, lambda s, f=family, c=cell, q=qualifier: move(s, f, c, qualifier=q)
    for prefix, simhashes in store._blocks.items():
        for simhash in simhashes:
            for other in [None, (prefix ^ 1, simhash), (prefix, simhash ^ 1)]:
                yield "row", lambda s, row=(prefix, simhash), other=other: change_row(s, row, other)


def change_row(store, row, other):
    store._set_row(*row, there=False)
    if other is not None:
        store._set_row(*other, there=True)


def flips(store):
    """List changes of a single bit of a value, not all of which can be noticed."""
    for family, cell in cells_of(store):
        kind = KINDS.get(row_flag(cell.row), "own row")
        for value in changed_values(store, family, cell)[0]:
            yield kind, lambda s, f=family, c=cell, v=value: place_of(s, f, c._replace(value=v))


def answers(store, clock):
    """Ask for everything; an error of the package is an answer, and any other one ends the test."""
    try:
        index = LocalIndex(store, clock=clock)
        news = index.in_collection("news")
    except SimhashError as error:
        return {"open": type(error)}
    asked = {
        **{f"get {name}": lambda name=name: index.get(name) for name in (*TEXTS, COPY)},
        **{f"query {name}": lambda text=text: index.query(text) for name, text in TEXTS.items()},
        "copies": lambda: index.copies("train"),
        "get in a collection": lambda: news.get("train"),
        "query in a collection": lambda: news.query(TEXTS["train"]),
        "export": lambda: list(index.export()),
        "stats": lambda: index.stats(exact=True).documents,
    }
    found = {}
    for name, ask in asked.items():
        try:
            found[name] = repr(ask())
        except SimhashError as error:
            found[name] = type(error)
    return found


def verified(store, clock, *, repair=False):
    """Return what `verify` says; None for an error, which nobody overlooks."""
    with suppress(SimhashError):
        return LocalIndex(store, clock=clock).verify(repair=repair)
    return None


def repaired_answers(store, clock):
    """Return the answers after `verify --repair` and `vacuum`; what is wrong then was counted as not repaired."""
    repaired = verified(store, clock, repair=True)
    if repaired is None:
        return None
    clock.now += 1_000
    with suppress(SimhashError):
        LocalIndex(store, clock=clock).vacuum()
    after = verified(store, clock)
    assert after is None or after.wrong == 0 or repaired.not_repaired
    return answers(store, clock)


def lost_documents(before, after):
    return [name for name in before if name.startswith("get") and before[name] != "None" and after[name] == "None"]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "first"), [(10_000, 0), (3, 1)])
def test_no_damage_of_a_cell_goes_unnoticed_or_loses_a_document(made, monkeypatch, page, first):
    for module in ("vacuum", "verification"):
        monkeypatch.setattr(f"simhash_hbase.index.upkeep.{module}.PAGE", page)
    right = answers(*made)
    for kind, change in islice(damages(made[0]), first, None, STEP):
        store, clock = damaged(made, change)
        answered, found = answers(store, clock), verified(store, clock)
        noticed = found is None or found.wrong or found.stale_copies or found.missing_copies
        assert noticed or answered == right, kind
        after = repaired_answers(store, clock)
        if after is not None:
            # The document cell of a duplicate is all that there is of it.
            assert lost_documents(right, after) in ([], ["get copy"] if kind == "document" else [])


@pytest.mark.slow
def test_a_changed_bit_of_a_cell_ends_in_an_answer_or_a_sentence(made):
    right = answers(*made)
    times = 0
    for kind, change in islice(flips(made[0]), 0, None, STEP):
        store, clock = damaged(made, change)
        answers(store, clock)
        verified(store, clock)
        after = repaired_answers(store, clock)
        lost = [] if after is None else lost_documents(right, after)
        # A time that lies too far back makes a document expire.
        times += kind == "document" and len(lost)
        assert lost == [] or kind == "document"
    assert times <= 12


@pytest.mark.parametrize("kind", ["sketch", "passages"])
def test_changed_bits_of_a_segment_make_no_row_that_never_was(kind):
    fields = {"match": "copied"} if kind == "passages" else {}
    with create_index("memory:", learn_from=list(TEXTS.values()), **fields) as index:
        index.add("train", TEXTS["train"])
        [cell] = [cell for family, cell in cells_of(index.store) if row_flag(cell.row) == FLAG_MEMBERS]
        before = copy.deepcopy(index.store._blocks)
        member = decode_member(cell.value, bands=6)
        data = getattr(member, kind)
        at = len(data) - (2 if kind == "sketch" else 8)
        # Two bits: a single one is put back.
        changed = encode(msgspec.structs.replace(member, **{kind: flipped(flipped(data, at), at + 1)}), checksum=True)
        value = changed[:-4] + cell.value[-4:]
        place_of(index.store, "d", cell._replace(value=value))

        found = index.verify(repair=True)

        assert (found.incomplete, found.repaired, found.not_repaired, found.wrong) == (1, 0, 2, 2)
        assert index.vacuum().rows == 0
        assert index.store._blocks == before
