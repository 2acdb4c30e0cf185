"""Tables judged by their texts, and kept in an order: rows with nulls, with repeated ids, without scores."""

from functools import cache

import pyarrow as pa
import pytest
from tables.test_tables import KINDS, dedup

from simhash_hbase import InvalidArgument, create_index
from simhash_hbase.kernel.texts import normalize
from simhash_hbase.profile.matching import rounded
from simhash_hbase.tables import RefusedRows, drop_near_duplicates, mark_near_duplicates

BEGINNING = "snow on the line delays all trains from the north until noon on monday"
TEXTS = {
    "short": f"{BEGINNING}.",
    "none": None,
    "long": f"{BEGINNING}; tickets stay valid on all other days of this week.",
    "same": f"{BEGINNING.upper()}!",
    "blank": " … ",
    "near": f"{BEGINNING.replace('noon', 'ten')}.",
    "other": "nobody went out to look at the river, which rose above the bridge.",
}
ROWS = [
    {"id": name, "text": words, "score": -at, "source": f"s{at % 3}"} for at, (name, words) in enumerate(TEXTS.items())
]
ROWS.append({**ROWS[2], "id": "short"})
SHINGLES = {"analyzer": "shingle", "similarity": 0.5}
every_kind = pytest.mark.parametrize("kind", ["list", "pyarrow", "reader", "polars", "pandas"])


def grams(name):
    normal = normalize(TEXTS[name])
    return {normal[at : at + 5] for at in range(len(normal) - 4)}


@pytest.fixture(scope="module")
def commanded(tmp_path_factory):
    """Return what has the command decide the rows by some options, once for all kinds of tables."""
    shingles = ("--create", "--analyzer", "shingle", "--similarity", "0.5")
    return cache(lambda *words: dedup(tmp_path_factory.mktemp("commanded"), ROWS, *shingles, *words))


@pytest.mark.slow
@every_kind
@pytest.mark.parametrize("options", [{}, {"exact": True}, {"contained": 0.9}, {"exact": True, "keep": "best:-score"}])
def test_rows_get_the_decisions_of_the_command_whatever_is_refused_among_them(commanded, kind, options):
    make, _, read = KINDS[kind]
    words = [word for name, value in options.items() for word in (f"--{name}", value) if word is not True]
    wanted = commanded(*map(str, words))

    with pytest.warns(RefusedRows, match="^3 rows have no decision; row 1: .*null$"):
        marked = read(mark_near_duplicates(make(ROWS), id="id", **options, **SHINGLES))
    with pytest.warns(RefusedRows, match="3 rows have no decision"):
        dropped = read(drop_near_duplicates(make(ROWS), id="id", unreadable="drop", **options, **SHINGLES))

    clusters = [(wanted[name]["of"] or name) if name in wanted else None for name in TEXTS]
    assert [row["cluster"] for row in marked] == [*clusters, None]
    assert [row["id"] for row in dropped] == [name for name, line in wanted.items() if line["status"] == "original"]
    for row in marked:
        if row["duplicate_of"] and options:
            own, other = grams(row["id"]), grams(row["duplicate_of"])
            assert row["similarity"] == rounded(len(own & other) / len(own | other))
            assert row["similarity"] >= 0.5
            assert len(own & other) / len(own) >= options.get("contained", 0)
    assert {row["duplicate_of"] for row in marked} != {None}


@every_kind
@pytest.mark.parametrize(
    "options", [{}, {"exact": True}, {"contained": 0.5}, {"keep": "best:score"}, {"keep": "rank:source=a"}]
)
def test_a_table_without_rows_stays_one(kind, options):
    make, _, read = KINDS[kind]
    nothing = pa.Table.from_pylist(ROWS[:1])[:0].to_reader() if kind == "reader" else make(ROWS[:1])[:0]
    if kind == "list" and "keep" in options:
        with pytest.raises(InvalidArgument, match="no column"):
            drop_near_duplicates(nothing, **options, **SHINGLES)
        return

    result = drop_near_duplicates(nothing, **options, **SHINGLES)

    assert isinstance(result, type(nothing))
    assert read(result) == []


@every_kind
@pytest.mark.parametrize("exact", [False, True])
def test_rows_without_a_score_are_refused(kind, exact):
    make, _, read = KINDS[kind]
    scores = {"short": 1, "long": None, "same": 3, "near": 2, "other": None}
    rows = [{"id": name, "text": TEXTS[name], "score": score} for name, score in scores.items()]
    options = {"id": "id", "keep": "best:score", "exact": exact, **SHINGLES}

    with pytest.raises(InvalidArgument, match="row 1: the field 'score' is not a number"):
        read(drop_near_duplicates(make(rows), **options))
    with pytest.warns(RefusedRows, match="2 rows have no decision; row 1: the field 'score' is not a number"):
        dropped = read(drop_near_duplicates(make(rows), unreadable="drop", **options))
    with pytest.warns(RefusedRows):
        marked = read(mark_near_duplicates(make(rows), **options))

    assert [row["id"] for row in dropped] == ["same"]
    assert [row["cluster"] for row in marked] == ["same", None, "same", "same", None]


@every_kind
def test_sources_that_are_not_listed_come_last(kind):
    make, _, read = KINDS[kind]
    sources = {"short": "blog", "same": "wire", "near": "paper", "long": None}
    rows = [{"id": name, "text": TEXTS[name], "source": source} for name, source in sources.items()]
    options = {"id": "id", "unreadable": "drop", **SHINGLES}

    for ranks, kept in (("wire,paper", "same"), ("paper", "near"), ("radio", "short")):
        with pytest.warns(RefusedRows, match="row 3: the field 'source' names no source"):
            dropped = read(drop_near_duplicates(make(rows), keep=f"rank:source={ranks}", **options))
        assert [row["id"] for row in dropped] == [kept]


def test_sources_may_be_integers():
    rows = [{"text": TEXTS[name], "source": source} for name, source in (("short", 1), ("same", 2), ("near", 3))]

    for kind in ("list", "pyarrow", "polars", "pandas"):
        make, _, read = KINDS[kind]
        [kept] = read(drop_near_duplicates(make(rows), keep="rank:source=2,1", **SHINGLES))
        assert kept["source"] == 2


def test_what_an_index_holds_is_judged_by_the_sketches():
    rows = [{"id": f"again {name}", "text": TEXTS[name], "score": 9} for name in ("short", "other")]
    with create_index("memory:", **SHINGLES) as index:
        index.add("held", TEXTS["short"])
        marked = mark_near_duplicates(rows, id="id", index=index, contained=0.9, keep="best:score")

    assert [row["duplicate_of"] for row in marked] == ["held", None]
