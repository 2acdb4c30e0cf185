"""``copies`` and ``query --since``: what was decided a duplicate, and what is new."""

import pytest
from support.corpus import write_jsonl

TEXT = "今天上午，市政府召开会议，讨论城市东部的新地铁线路规划，会议决定，工程将在明年三月开始。"


@pytest.fixture
def decided(cli, empty, tmp_path):
    """Return the address of an index with an original, two copies of it and another document."""
    first = [
        {"id": "wire", "text": TEXT * 3},
        {"id": "other", "text": "一二三四五六七八九十，天地玄黄，宇宙洪荒。" * 4},
    ]
    copies = [{"id": f"paper {n}", "text": TEXT * 3 + "吧" * n, "source": f"feed {n}"} for n in range(2)]
    assert cli("claim", empty, write_jsonl(tmp_path / "first.jsonl", first)).code == 0
    claimed = cli("claim", empty, write_jsonl(tmp_path / "copies.jsonl", copies), "--metadata-field", "source")
    assert [record["of"] for record in claimed.records] == ["wire", "wire"]
    return empty


def test_copies_prints_one_line_for_each_id(cli, decided):
    asked = cli("copies", decided, "wire", "paper 1", "other")

    assert asked.code == 0
    wire, paper, other = asked.records
    assert list(wire) == ["id", "of", "of_removed", "count", "first", "last", "truncated", "copies"]
    assert (wire["id"], wire["of"], wire["count"], wire["truncated"]) == ("wire", "wire", 2, False)
    assert [(copy["id"], copy["metadata"]) for copy in wire["copies"]] == [
        ("paper 0", {"source": "feed 0"}),
        ("paper 1", {"source": "feed 1"}),
    ]
    assert (wire["copies"][0]["distance"], wire["copies"][0]["similarity"]) == (0, 1.0)
    assert (wire["first"], wire["last"]) == (wire["copies"][0]["added"], wire["copies"][-1]["seen"])
    assert {**paper, "id": "wire"} == wire
    assert (other["of"], other["count"], other["first"], other["copies"]) == ("other", 0, None, [])


def test_copies_names_the_original_first_in_a_table(cli, decided):
    lines = cli("copies", decided, "paper 1", "--format", "table").out.decode().splitlines()

    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if line.startswith("│")]
    assert [row[:2] for row in rows] == [["wire", "2 copies"], ["wire", "paper 0"], ["wire", "paper 1"]]
    assert "source feed 1" in rows[2]


def test_copies_says_which_ids_are_missing(cli, decided):
    asked = cli("copies", decided, "nobody", "wire")

    assert (asked.code, [record["id"] for record in asked.records]) == (1, ["wire"])
    assert asked.err == "simhash-hbase: nobody: not in the index\n"


def test_dedup_lists_copies_too(cli, empty, tmp_path):
    corpus = [{"id": str(n), "text": TEXT * 3, "source": n} for n in range(3)]

    cli("dedup", empty, write_jsonl(tmp_path / "corpus.jsonl", corpus), "--metadata-field", "source")

    assert [copy["metadata"] for copy in cli("copies", empty, "0").record["copies"]] == [{"source": 1}, {"source": 2}]


@pytest.mark.parametrize(("since", "count"), [("1d", 1), ("2h", 1), ("2001-02-03", 1), ("2999-01-01T00:00Z", 0)])
def test_query_since_answers_what_was_seen_since(cli, decided, tmp_path, since, count):
    file = write_jsonl(tmp_path / "asked.jsonl", [{"id": "asked", "text": TEXT * 3}])
    words = ("--text", TEXT * 3, "--id", "paper 1", "--since", since)

    asked = cli("query", decided, file, *words)

    assert [[match["id"] for match in record["matches"]] for record in asked.records] == [["wire"][:count]] * 3
