"""The parts of a report: rows of a pair, selections, histograms, and what happens to an input that changes."""

import io
import json
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings, strategies as st
from support.corpus import write_jsonl
from support.reports import Report

from simhash_hbase.errors import InvalidInput
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.inputs import InputOptions
from simhash_hbase.profile import Profile
from simhash_hbase.report import differences, pairs
from simhash_hbase.report.differences import Gap, TextPiece, pair_rows, word_differences
from simhash_hbase.report.duplicates import duplicate_table
from simhash_hbase.report.pairs import DecidedCorpus, choose_pairs, distance_bars, list_clusters, similarity_bars
from simhash_hbase.report.write import ReportRun, write_report

RUN = ReportRun(index="file:some.index", time=datetime(2026, 11, 21, 9, 30, tzinfo=UTC))
BLANKS = st.text(alphabet=" \n\u3000", max_size=3)
TEXTS = st.lists(st.tuples(st.sampled_from(["雨", "停", "了", "a", "b", "。", ". ", "\n\n"]), BLANKS), max_size=80)


def sides(rows):
    """Return what rows show of both texts, and how many characters they leave out of each."""
    shown, left_out = ["", ""], [0, 0]
    for row in rows:
        if isinstance(row, Gap):
            left_out = [left_out[0] + row.left, left_out[1] + row.right]
            continue
        for segment in row:
            for at in (0, 1):
                shown[at] += segment if isinstance(segment, str) else segment[at]
    return shown, left_out


@pytest.mark.slow
@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_rows_of_short_texts_are_the_texts(a, b):
    left, right = ("".join(map("".join, some)) for some in (a, b))
    assert sides(pair_rows(word_differences(left, right))) == ([left, right], [0, 0])


@settings(deadline=None)
@given(TEXTS, BLANKS)
def test_rows_break_at_the_same_words_where_only_blanks_differ(a, blank):
    left, right = "".join(map("".join, a * 8)), "".join(word.strip() + blank for word, _ in a * 8)
    piece = TextPiece("same", left, right)
    rows = pair_rows([piece])

    assert sides(rows) == ([left, right], [0, 0])
    for row in rows:
        (here, there), _ = sides([row])
        assert here.split() == there.split() or "".join(here.split()) == "".join(there.split())


def test_rows_end_at_paragraphs_and_after_sentences():
    paragraph = "一" * 100 + "。\n\n"
    sentence = "He waited for a long time until the rain had stopped. "
    rows = pair_rows([TextPiece("same", text := paragraph + sentence * 20, text)])

    assert rows[0] == [paragraph]
    assert all(row[0].endswith(". ") and 240 <= len(row[0]) < 300 for row in rows[1:-1])


def test_a_long_equal_passage_is_shown_at_its_ends():
    words = "".join(f"Sentence number {number} says nothing new. " for number in range(500))
    pieces = [TextPiece("changed", "old ", "new "), TextPiece("same", words, words), TextPiece("left", "end", "")]
    rows = pair_rows(pieces)

    (left, right), left_out = sides(rows)
    [gap] = [row for row in rows if isinstance(row, Gap)]
    assert gap.equal
    assert left_out == [len(words) - len(left) + 7, len(words) - len(right) + 4]
    assert differences.KEPT_AROUND < len(right) < 2 * differences.KEPT_AROUND + 600
    assert left.startswith("old Sentence number 0 ")
    assert left.endswith("number 499 says nothing new. end")


def test_the_rest_of_a_long_change_is_counted():
    most = differences.CHANGE_CHARACTERS
    a, b = "甲" * (most + 500), "乙" * 10
    assert pair_rows([TextPiece("changed", a, b)]) == [[[a[:most], b]], Gap(500, 0, equal=False)]


def test_a_pair_that_is_long_all_the_same_is_cut_at_its_end():
    pieces = [TextPiece("changed", f"{number} " * 30, f"{number}! " * 30) for number in range(5000)]
    same = TextPiece("same", "and so on. " * 30, "and so on. " * 30)
    total = [sum(len(piece[side]) + len(same[side]) for piece in pieces) for side in (1, 2)]
    rows = pair_rows([part for piece in pieces for part in (piece, same)])

    shown, left_out = sides(rows)
    assert isinstance(rows[-1], Gap)
    assert sum(map(len, shown)) <= differences.SHOWN_CHARACTERS
    assert [len(here) + out for here, out in zip(shown, left_out, strict=True)] == total


def original(name):
    return {"id": name, "status": "original", "of": None, "distance": None, "similarity": None, "short": False}


def duplicate(name, of, distance=1, similarity=0.9):
    return {**original(name), "status": "duplicate", "of": of, "distance": distance, "similarity": similarity}


@contextmanager
def table(records):
    with duplicate_table([json.dumps(record).encode() for record in records]) as database:
        yield database


def many(count):
    """Make decisions whose clusters have one to nine duplicates, some of great distance."""
    return [
        duplicate(f"copy {number}", f"kept {number // (number % 9 + 1)}", number % 7, 1 - (number * 37 % 230) / 1000)
        for number in range(count)
    ]


def test_few_pairs_are_all_chosen_the_least_similar_first():
    with table([duplicate("b", "a", 2, 0.9), duplicate("c", "a", 2, None), duplicate("d", "a", 3, 0.8)]) as database:
        chosen = choose_pairs(database)
    assert (chosen.numbers, chosen.sentence) == ([3, 1, 2], "all of them")


def test_of_many_pairs_some_of_each_kind_are_kept():
    records = [*many(5000), *(duplicate(f"twin {number}", "twins", 0, 1.0) for number in range(1000))]
    with table(records) as database:
        chosen = choose_pairs(database)

    picked = [records[number - 1] for number in chosen.numbers]
    assert len(set(chosen.numbers)) == len(chosen.numbers) <= 600
    least = sorted(records, key=lambda record: record["similarity"])[99]["similarity"]
    assert all(record["similarity"] <= least for record in picked[:100])
    assert sum(record["of"] == "twins" for record in picked) >= 4
    for distance in range(7):
        some = sorted(record["similarity"] for record in picked if record["distance"] == distance)
        all_ = sorted(record["similarity"] for record in records if record["distance"] == distance)
        assert len(some) >= 30
        assert (some[0], some[-1]) == (all_[0], all_[-1])
    assert "100 least similar" in chosen.sentence


@pytest.mark.parametrize("room", [0, 5, 10**9])
def test_the_largest_clusters_and_those_of_shown_pairs_are_listed(monkeypatch, room):
    monkeypatch.setattr(pairs, "json_bytes", lambda _: 1)
    records, shown = many(800), {700: {}, 800: {}}
    with table(records) as database:
        clusters = list_clusters(database, shown, room=room)

    sizes = Counter(record["of"] for record in records)
    needed = {records[699]["of"], records[799]["of"]}
    # A counter keeps the order in which its keys came.
    ranked = [name for name, _ in sizes.most_common()]
    wanted = [name for place, name in enumerate(ranked) if place < room or name in needed]
    assert [(cluster["id"], cluster["size"]) for cluster in clusters] == [(name, sizes[name]) for name in wanted]
    assert [clusters[pair["cluster"]]["id"] for pair in shown.values()] == [records[at]["of"] for at in (699, 799)]


@pytest.mark.parametrize(("room", "others"), [(1, range(1, 101)), (0, [5])])
def test_of_a_large_cluster_the_first_members_and_those_of_shown_pairs_are_listed(room, others):
    with table([duplicate(f"copy {number}", "kept") for number in range(1, 501)]) as database:
        [cluster] = list_clusters(database, {5: {}, 444: {}}, room=room)

    assert cluster["size"] == 500
    assert [name for name, *_ in cluster["members"]] == [f"copy {number}" for number in (*others, 444)]
    assert [(name, place) for name, _, _, place in cluster["members"] if place is not None] == [
        ("copy 5", 0), ("copy 444", 1)
    ]  # fmt: skip


def test_bars_count_every_distance_and_similarity_once():
    similar = [0.77, 0.7799, 0.78, 0.8, 0.9999, 1.0, 1.0, None]
    with table([duplicate(str(at), "x", at % 4 * 2, value) for at, value in enumerate(similar)]) as database:
        distances, similarities = distance_bars(database), similarity_bars(database)

    assert [(bar.tick, bar.height) for bar in distances] == [
        ("0", 2), ("1", 0), ("2", 2), ("3", 0), ("4", 2), ("5", 0), ("6", 2)
    ]  # fmt: skip
    assert {bar.tick: bar.height for bar in similarities if bar.height} == {
        "0.76": 2, "0.78": 1, "0.80": 1, "0.98": 1, "1": 2
    }  # fmt: skip


@pytest.fixture
def write(tmp_path):
    """Return what writes the report of a corpus and its decisions."""

    def made(records, decisions, *, refused=0):
        source = write_jsonl(tmp_path / "corpus.jsonl", records)
        lines = [json.dumps(decision).encode() + b"\n" for decision in decisions]
        analysis = Analysis(Profile(analyzer="shingle", shingle=4))
        corpus = DecidedCorpus(
            lines=lambda: lines, sources=[str(source)], settings=InputOptions(), analysis=analysis, refused=refused
        )
        stream = io.BytesIO()
        write_report(stream, corpus, RUN)
        return Report(stream.getvalue().decode())

    return made


def documents(*names):
    return [{"id": name, "text": f"The text of {name}."} for name in names]


@pytest.mark.parametrize(
    ("records", "refused"),
    [(("a",), 0), (("a", "c"), 1), (("b", "a"), 1), (("a", "b", "new"), 0), (("a", "new", "b"), 0)],
)
def test_an_input_that_has_changed_since_is_told(write, records, refused):
    with pytest.raises(InvalidInput, match="changed"):
        write(documents(*records), [original("a"), duplicate("b", "a")], refused=refused)


def test_the_page_counts_what_it_has_no_room_for(write, monkeypatch):
    monkeypatch.setattr(pairs, "TEXT_BYTES", 40_000)
    monkeypatch.setattr(pairs, "LIST_BYTES", 10_000)
    count = pairs.ALL_PAIRS * 4
    # Markup takes six times its room.
    records = [{"id": f"<{number}>", "text": f"<p>{number}</p>" * 50} for number in range(count)]
    kept = [original(f"<{number}>") for number in range(0, count, 2)]
    copies = [duplicate(f"<{number}>", f"<{number - 1}>") for number in range(1, count, 2)]

    report = write(records, [decision for both in zip(kept, copies, strict=True) for decision in both])

    listed, shown = len(report.clusters), len(report.pairs)
    assert len(report.html.split('id="data">')[1].split("</script>")[0].encode()) < 60_000
    assert 0 < shown < 100
    assert f"In this page are {listed:,} of {count // 2:,}: the largest" in report.html
    assert f"In this page are {shown:,} of {count // 2:,}: the 100 least similar ones" in report.html
    assert "too long for this page" in report.html
    for pair in report.pairs:
        assert pair["id"] in [name for name, *_ in report.clusters[pair["cluster"]]["members"]]


@pytest.mark.slow
def test_texts_of_megabytes_are_compared_at_their_beginning(write):
    text = "".join(f"Sentence {number} is here. " for number in range(20_000))

    report = write(
        [{"id": "a", "text": text}, {"id": "b", "text": "New. " + text}], [original("a"), duplicate("b", "a")]
    )

    [pair] = report.pairs
    assert pair["note"] == "Compared are the first 200,000 characters of each."
    assert pair["lengths"] == [len(text), len(text) + 5]
    assert len(report.html) < 100_000


@pytest.mark.parametrize(
    ("a", "b", "note"),
    [("one two", "one two", "The texts are the same."), ("one two", "one\ntwo ", "Only blanks and line ends differ.")],
)
def test_texts_without_differences_are_said_to_have_none(write, a, b, note):
    [pair] = write([{"id": "a", "text": a}, {"id": "b", "text": b}], [original("a"), duplicate("b", "a")]).pairs
    assert (pair["note"], pair["changes"]) == (note, 0)


def test_the_page_says_when_it_was_made_of_what(write):
    page = write(documents("a", "b"), [original("a"), duplicate("b", "a")]).html

    assert "21 November 2026, 09:30 UTC" in page
    assert "against file:some.index" in page


def test_the_page_loads_nothing(write):
    page = write(documents("a", "b"), [original("a"), duplicate("b", "a")]).html
    # The only address is the pattern of ids that are shown as links.
    assert "http" not in page.replace("http-equiv", "").replace("^https?:", "")
    assert "default-src 'none'" in page
