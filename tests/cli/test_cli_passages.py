"""``find`` and ``passages``: clues that documents hold, and parts of texts that stand in other documents."""

import json
import re
import runpy
from pathlib import Path

import pytest
from support.corpus import write_jsonl
from support.fresh_clone import ROOT, blocks, split

from simhash_hbase.api import open_index
from simhash_hbase.corpus import Documents, Reading, RunListener

ARTICLES = runpy.run_path(str(ROOT / "examples" / "articles.py"))
METRO, HEAT = ARTICLES["METRO"], ARTICLES["HEAT"]
QUOTE = METRO[METRO.index("交通局负责人") : METRO.index("工程费用")]
QUOTING = f"记者注意到，市政府的会议纪要里还有一段话值得再读：{QUOTE}读者怎么看？"
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """Return a folder of texts, of which one quotes another, in a folder of the test's own."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, text in {"metro": METRO, "heat": HEAT, "quoting": QUOTING}.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def index(cli, url, tmp_path):
    """Return the address of an index with passages of two articles, of two sites."""
    assert cli("create", url, "--analyzer", "shingle", "--passages", 30).code == 0
    records = [{"id": "metro", "text": METRO, "site": "x"}, {"id": "heat", "text": HEAT, "site": "y"}]
    assert cli("add", url, write_jsonl(tmp_path / "a.jsonl", records), "--metadata-field", "site").code == 0
    return url


@pytest.fixture
def quoting(tmp_path):
    records = [
        {"id": "quoting", "text": QUOTING, "site": "y"},
        {"id": "other", "text": "今天的天气很好，我们去公园走走吧。"},
    ]
    return write_jsonl(tmp_path / "quoting.jsonl", records)


def run(cli, command):
    """Carry out a command line of a page in this process; leave out times."""
    words = command.split(" > ")[0].replace("'", "").split()[1:]
    done = cli(*words)
    assert done.code == 0, done.err
    return TIME.sub("#", done.out.decode()).splitlines()


def test_three_commands_lead_from_a_folder_to_a_clue_as_the_page_shows(cli, texts):
    Path("drafts").mkdir()
    (texts / "quoting.txt").rename("drafts/quoting.txt")
    for command, shown in split(blocks()["clue"]).items():
        printed = run(cli, command)
        assert not shown or printed == [TIME.sub("#", line) for line in shown]
    for command, shown in split(blocks()["boilerplate"]).items():
        assert run(cli, command) == shown
    [kept] = map(json.loads, Path("without.jsonl").read_text(encoding="utf-8").splitlines())
    assert kept["text"].startswith(QUOTING[:20])
    assert len(kept["text"]) == len(QUOTING) - (58 - 37)


def test_clues_come_from_files_too_and_are_counted(cli, index, quoting):
    asked = cli("find", index, quoting, "--limit", 1)
    assert [(record["query"], [m["id"] for m in record["matches"]]) for record in asked.records] == [
        ("quoting", ["metro"]),
        ("other", []),
    ]
    assert asked.err.startswith("find: 2 documents, 1 with matches")


def test_a_clue_that_is_too_short_is_refused_and_an_index_without_passages_says_so(cli, index, empty, tmp_path):
    assert "12 at least are found in this index" in cli("find", index, "--text", "交通局负责人").usage_error
    assert "the index keeps no passages" in cli("find", empty, "--text", QUOTE).usage_error
    clues = write_jsonl(tmp_path / "clues.jsonl", [{"id": "a", "text": "交通局负责人"}, {"id": "b", "text": QUOTE}])
    asked = cli("find", index, clues)
    assert (asked.code, [record["query"] for record in asked.records]) == (3, ["b"])
    assert "clues.jsonl:1" in asked.err
    assert "nothing to look for" in cli("find", index).usage_error


def test_a_table_shows_what_was_found(cli, index, quoting):
    drawn = cli("find", index, "--text", QUOTE, "--format", "table").out.decode()
    assert "metro" in drawn
    drawn = cli("passages", index, quoting, "--format", "table").out.decode()
    assert "none" in drawn
    assert "metro" in drawn


def test_passages_are_filtered_by_number_and_by_site(cli, index, quoting):
    def ids(*options):
        records = cli("passages", index, quoting, "--metadata-field", "site", *options).records
        return [record["id"] for record in records if record["passages"]]

    assert ids() == ["quoting"]
    assert ids("--at-least", 2) == []
    refused = cli("passages", index, quoting, "--metadata-field", "site", "--same", "site")
    assert (refused.code, [record["passages"] for record in refused.records]) == (3, [[]])
    assert "has no metadata 'site'" in refused.err


def test_texts_are_written_without_passages_and_with_them_marked(cli, index, tmp_path):
    text = f"{QUOTE}中间是另一段没有人写过的话，讲的是别的事情。{HEAT}"
    asked = write_jsonl(tmp_path / "asked.jsonl", [{"id": "a", "text": text}])
    words = ("passages", index, asked, "--cut", tmp_path / "cut.jsonl", "--mark", tmp_path / "mark.jsonl")
    [record] = cli(*words).records
    [cut], [marked] = (
        [json.loads(line)["text"] for line in (tmp_path / f"{name}.jsonl").read_text("utf-8").splitlines()]
        for name in ("cut", "mark")
    )

    assert marked.replace("⟦", "").replace("⟧", "") == text
    assert re.sub("⟦[^⟧]*⟧", "", marked) == cut
    assert marked.count("⟦") == len(record["passages"]) == 2
    [longest] = cli("passages", index, asked, "--longest").record["passages"]
    assert longest["first"] == "heat"
    assert "--cut and --mark both name" in cli(*words[:3], "--cut", "x", "--mark", "./x").usage_error
    assert "--cut" in cli(*words[:3], "--cut", asked).usage_error
    assert json.loads(asked.read_text("utf-8"))["text"] == text
    assert "1,000 documents of a passage are read" in cli(*words[:3], "--at-least", 1001).usage_error


def test_texts_of_large_inputs_are_there_with_several_processes(index, tmp_path):
    lines = [{"id": str(number), "text": f"第{number}篇。{QUOTE}"} for number in range(12)]
    asked = str(write_jsonl(tmp_path / "asked.jsonl", lines))
    with (
        open_index(index) as opened,
        Documents("find", [asked], Reading(workers=2, part_bytes=300), RunListener()) as documents,
    ):
        found = [
            (document.id, bool(answer.matches))
            for answers in documents.acted(opened, opened.found, with_texts=True)
            for document, answer in answers
        ]

    assert found == [(line["id"], True) for line in lines]
