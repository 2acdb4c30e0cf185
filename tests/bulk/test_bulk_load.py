"""Bulk load: the index afterwards is what adding the documents would have made, whatever was interrupted."""

import numpy as np
import pytest
from support.bruteforce import entries

from simhash_hbase.bulk import Spool, StoreWriter, begin, load, spool as spool_module
from simhash_hbase.bulk.spool import read_manifest
from simhash_hbase.errors import InvalidArgument, InvalidInput, StoreBusy
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.chunks import Chunk
from simhash_hbase.index.indexrows import begin_load, read_open_load
from simhash_hbase.inputs import Document, Place, Reject
from simhash_hbase.rows.clock import rfc3339
from simhash_hbase.testing.rows import all_cells, all_pairs

SHARED = np.random.default_rng(4).integers(0, 2**64, 400, dtype=np.uint64).tolist()


def document(number, *, simhash=None):
    value = SHARED[number] if simhash is None else simhash
    metadata = {"number": number} if number % 3 == 0 else None
    return Document(f"document {number}", None, value, None, metadata, Place("input", number + 1), b"raw")


def documents(count):
    return [document(number) for number in range(count)]


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch):
    """Cut chunks of ten documents and parts of three chunks."""
    monkeypatch.setattr(Chunk, "is_full", property(lambda self: len(self.documents) + len(self.rejects) >= 10))
    monkeypatch.setattr(spool_module, "PART_CHUNKS", 3)


@pytest.fixture
def index(make_index):
    return make_index()


class CountingAnalysis(Analysis):
    """Counts the documents that are analysed."""

    def __init__(self, profile):
        super().__init__(profile)
        self.count = 0

    def fingerprints(self, ids, simhashes, metadata=None):
        self.count += len(ids)
        return super().fingerprints(ids, simhashes, metadata)


class DyingWriter(StoreWriter):
    """Writes all cells and no row before it is interrupted."""

    def write(self, cells, rows, *, timestamp):
        super().write(cells, [], timestamp=timestamp)
        raise KeyboardInterrupt


def spool_of(index, tmp_path):
    return Spool(tmp_path / "work", index.store.url, index.profile)


def filled(index, tmp_path, records):
    """Analyse records as a command does that is killed before it writes."""
    spool = spool_of(index, tmp_path)
    begin(index, spool)
    list(spool.fill(records, CountingAnalysis(index.profile)))
    return spool


def run(index, tmp_path, records, *, writer=None, **options):
    """Do what the command does; return what was loaded, what was refused, and how many documents were analysed."""
    spool = spool_of(index, tmp_path)
    begin(index, spool, **options)
    analysis = CountingAnalysis(index.profile)
    rejects = [reject for part in spool.fill(records, analysis) for reject in part.rejects]
    options.pop("take_over", None)
    done = load(index, spool, writer or StoreWriter(index.store), **options)
    spool.remove()
    return done, rejects, analysis.count


def contents(index):
    """Read all block rows and all documents, without their times."""
    return all_pairs(index.store), [(d.id, d.simhash, d.state, d.metadata) for d in index.export()]


def added(make_index, records):
    index = make_index()
    index.add_entries(Analysis(index.profile).fingerprints(
        [r.id for r in records], [r.simhash for r in records], [r.metadata for r in records]).entries)  # fmt: skip
    return contents(index)


def test_a_loaded_index_holds_what_an_added_one_does(index, make_index, tmp_path):
    records = documents(100)
    done, rejects, _ = run(index, tmp_path, records)

    assert (done.documents, done.known, rejects) == (100, 0, [])
    assert contents(index) == added(make_index, records)
    assert not index.verify().wrong
    assert not (tmp_path / "work").exists()


def test_documents_have_the_time_of_the_load_before_which_their_cells_lie(index, tmp_path, clock):
    run(index, tmp_path, documents(10))

    [stored] = index.get_many(["document 0"])
    assert {cell.timestamp for cell in all_cells(index.store)} == {clock.ms - 60_000}
    assert stored.added == stored.seen == rfc3339(clock.ms)
    assert [match.added for match in index.query_simhash(SHARED[0], since=rfc3339(clock.ms)).matches] == [stored.added]


def test_a_folder_keeps_what_is_not_the_loads(index, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "mine.txt").write_text("mine")
    run(index, tmp_path, [document(1)])

    assert [path.name for path in (tmp_path / "work").iterdir()] == ["mine.txt"]


AGAIN = Document("document 3", None, 5, None, None, Place("input", 999), b"again")


def test_a_repeated_id_is_refused_with_its_place(index, tmp_path):
    done, rejects, _ = run(index, tmp_path, [*documents(60), AGAIN])

    assert done.documents == 60
    assert [(str(r.place), r.raw, r.id) for r in rejects] == [("input:999", b"again", "document 3")]
    assert "came before" in rejects[0].reason
    assert index.get("document 3").simhash == SHARED[3]


def test_finished_parts_are_not_analysed_again(index, tmp_path):
    records, bad = documents(100), Reject(Place("input", 0), "bad", b"", None)
    records.insert(5, bad)
    spool = spool_of(index, tmp_path)
    begin(index, spool)
    parts = spool.fill(records, CountingAnalysis(index.profile))
    next(parts), next(parts)
    parts.close()

    done, rejects, analysed = run(index, tmp_path, [*records, AGAIN])

    assert done.documents == 100
    assert [reject.place for reject in rejects] == [bad.place, AGAIN.place]
    assert analysed == 101 - 59
    assert not index.verify().wrong


def test_an_input_that_changed_is_analysed_from_there_on(index, make_index, tmp_path):
    filled(index, tmp_path, documents(100))
    changed = [document(number, simhash=1 if number == 45 else None) for number in range(100)]
    _, _, analysed = run(index, tmp_path, changed)

    assert analysed == 70
    assert contents(index) == added(make_index, changed)


def test_a_damaged_part_is_analysed_again(index, make_index, tmp_path):
    filled(index, tmp_path, documents(100))
    part = tmp_path / "work" / "part-000002"
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    _, _, analysed = run(index, tmp_path, documents(100))

    assert analysed == 40
    assert contents(index) == added(make_index, documents(100))


@pytest.mark.parametrize("into_existing", [False, True])
def test_a_load_that_died_while_writing_is_completed_by_the_same_input(
    index, make_index, tmp_path, clock, into_existing
):
    records = documents(100)
    with pytest.raises(KeyboardInterrupt):
        run(index, tmp_path, records, writer=DyingWriter(index.store), into_existing=into_existing)
    noted = read_manifest(tmp_path / "work")
    assert read_open_load(index.store).token == noted.token
    clock.advance(days=1)
    with pytest.raises(InvalidInput, match="the same input"):
        run(index, tmp_path, records[1:], into_existing=into_existing)

    done, _, analysed = run(index, tmp_path, records, into_existing=into_existing)

    assert (done.documents, done.known, analysed) == (100, 0, 0)
    assert contents(index) == added(make_index, records)
    assert {cell.timestamp for cell in all_cells(index.store)} == {noted.stamp}
    assert read_open_load(index.store) is None


def test_what_changed_after_the_load_began_wins(index, tmp_path):
    spool = filled(index, tmp_path, documents(40))
    spool.manifest.writing = True
    index.add_entries(entries({"document 9": SHARED[300]}))
    load(index, spool, StoreWriter(index.store))

    assert index.get("document 9").simhash == SHARED[300]
    assert not index.query_simhash(SHARED[9]).matches
    assert index.query_simhash(SHARED[300]).matches[0].id == "document 9"


def test_only_into_existing_loads_documents_beside_known_ones(index, make_index, tmp_path):
    run(index, tmp_path, documents(50))
    list(index.remove_many(["document 40"]))
    more = [document(number, simhash=SHARED[200 + number] if number < 10 else None) for number in range(90)]
    with pytest.raises(InvalidArgument, match="`into_existing`"):
        run(index, tmp_path, more)

    done, _, _ = run(index, tmp_path, more, into_existing=True)

    assert (done.documents, done.known, done.moved) == (90, 49, 10)
    assert contents(index)[1] == added(make_index, more)[1]
    assert not index.query_simhash(SHARED[3]).matches
    for number, simhash in ((3, SHARED[203]), (40, SHARED[40]), (70, SHARED[70])):
        assert index.query_simhash(simhash).matches[0].id == f"document {number}"
    before = contents(index)
    done, _, _ = run(index, tmp_path, more, into_existing=True)
    assert (done.known, done.moved) == (90, 0)
    assert contents(index) == before


def test_two_loads_at_a_time_are_refused(index, tmp_path):
    begin_load(index.store, "another")
    with pytest.raises(StoreBusy, match="not finished"):
        run(index, tmp_path, [document(1)])

    run(index, tmp_path, [document(1)], take_over=True)
    assert read_open_load(index.store) is None


def test_the_folder_of_another_load_is_refused(index, make_index, tmp_path):
    spool_of(index, tmp_path)
    with pytest.raises(InvalidArgument, match="unfinished load"):
        spool_of(make_index(scheme="4x1"), tmp_path)
