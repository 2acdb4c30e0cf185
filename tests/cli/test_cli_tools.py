"""The commands that need no index: ``fingerprint``, ``explain``, ``plan``."""

import re

import pytest
from support.corpus import text

DRIVER = "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理，出任CEO，走上人生巅峰。"


def test_fingerprints_equal_those_of_yanyiwu_simhash(cli):
    words = ("fingerprint", "--analyzer", "jieba", "--top", 5, "--hash", "jenkins", "--text", DRIVER)

    made, explained = cli(*words).record, cli(*words, "--explain").record

    assert made == {"id": "text", "simhash": "f776119227163845"}
    assert explained["bits"] == f"{0xF776119227163845:064b}"
    assert [word for word, _ in explained["features"]] == ["CEO", "蓝翔", "升职", "加薪", "手扶拖拉机"]
    assert all(weight > 0 for _, weight in explained["features"])
    assert cli("fingerprint", "--hash", "md5", "--seed", 1, "--text", DRIVER).usage_error


def test_fingerprint_makes_those_of_an_index(cli, filled, corpus_file):
    stored = {record["id"]: record["simhash"] for record in cli("export", filled).records}

    first, *others = cli("fingerprint", "--profile-of", filled, "--text", text(0), corpus_file).records

    assert first == {"id": "text", "simhash": stored["group 0 copy 0"]}
    assert {record["id"]: record["simhash"] for record in others} == stored
    assert cli("fingerprint").usage_error
    assert cli("fingerprint", "--profile-of", filled, corpus_file, "--top", 3).usage_error


def planned(cli, *words):
    """Plan an index of block rows alone, unless the words say otherwise."""
    return {record["scheme"]: record for record in cli("plan", "--format", "json", "--bands", 0, *words).records}


def test_plan_computes_the_rows_of_the_write_ups(cli):
    billion = planned(cli, "--documents", "2^30")["4x1"]
    sixteen = planned(cli, "--documents", "2^34")

    assert (billion["rows_a_query"], billion["rows_a_query_exact"]) == (65_536, 65_536)
    assert (sixteen["4x1"]["tables"], sixteen["4x1"]["rows_a_scan"]) == (4, 262_144)
    wanted = {"tables": 10, "rows_a_scan": 256, "rows_a_query": 2_560, "rows_a_query_exact": 3_584, "rows": 10 * 2**34}
    assert wanted.items() <= sixteen["5x2"].items()


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("columns", [80, 200])
def test_plan_prints_its_figures_whole_whatever_the_width(cli, monkeypatch, columns, terminal):
    monkeypatch.setenv("COLUMNS", str(columns))
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("NO_COLOR", "1")

    sixteen, most = (cli("plan", "--bands", 0, "--documents", count).out.decode() for count in ("2^34", "2^64"))

    figures = ("4 x 262,144", "10 x 256", "= 2,560", "3,584 expected", "171,798,691,840")
    headings = ("all", "within", "rows stored", "unrelated rows", "a query reads", "file:", "index", "HBase", "table")
    assert [words for words in figures + headings if words not in sixteen] == []
    assert f"{10 * 2**64:,}" in most
    assert "…" not in sixteen + most
    if terminal:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", sixteen)
        assert max(map(len, plain.splitlines())) <= columns


def test_plan_adds_up_what_was_measured(cli):
    made = {codec: planned(cli, "--documents", "1e6", "--compression", codec)["5x2"] for codec in ("NONE", "SNAPPY")}

    # 24.4 bytes a block row and 377 a document; in HBase 16.2 and 305, with SNAPPY 13.9 and 186.
    assert made["NONE"]["embedded_bytes"] == made["SNAPPY"]["embedded_bytes"] == 621_000_000
    assert (made["NONE"]["hbase_bytes"], made["SNAPPY"]["hbase_bytes"]) == (467_000_000, 325_000_000)
    assert made["NONE"]["hbase_regions"] == 1
    # 43 µs a document into HBase, 14.4 into a folder, 1/550 s for its fingerprint and sketch.
    assert (made["NONE"]["load_hours"], made["NONE"]["embedded_load_hours"]) == (0.0119, 0.004)
    assert made["NONE"]["fingerprint_hours"] == 0.5051
    assert planned(cli, "--documents", "1e9")["5x2"]["hbase_regions"] == -(-467 * 10**9 // (10 * 2**30))
    said = "load times exclude fingerprinting, which takes about 50.5 core-hours"
    assert said in cli("plan", "--documents", "1e8").err


def test_plan_counts_a_folder_made_by_dedup_apart_from_a_loaded_one(cli):
    plain = cli("plan", "--format", "json", "--documents", "1e6", "--scheme", "5x2").record
    without = planned(cli, "--documents", "1e6")["5x2"]
    table = cli("plan", "--documents", "1e6", "--scheme", "5x2").out.decode()

    assert (plain["tables"], plain["bands"], plain["rows"]) == (10, 6, 16_000_000)
    # Six more rows, and 24 bytes more in the member cell.
    assert plain["embedded_bytes"] - without["embedded_bytes"] == round(1e6 * (6 * 24.4 + 24))
    assert plain["hbase_bytes"] - without["hbase_bytes"] == round(1e6 * (6 * 16.2 + 24))
    assert plain["rows_a_query_exact"] == without["rows_a_query_exact"]
    # 90.7 bytes a row and 510 a document, where `load` leaves 24.4 and 377.
    assert (without["embedded_dedup_bytes"], plain["embedded_dedup_bytes"]) == (1_417_000_000, 1_985_200_000)
    assert all(words in table for words in ("6 sketch scans", "by load:", "791 MB", "by dedup:", "2 GB"))


@pytest.mark.parametrize(
    ("documents", "in_a_folder", "in_hbase"),
    [("50", "in 1 s", "in 1 s"), ("3e5", "in 5 s", "in 15 s"), ("1e7", "in 3 min", "in 0.1 h")],
)
def test_plan_of_a_small_corpus_counts_seconds_and_minutes(cli, documents, in_a_folder, in_hbase):
    table = cli("plan", "--documents", documents, "--scheme", "5x2").out.decode()

    assert re.findall(r"in \S+ (?:s|min|h)\b", table) == [in_a_folder, in_hbase]


@pytest.mark.parametrize("number", ["1000000", "1,000,000", "1_000_000", "1e6", "10^6"])
def test_plan_reads_numbers_as_people_write_them(cli, number):
    assert planned(cli, "--documents", number, "--scheme", "5x2")["5x2"]["rows"] == 10**7
