"""``find`` and ``passages``: clues that documents hold, and parts of texts that stand in other documents."""

import io
import json
import re
import runpy
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import pytest
from support.corpus import write_jsonl
from support.fresh_clone import ROOT, blocks, split
from support.reports import read_report
from support.serving import serving

from simhash_hbase.index.answers import Passage, PassagesAnswer
from simhash_hbase.report import passages as passages_page
from simhash_hbase.report.write import ReportRun

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


def test_clues_come_from_files_too(cli, index, quoting):
    asked = cli("find", index, quoting, "--limit", 1)
    assert [(record["query"], [m["id"] for m in record["matches"]]) for record in asked.records] == [
        ("quoting", ["metro"]),
        ("other", []),
    ]
    assert asked.err.startswith("find: 2 documents, 1 with matches")


def test_a_clue_that_is_too_short_is_refused(cli, index, tmp_path):
    refusal = cli("find", index, "--text", "交通局负责人").usage_error
    assert "12 at least are found in this index; one of --passage-gram 8 finds shorter clues" in refusal
    clues = write_jsonl(tmp_path / "clues.jsonl", [{"id": "a", "text": "交通局负责人"}, {"id": "b", "text": QUOTE}])
    asked = cli("find", index, clues)
    assert (asked.code, [record["query"] for record in asked.records]) == (3, ["b"])
    assert "clues.jsonl:1" in asked.err


@pytest.mark.parametrize("clue", ["!!!", " ", ""])
def test_a_clue_without_letters_is_refused_as_a_clue(cli, index, tmp_path, clue):
    reason = "no letters, numbers or marks, so there is nothing to look for"
    assert reason in cli("find", index, "--text", clue).failure
    clues = write_jsonl(tmp_path / "clues.jsonl", [{"id": "a", "text": "!!!"}, {"id": "b", "text": QUOTE}])
    for command in ("find", "passages"):
        asked = cli(command, index, clues)
        assert (asked.code, len(asked.records)) == (3, 1)
        assert f"the text of 'a' has {reason}" in asked.err


def test_find_in_an_index_without_passages_is_refused(cli, empty):
    assert "the index keeps no passages" in cli("find", empty, "--text", QUOTE).usage_error


def test_find_without_a_clue_is_wrong_usage(cli, index):
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


def test_texts_are_written_with_their_passages_cut_or_marked(cli, index, tmp_path):
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


def test_a_report_shows_texts_with_their_passages_coloured(cli, index, tmp_path):
    hostile = "<script>alert(1)</script>\"'&"
    more = [{"id": f"copy{number}", "text": f"第{number}份。{HEAT}"} for number in range(2)]
    assert cli("add", index, write_jsonl(tmp_path / "more.jsonl", more)).code == 0
    text = f"{hostile}{QUOTE}中间是另一段没有人写过的话，讲的是别的事情。{hostile}{HEAT}"
    asked = write_jsonl(
        tmp_path / "asked.jsonl", [{"id": hostile, "text": text}, {"id": "b", "text": "别的话，没有重复。"}]
    )
    page = tmp_path / "report.html"
    [record, _] = cli("passages", index, asked, "--report", page).records

    report = read_report(page)
    marked = re.findall(r'<mark class="held-(\d)" data-held="(\d+)">(.*?)</mark>', report.html)
    spans = [text[passage["start"] : passage["stop"]] for passage in record["passages"]]
    assert [(level, count, unescape(shown)) for level, count, shown in marked] == [
        ("0", "1", spans[0]),
        ("1", "3", spans[1]),
    ]
    [shown] = re.findall(r'<bdi class="passaged">(.*?)</bdi>', report.html, re.DOTALL)
    assert unescape(re.sub(r"</?mark[^>]*>", "", shown)) == text
    assert "alert(1)</script>" not in report.html
    assert (report.count("texts"), report.count("with-passages"), report.count("passages")) == (2, 1, 2)
    assert report.histogram("held") == {"1": 1, "2–9": 1, "10–99": 0, "100–999": 0, "1,000 or more": 0}
    assert (
        "--report cannot be combined with --against"
        in cli("passages", index, asked, "--against", "x", "--report", page).usage_error
    )


def test_a_bounded_report_says_what_it_leaves_out(monkeypatch):
    for name, number in {"MOST_TEXTS": 3, "TEXT_CHARACTERS": 900, "PAGE_BYTES": 8_000}.items():
        monkeypatch.setattr(passages_page, name, number)
    report = passages_page.PassagesReport()
    for number in range(5):
        span = Passage(1_000, 1_020 + number, 12, at_least=True, first="f", most="m")
        long = Passage(2_000, 9_000, 1, at_least=False, first="f", most="m")
        chosen = [span, long] if number == 1 else [span]
        report.add(f"text{number}", "字" * 10_000, PassagesAnswer(f"text{number}", chosen, 0.1, truncated=False))
    page = io.BytesIO()
    run = ReportRun(index="file:a", time=datetime(2026, 11, 29, tzinfo=UTC))
    report.write(page, names="a.jsonl", run=run, refused=2)

    html = page.getvalue().decode()
    assert re.findall(r'<bdi class="id">(text\d)', html) == ["text1", "text4"]
    assert "In this page are 2 of 5" in html
    # At its ends each stretch is shown, of the long passage the rest of the room.
    assert re.findall(r'<p class="gap">([\d,]+) characters', html)[:3] == ["600", "579", "7,921"]
    assert 'data-held="12+"' in html
    assert "2 more were refused" in html


ITEM = "某实验小学四年级三班共有学生四十六人，其中会游泳的有三十二人，会下棋的有二十七人，两样都会的至少有几人？"
PHRASED = "某实验小学四年级三班共有学生四十六人，老师把一百八十本练习簿平均分给他们，还剩下多少本练习簿没有分完？"
ESSAY = "这里先讲一段与题目无关的话，说的是城里去年冬天下过的那场雪。{}后面又是一段别的话，讲的是河边新修的步道。"


@pytest.fixture
def items(cli, url, tmp_path):
    """Return the address of an index with two suites of items, one of which is in an index of its own."""
    suites = {"maths": {"m1": ITEM, "m2": PHRASED}, "civics": {"c1": QUOTE}}
    assert cli("create", url, "--analyzer", "shingle", "--passages", 20).code == 0
    for name, texts in suites.items():
        records = [{"id": key, "text": text} for key, text in texts.items()]
        path = write_jsonl(tmp_path / f"{name}.jsonl", records)
        assert cli("add", url, path, "--collection", name).code == 0
    return url


@pytest.fixture
def crawl(tmp_path):
    """Return texts that hold one item whole, one with an edit, one of each suite, a phrase of one, and none."""
    edited = ITEM.replace("至少", "最少")
    texts = {
        "whole": ESSAY.format(ITEM),
        "edited": ESSAY.format(edited),
        "both": ESSAY.format(f"{ITEM}{QUOTE}"),
        "phrase": ESSAY.format(ITEM[:20]),
        "m1": ESSAY.format("没有题目。"),
        "short": "短。",
    }
    return write_jsonl(tmp_path / "crawl.jsonl", [{"text": text, "id": key} for key, text in texts.items()])


def test_texts_without_items_of_suites_are_kept(cli, items, crawl, tmp_path):
    kept, report = tmp_path / "kept.jsonl", tmp_path / "suites.jsonl"
    words = ("passages", items, crawl, "--against", "maths", "--against", "civics", "--at-share", 0.6)
    done = cli(*words, "--output", kept, "--suites", report)

    assert [(line["id"], [(item["suite"], item["id"]) for item in line["items"]]) for line in done.records] == [
        ("whole", [("maths", "m1")]),
        ("edited", [("maths", "m1")]),
        ("both", [("maths", "m1"), ("civics", "c1")]),
        ("phrase", []),
        ("m1", []),
        ("short", []),
    ]
    whole, edited = (line["items"][0] for line in done.records[:2])
    assert (whole["share"], 0.6 <= edited["share"] < 1) == (1.0, True)
    [span] = whole["spans"]
    assert ESSAY.format(ITEM)[span["start"] : span["stop"]] in ITEM
    lines = crawl.read_bytes().splitlines(keepends=True)
    assert kept.read_bytes() == b"".join(lines[3:])
    assert list(map(json.loads, report.read_text("utf-8").splitlines())) == [
        {"suite": "maths", "items": 2, "found": 1, "texts": 3},
        {"suite": "civics", "items": 1, "found": 1, "texts": 1},
    ]
    assert "maths: 1 of 2 items in 3 texts" in done.err
    assert "6 documents, 3 with items" in done.err


@pytest.mark.server
def test_items_behind_a_service_are_found_as_in_its_index(cli, crawl, tmp_path, monkeypatch):
    url, report = f"file:{tmp_path / 'items.index'}", tmp_path / "suites.jsonl"
    cli("create", url, "--analyzer", "shingle", "--passages", 20)
    records = [{"id": "m1", "text": ITEM}, {"id": "m2", "text": PHRASED}]
    cli("add", url, write_jsonl(tmp_path / "maths.jsonl", records), "--collection", "maths")
    words = (crawl, "--against", "maths", "--at-share", 0.6, "--output", tmp_path / "kept.jsonl", "--suites", report)
    here = cli("passages", url, *words)
    reported = report.read_bytes()
    with serving(url, tmp_path) as server:
        monkeypatch.setenv("SIMHASH_HBASE_API_KEY", server.keys["read"])
        there = cli("passages", server.address, *words)
        missing = cli("passages", server.address, crawl, "--against", "maths2")

    assert there.records == here.records
    assert [len(line["items"]) for line in there.records] == [1, 1, 1, 0, 0, 0]
    assert report.read_bytes() == reported
    assert "no text is found to hold them" in there.err
    assert "no text is found to hold them" not in here.err
    assert "maths2: there are no documents to look for" in missing.usage_error


def test_the_page_shows_how_items_are_found(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "questions.jsonl", [{"id": "m1", "text": ITEM}, {"id": "m2", "text": PHRASED}])
    texts = {"page/1": ESSAY.format(ITEM), "page/2": ESSAY.format(ITEM[:16])}
    write_jsonl(tmp_path / "crawl.jsonl", [{"id": key, "text": text} for key, text in texts.items()])
    for command, shown in split(blocks()["items"]).items():
        program, *words = command.split(" > ")[0].split()
        printed = cli(*words).out.decode() if program == "simhash-hbase" else Path(*words).read_text("utf-8")
        assert not shown or printed.splitlines() == shown
    assert [json.loads(line)["id"] for line in Path("clean.jsonl").read_text("utf-8").splitlines()] == ["page/2"]


HEAD = "转载请联系授权。以下是今天为大家整理的本地新闻，欢迎在评论区留言讨论，也欢迎把本文转给身边的朋友。"
NOTICE = "（广告）点击下方卡片关注我们，每天早上八点准时收到城市快讯，不错过任何一条重要消息。"
TAIL = "本文来自网络，版权归原作者所有，如有侵权请联系删除。编辑：小李。审核：小王。投稿邮箱见主页。"


def test_the_page_shows_how_a_repost_is_removed(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    middle = len(METRO) // 2
    texts = {"metro": METRO, "heat": HEAT, "repost": HEAD + METRO[:middle] + NOTICE + METRO[middle:] + TAIL}
    posts = write_jsonl(tmp_path / "posts.jsonl", [{"id": key, "text": text} for key, text in texts.items()])
    for command, shown in split(blocks()["reposts"]).items():
        printed = run(cli, command)
        assert not shown or printed == shown

    assert cli("create", "file:verified.index").code == 0
    assert cli("dedup", "file:verified.index", posts).originals == list(texts)


def test_a_phrase_that_items_share_is_below_the_share(cli, items, crawl):
    def share(*options):
        [phrase] = [
            line
            for line in cli("passages", items, crawl, "--against", "maths", *options).records
            if line["id"] == "phrase"
        ]
        return [item["share"] for item in phrase["items"]]

    assert share() == []
    low = share("--at-share", 0.01)
    assert len(low) == 2
    assert max(low) < 0.5


def test_items_of_another_index_are_found_by_its_address(cli, items, crawl, tmp_path):
    other = f"file:{tmp_path / 'other.index'}"
    assert cli("create", other, "--analyzer", "shingle", "--passages", 16).code == 0
    assert cli("add", other, tmp_path / "civics.jsonl").code == 0
    done = cli("passages", items, crawl, "--against", other)
    assert [line["id"] for line in done.records if line["items"]] == ["both"]
    assert done.records[2]["items"][0]["suite"] == other
    drawn = cli("passages", items, crawl, "--against", other, "--format", "table").out.decode()
    assert "c1" in drawn
    assert "none" in drawn


def test_texts_of_standard_input_without_items_are_kept_too(cli, items, crawl, tmp_path, standard_input):
    standard_input(crawl.read_bytes())
    done = cli("passages", items, "-", "--against", "maths", "--output", tmp_path / "kept.csv")
    assert done.code == 0, done.err
    assert sum(bool(line["items"]) for line in done.records) == 3
    assert (tmp_path / "kept.csv").read_text("utf-8").splitlines()[0] == "text,id"
    assert len((tmp_path / "kept.csv").read_text("utf-8").splitlines()) == 4


def test_files_of_a_folder_without_items_are_kept(cli, items, tmp_path):
    folder, kept = tmp_path / "pages", tmp_path / "clean"
    folder.mkdir()
    (folder / "with.txt").write_text(ESSAY.format(ITEM), encoding="utf-8")
    (folder / "without.txt").write_text(ESSAY.format("没有。"), encoding="utf-8")
    assert cli("passages", items, folder, "--against", "maths", "--output", kept).code == 0
    assert [path.name for path in kept.iterdir()] == ["without.txt"]


def test_a_search_that_would_find_all_texts_clean_is_refused(cli, items, crawl, empty, tmp_path):
    asked = ("passages", items, crawl)
    assert "maths2: there are no documents to look for" in cli(*asked, "--against", "maths2").usage_error
    assert "the index keeps no passages" in cli(*asked, "--against", empty).usage_error
    assert "--suites goes with --against COLLECTION" in cli(*asked, "--suites", tmp_path / "x").usage_error
    against = (*asked, "--against", "maths")
    for words, sentence in [
        (("--longest",), "--longest cannot be combined with --against"),
        (("--collection", "maths"), "--collection cannot be combined with --against"),
        (("--against", "maths"), "--against names one collection twice"),
        (("--output", crawl), "is a file of the input"),
    ]:
        assert sentence in cli(*against, *words).usage_error
    one_place = [word for secret in "ab" for word in ("--against", f"redis://u:{secret}@127.0.0.1:1/0")]
    assert "--against names one collection twice" in cli(*asked, *one_place).usage_error


def test_items_without_passages_are_counted_in_a_warning(cli, items, crawl, tmp_path):
    for number, sentence in [
        (1, "1 of the documents of maths has no passages, so no text is found to hold it: it is a duplicate, too"),
        (2, "2 of the documents of maths have no passages, so no text is found to hold them: they are duplicates, too"),
    ]:
        short = write_jsonl(tmp_path / "s.jsonl", [{"id": f"s{number}", "text": "短。"}])
        assert cli("add", items, short, "--collection", "maths").code == 0
        assert sentence in cli("passages", items, crawl, "--against", "maths").err


def test_texts_that_are_too_short_for_a_passage_are_written_as_they_came(cli, index, tmp_path):
    asked = write_jsonl(tmp_path / "asked.jsonl", [{"id": "a", "text": "交通局"}, {"id": "b", "text": QUOTE}])
    done = cli("passages", index, asked, "--cut", tmp_path / "cut.jsonl")
    assert (done.code, [len(line["passages"]) for line in done.records]) == (0, [0, 1])
    [first, _] = (tmp_path / "cut.jsonl").read_text("utf-8").splitlines()
    assert json.loads(first) == {"id": "a", "text": "交通局"}
