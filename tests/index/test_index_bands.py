"""Sketch rows: what they bring is judged like all else in every store, and every writer and cleaner knows them."""

import random
from itertools import product
from unittest.mock import Mock

import pytest
from support.bruteforce import BASE, Written, answered, crowd, dedup, entries, flip, matches, written_entries

from simhash_hbase import InvalidArgument, LocalIndex
from simhash_hbase.bulk.load import StoreWriter, begin, load
from simhash_hbase.bulk.spool import PartNote, Spool, SpoolPart, write_part
from simhash_hbase.profile.matching import MatchRule
from simhash_hbase.rows.documentcells import decode_member
from simhash_hbase.rows.keys import FLAGS
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FLAG_MEMBERS
from simhash_hbase.testing.rows import all_cells, all_pairs, pairs_of, rows_of as as_rows

BANDS = 6
BANDED = {"match": "verified", "bands": BANDS}
TABLES = 10
# Ten bits, two in each block: no block row joins it with BASE.
FAR = flip(BASE, [0, 1, 13, 14, 26, 27, 39, 40, 52, 53])
SKETCH = random.Random(7).getrandbits(512)
SEGMENTS = (1, 2, 3, 4, 5, 6)
OTHERS = (11, 12, 13, 14, 15, 16)
ONE_SHARED = (11, 12, 3, 14, 15, 16)


def of(**documents):
    return written_entries(documents, BANDS)


def rows_of(index):
    return set(all_pairs(index.store))


def expected_rows(documents):
    return {
        (segment << 8 | TABLES + 1 + group, one.simhash)
        for one in documents.values()
        if one.sketch is not None
        for group, segment in enumerate(one.segments)
    }


def test_rule_distance_reads_no_sketch_row(make_memory_index, monkeypatch):
    index = make_memory_index(**BANDED)
    index.add_entries(of(far=Written(FAR, SKETCH, SEGMENTS), near=Written(BASE ^ 1, SKETCH, OTHERS)))
    asked = of(asked=Written(BASE, SKETCH, SEGMENTS))
    scan = Mock(wraps=index.store.scan)
    monkeypatch.setattr(index.store, "scan", scan)

    [by_distance] = index.query_entries(asked, rule=index.rule(match="distance"))
    [verified] = index.query_entries(asked)

    assert (answered(by_distance), by_distance.complete) == ([("near", 1)], True)
    assert answered(verified) == [("near", 1), ("far", 10)]
    assert [len(call.args[0]) for call in scan.mock_calls] == [TABLES, TABLES + BANDS]


def test_a_wide_query_takes_sketch_rows_as_far_as_block_rows(make_memory_index):
    index = make_memory_index(**BANDED)
    assert index.rule(distance=20, similarity=0.8) == MatchRule(
        match="verified", distance=20, similarity=0.8, radius=20, band_distance=(20, 22, 64), free_distance=10
    )
    assert index.rule(distance=30).band_distance == (30, 30, 64)
    assert index.rule(similarity=0.8).band_distance == (16, 22, 64)
    assert make_memory_index(match="verified").rule(similarity=0.8).band_distance is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_answers_equal_brute_force(make_claiming_index, seed):
    index, documents = make_claiming_index(**BANDED), crowd(150, seed=seed)
    asked = {f"new {name}": one for name, one in crowd(40, seed=seed + 100).items()}
    asked |= {f"again {name}": one for name, one in list(documents.items())[:20]}
    index.add_entries(written_entries(documents, BANDS))

    for rule in (index.profile.rule, index.rule(match="distance"), index.rule(distance=5, similarity=0.7)):
        answers = index.query_entries(written_entries(asked, BANDS), rule=rule)
        singly = [index.query_entries(written_entries({name: one}, BANDS), rule=rule)[0] for name, one in
                  list(asked.items())[:15]]  # fmt: skip

        for one, answer in zip([*asked.values(), *list(asked.values())[:15]], [*answers, *singly], strict=True):
            found = {name for name, other in documents.items() if matches(one, other, rule)}
            assert {match.id for match in answer.matches} == found
    # The test would be blind without what sketch rows alone bring.
    pairs, verified = [*product(asked.values(), documents.values())], index.profile.rule
    assert sum(matches(*pair, verified) and not matches(*pair, MatchRule()) for pair in pairs) > 10


def test_a_stored_document_is_asked_with_its_bands(make_claiming_index):
    index = make_claiming_index(**BANDED)
    index.add_entries(of(one=Written(FAR, SKETCH, SEGMENTS), other=Written(BASE, SKETCH, ONE_SHARED)))
    assert answered(index.query_id("one")) == [("other", 10)]
    assert index.entries_of("one").segments.tolist() == [list(SEGMENTS)]


@pytest.mark.parametrize("members", [1, 99, 100, 101, 350])
def test_rows_of_crowded_fingerprints_are_kept_whoever_has_them(make_memory_index, clock, members):
    index = make_memory_index(grace_s=0, **BANDED)
    documents = {f"d{n}": Written(BASE, SKETCH, (n, n + 1, 7, n % 3, 2**32 - 1 - n, 0)) for n in range(members)}
    index.add_entries(written_entries(documents, BANDS))
    clock.advance(ms=10)
    assert index.vacuum().rows == 0
    assert {row for row in rows_of(index) if row[0] & int(FLAGS) > TABLES} == expected_rows(documents)
    assert index.verify().orphan_rows == 0


@pytest.mark.parametrize("flag", range(1, TABLES + BANDS + 1))
def test_verify_repairs_every_missing_row(make_memory_index, flag):
    index = make_memory_index(**BANDED)
    index.add_entries(of(a=Written(BASE, SKETCH, SEGMENTS), b=Written(FAR, SKETCH, OTHERS)))
    before = rows_of(index)
    gone = [pair for pair in before if pair[0] & int(FLAGS) == flag and pair[1] == BASE]
    index.store.delete_rows(as_rows(*gone), timestamp=2**60)

    found = [index.verify(repair=repair) for repair in (False, True, False)]

    assert [(one.incomplete, one.repaired, one.wrong) for one in found] == [(1, 0, 1), (1, 1, 0), (0, 0, 0)]
    assert rows_of(index) == before


def test_rows_of_flags_that_the_index_does_not_have_are_malformed(make_memory_index):
    index = make_memory_index(**BANDED)
    index.add_entries(of(a=Written(BASE, SKETCH, SEGMENTS)))
    before = rows_of(index)
    index.store.put_rows(as_rows((5 << 8 | TABLES + BANDS + 1, BASE)), timestamp=1)
    assert index.verify().malformed_rows == 1
    assert index.verify(repair=True).wrong == 0
    assert rows_of(index) == before


def test_documents_without_the_bands_of_the_index_are_refused(make_memory_index):
    index = make_memory_index(**BANDED)
    without = entries({"a": BASE}, sketches=[SKETCH])
    fewer = written_entries({"a": Written(BASE, SKETCH, (1, 2))}, 2)

    for wrong in (without, fewer):
        for operation in (index.add_entries, index.query_entries, index.claim_entries):
            with pytest.raises(InvalidArgument, match="bands"):
                operation(wrong)
    with pytest.raises(InvalidArgument, match="bands"):
        make_memory_index(match="verified").add_entries(of(a=Written(BASE, SKETCH, SEGMENTS)))
    assert rows_of(index) == set()


def test_a_crowded_segment_is_said_to_be_cut(make_memory_index):
    index = make_memory_index(max_rows_per_prefix=5, **BANDED)
    chosen = random.Random(3)
    index.add_entries(
        written_entries({f"d{n}": Written(chosen.getrandbits(64), SKETCH, (9, n, n, n, n, n)) for n in range(6)}, BANDS)
    )
    asked = Written(chosen.getrandbits(64), SKETCH, (9, 99, 99, 99, 99, 99))

    [cut] = index.query_entries(of(asked=asked))
    [other] = index.query_entries(of(asked=asked._replace(segments=(8, 99, 99, 99, 99, 99))))
    stats = index.stats(exact=True)

    assert (cut.truncated, other.truncated) == (True, False)
    assert stats.truncated_prefixes == 1
    assert (stats.hottest[0].table, stats.hottest[0].segment, stats.hottest[0].rows) == (TABLES + 1, "00000009", 6)


@pytest.mark.parametrize("decide", [LocalIndex.claim_entries, dedup])
def test_decisions_read_a_crowded_segment_to_its_end(make_claiming_index, decide):
    index = make_claiming_index(max_rows_per_prefix=5, **BANDED)
    last = (1 << 64) - 1
    documents = {f"d{n}": Written(n, ~SKETCH & (1 << 512) - 1, (9, n, n, n, n, n)) for n in range(12)}
    # Behind all others in the segment, and joined with what is asked by this row alone.
    documents["original"] = Written(last ^ BASE ^ FAR, SKETCH, (9, 99, 99, 99, 99, 99))
    index.add_entries(written_entries(documents, BANDS))
    asked = of(asked=Written(last, SKETCH, (9, 88, 88, 88, 88, 88)))

    [cut] = index.query_entries(asked)
    [decision] = decide(index, asked)

    assert (cut.truncated, cut.matches) == (True, [])
    assert (decision.of, decision.distance) == ("original", 10)


def test_a_refresh_writes_sketch_rows_again(make_memory_index, clock, monkeypatch):
    index = make_memory_index(ttl_days=10, **BANDED)
    index.add_entries(of(a=Written(BASE, SKETCH, SEGMENTS)))
    rows = rows_of(index)
    clock.advance(days=2)
    put_rows = Mock(wraps=index.store.put_rows)
    monkeypatch.setattr(index.store, "put_rows", put_rows)

    [decision] = index.claim_entries(of(b=Written(FAR, SKETCH, ONE_SHARED)))

    assert decision.of == "a"
    assert {pair for call in put_rows.mock_calls for pair in pairs_of(call.args[0])} == rows


def test_load_writes_the_rows_that_add_does(make_memory_index, tmp_path):
    documents = crowd(300, seed=9)
    added, loaded = make_memory_index(**BANDED), make_memory_index(**BANDED)
    added.add_entries(written_entries(documents, BANDS))
    spool = Spool(tmp_path, loaded.store.url, loaded.profile)
    checksum = write_part(tmp_path / "part-000000", SpoolPart(written_entries(documents, BANDS), []))
    note = PartNote(file="part-000000", checksum=checksum, records=300, input="", documents=300)
    spool.manifest.parts.append(note)

    begin(loaded, spool)
    load(loaded, spool, StoreWriter(loaded.store))

    assert rows_of(loaded) == rows_of(added)
    assert members_of(loaded) == members_of(added)
    assert loaded.verify().wrong == 0


def members_of(index):
    """Return ids, and the sketches with their segments, of all members."""
    cells = all_cells(index.store, FAMILY_DOCUMENTS)
    members = [decode_member(cell.value, bands=BANDS) for cell in cells if cell.row[4] == FLAG_MEMBERS]
    return {member.id: member.sketch for member in members}
