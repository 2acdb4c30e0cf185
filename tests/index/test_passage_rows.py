"""Passage rows are written, checked, mended and deleted with their documents; an index without them has none."""

import random

import msgspec
import numpy as np
import pytest

from simhash_hbase import InvalidArgument, InvalidProfile, Profile
from simhash_hbase.bulk import Spool, StoreWriter, begin, load, spool as spool_module
from simhash_hbase.bulk.sorting import Corpus, LoadedPassages, PassageSorter, sorted_rows
from simhash_hbase.features.chunks import Chunk
from simhash_hbase.index.documentrows import entry_rows
from simhash_hbase.inputs import Document, Place
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.documentcells import PassageMember, decode_member
from simhash_hbase.rows.keys import FLAGS, BlockRows, passage_rows
from simhash_hbase.rows.layout import FLAG_MEMBERS, FLAG_PASSAGES
from simhash_hbase.testing.rows import all_cells, all_pairs

SHARED = "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。寒来暑往，秋收冬藏。闰余成岁，律吕调阳。"


def text(seed, *, count=300):
    chosen = random.Random(seed)
    return "".join(chr(chosen.randrange(0x4E00, 0x9FA5)) for _ in range(count))


def passage_pairs(store):
    return {(prefix, simhash) for prefix, simhash in all_pairs(store) if prefix & int(FLAGS) == FLAG_PASSAGES}


def members(index):
    cells = [cell for cell in all_cells(index.store) if cell.row[4:5] == bytes([FLAG_MEMBERS])]
    return {member.id: member for member in (decode_member(cell.value, bands=index.profile.bands) for cell in cells)}


@pytest.fixture
def index(make_index):
    """Return an index with passages and two documents that share a sentence."""
    index = make_index(passages=20, bands=2, match="verified", grace_s=0)
    index.add("a", text(1) + SHARED)
    index.add("b", SHARED + text(2))
    make_index.clock.advance(ms=10)
    return index


def test_each_passage_of_a_member_has_a_row(index):
    wanted = set()
    for member in members(index).values():
        assert isinstance(member, PassageMember)
        [simhash] = [each.simhash for each in index.export() if each.id == member.id]
        rows = passage_rows([member.passages], np.array([simhash], np.uint64))
        wanted |= set(zip(rows.prefixes.tolist(), rows.simhashes.tolist(), strict=True))

    assert passage_pairs(index.store) == wanted
    assert len(wanted) > 50
    verified = index.verify()
    assert (verified.wrong, verified.orphan_rows, verified.rows) == (0, 0, index.stats(exact=True).rows)


def test_texts_that_share_a_sentence_share_a_segment(index):
    segments = [prefix for prefix, _ in passage_pairs(index.store)]
    assert len(segments) > len(set(segments))


def test_rows_of_a_removed_document_and_of_an_earlier_text_are_deleted(index, make_index):
    index.remove("a")
    index.add("b", text(3))
    make_index.clock.advance(ms=10)
    index.vacuum()

    kept = members(index)
    assert kept.keys() == {"b"}
    assert len(passage_pairs(index.store)) == len(kept["b"].passages) // 8
    assert index.verify().orphan_rows == 0


def test_lost_passage_rows_are_put_back(index, make_index):
    before = passage_pairs(index.store)
    lost = sorted(before)[:5]
    rows = BlockRows(*(np.array(column, np.uint64) for column in zip(*lost, strict=True)))
    index.store.delete_rows(rows, timestamp=make_index.clock())
    make_index.clock.advance(ms=10)

    assert index.verify().incomplete > 0
    assert index.verify(repair=True).wrong == 0
    assert passage_pairs(index.store) == before


def test_an_expired_document_loses_its_passages(make_index):
    index = make_index(passages=20, ttl_days=1, grace_s=0)
    index.add("old", text(1))
    make_index.clock.advance(days=2)
    index.add("new", text(2))
    make_index.clock.advance(ms=10)
    index.vacuum()
    assert len(passage_pairs(index.store)) == len(members(index)["new"].passages) // 8


def test_a_document_that_is_seen_again_keeps_its_passages(make_index):
    index = make_index(passages=20, ttl_days=1, grace_s=0)
    index.add("a", text(1))
    before = passage_pairs(index.store)
    for _ in range(3):
        make_index.clock.advance(days=0.6)
        index.claim("a", text(1))
        index.vacuum()
    assert passage_pairs(index.store) == before
    assert index.verify().wrong == 0


def test_a_duplicate_has_no_passages(index):
    before = passage_pairs(index.store)
    assert index.claim("copy", text(1) + SHARED).of == "a"
    assert passage_pairs(index.store) == before


def test_a_collection_has_other_segments(index):
    before = passage_pairs(index.store)
    index.in_collection("news").add("a", text(1) + SHARED)
    others = passage_pairs(index.store) - before
    assert {prefix for prefix, _ in others}.isdisjoint({prefix for prefix, _ in before})
    assert index.verify().wrong == 0


def test_an_index_without_passages_keeps_what_it_kept(make_index):
    with_passages, without = (make_index(bands=2, match="verified", **more) for more in ({"passages": 20}, {}))
    for index in (with_passages, without):
        index.add("a", text(1), metadata={"n": 1})
    others = set(all_pairs(with_passages.store)) - passage_pairs(with_passages.store)
    [cell] = [cell for cell in all_cells(without.store) if cell.row[4:5] == bytes([FLAG_MEMBERS])]

    assert set(all_pairs(without.store)) == others
    assert msgspec.msgpack.decode(cell.value)[7] == b""
    assert b"passage" not in without.profile.encode()


def test_texts_that_were_analysed_for_an_index_without_passages_are_refused(index, make_index):
    entries = make_index(bands=2, match="verified").analysis.texts(["c"], [text(3)]).entries
    with pytest.raises(InvalidArgument, match="the index keeps some: analyse them by it"):
        index.add_entries(entries)


def test_a_ready_fingerprint_has_no_passages(index):
    before = passage_pairs(index.store)
    index.add_entries(Entries.of_fingerprints(["ready"], np.array([5], np.uint64)))
    assert passage_pairs(index.store) == before


def test_a_load_writes_the_rows_that_adding_writes(index, make_index, tmp_path, monkeypatch):
    monkeypatch.setattr(Chunk, "is_full", property(lambda self: len(self.documents) >= 2))
    monkeypatch.setattr(spool_module, "PART_CHUNKS", 1)
    loaded = make_index(passages=20, bands=2, match="verified", grace_s=0)
    texts = {"a": text(1) + SHARED, "b": SHARED + text(2), "c": text(3), "d": text(3), "e": "短"}
    records = [Document(name, each, None, None, None, Place("x", 1), b"") for name, each in texts.items()]
    for name in "cde":
        index.add(name, texts[name])

    spool = Spool(tmp_path / "work", loaded.store.url, loaded.profile)
    begin(loaded, spool)
    assert sum(len(part.entries) for part in spool.fill(records, loaded.analysis)) == 5
    load(loaded, spool, StoreWriter(loaded.store))

    assert all_pairs(loaded.store) == all_pairs(index.store)
    assert members(loaded)["a"].passages == members(index)["a"].passages
    assert loaded.verify().wrong == 0
    spool.remove()
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("rows_a_pass", [1 << 20, 100])
def test_passage_rows_in_passes_are_the_rows_of_all_at_once(make_index, tmp_path, rows_a_pass):
    index = make_index(passages=20, bands=2, match="verified")
    entries = index.analysis.texts([str(n) for n in range(40)], [text(n % 37) for n in range(40)]).entries
    pieces = [entries.take(range(start, start + 10)) for start in range(0, 40, 10)]
    count = sum(map(len, entries.packed_passages)) // 8
    rows = [passage_rows(piece.packed_passages, piece.simhashes) for piece in pieces]
    corpus = Corpus.of(index.profile.blocks, entries.simhashes, entries.segments, entries.sketched)
    passes = list(
        sorted_rows(corpus, LoadedPassages(PassageSorter(tmp_path / "p", count), rows), rows_a_pass=rows_a_pass)
    )
    wanted = entry_rows(index.profile, entries)

    assert len(passes) == 1 if rows_a_pass > 100 else len(passes) > 10
    assert np.concatenate([each.prefixes for each in passes]).tolist() == wanted.prefixes.tolist()
    assert np.concatenate([each.simhashes for each in passes]).tolist() == wanted.simhashes.tolist()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"passages": 15}, "passages is 15"),
        ({"passages": 20, "passage_gram": 21}, "passage_gram is 21: wanted at most the 20"),
        ({"passage_gram": 12}, "go with each other"),
        ({"passages": 50, "analyzer": "weighted"}, "analyzer weighted takes none"),
    ],
)
def test_options_that_make_no_passages_are_refused(options, reason):
    with pytest.raises(InvalidProfile, match=reason):
        Profile.resolve(**options)


@pytest.mark.parametrize(("passages", "gram"), [(16, 12), (60, 12), (61, 16), (1000, 16)])
def test_the_runs_that_are_hashed_are_shorter_for_short_passages(passages, gram):
    assert Profile.resolve(passages=passages).passage_gram == gram
