"""`explain`: what A and B are taken for, their comparison as JSON, as a table and as a page."""

import gzip
import json
import random
import re

import pytest
from support.bruteforce import entries
from support.corpus import text, write_jsonl
from support.sites import Site

from simhash_hbase.cli.screen.tables import ComparedPair
from simhash_hbase.profile import Profile
from simhash_hbase.report.explain import ComparedDocument, compare

STYLE = re.compile(r"\x1b\[[0-9;]*m")


def explain(cli, a, b, *words):
    return cli("explain", "--analyzer", "shingle", a, b, "--format", "table", *words).out.decode()


def bits_of(shown, label):
    """Put the blocks of one document together again."""
    rows = [line[3:].split() for line in shown.splitlines() if re.fullmatch(rf"{label}  [01 ]+", line)]
    return "".join(bits for row in rows for bits in row)


PAIR = (text(1, count=60), text(1, count=60, changed=3))
DRIVER = "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理。"


@pytest.mark.parametrize("columns", [80, 100, 200])
@pytest.mark.parametrize("scheme", ["5x2", "4x1", "8x5", "10x7"])
def test_both_fingerprints_are_drawn_with_their_differing_bits(cli, columns, monkeypatch, scheme):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("FORCE_COLOR", "1")

    drawn = STYLE.sub("", explain(cli, *PAIR, "--scheme", scheme))

    found = cli("explain", "--analyzer", "shingle", *PAIR, "--scheme", scheme).record
    assert [bits_of(drawn, label) for label in "ab"] == [f"{int(found[label]['simhash'], 16):064b}" for label in "ab"]
    assert drawn.count("^") == found["distance"] > 0
    assert max(map(len, drawn.splitlines())) <= columns
    if scheme == "5x2":
        assert f"Joined by {len(found['tables'])} of 10 tables" in drawn
        assert [int(flag) for flag in re.findall(r"(\d+) \(blocks", drawn)] == found["tables"]


def test_signs_stand_below_differing_bits_and_equal_blocks(cli):
    lines = explain(cli, *PAIR).splitlines()

    at = next(number for number, line in enumerate(lines) if line.startswith("a  ") and number > 2)
    a, b, marks = (lines[at + row].ljust(80) for row in range(3))
    columns = range(3, len(a.rstrip()))
    assert [x for x in columns if marks[x] == "^"] == [x for x in columns if a[x] != b[x]]
    agreeing = [a[match.start() : match.end()] for match in re.finditer("=+", marks)]
    assert agreeing
    assert all(len(block) in (12, 13) for block in agreeing)


def test_the_reasons_are_told_why_unrelated_texts_do_not_find_each_other(cli):
    drawn = " ".join(explain(cli, text(1), text(10)).split())

    assert "No table joins them" in drawn
    assert "does not find the other: no table joins them, no band either, more than 7 bits differ," in drawn
    assert "bits differ, the similarity is below 0.7817." in drawn


def test_what_explain_says_is_what_a_query_does(cli, filled):
    for a, b in (("group 0 copy 0", "group 0 copy 2"), ("group 0 copy 0", "group 1 copy 0")):
        compared = cli("explain", filled, a, b).record
        found = {match["id"]: match["similarity"] for match in cli("query", filled, "--id", a).record["matches"]}
        assert compared["found"] is (b in found)
        assert compared["similarity"] == found.get(b, compared["similarity"])
        assert "cosine" not in compared


IN_FOUR_BLOCKS = 1 | 1 << 12 | 1 << 25 | 1 << 38


@pytest.fixture
def decided(empty, cli, tmp_path):
    """Return the address of an index of an original and two copies, one 6 bits from it and one 3."""
    texts = {name: text(1, count=60, changed=changed) for name, changed in [("original", 0), ("far", 6), ("near", 1)]}
    file = write_jsonl(tmp_path / "three.jsonl", [{"id": name, "text": words} for name, words in texts.items()])
    done = cli("dedup", empty, file)
    assert [record["distance"] for record in done.records] == [None, 6, 3]
    return empty


def test_what_the_sketch_of_a_copy_would_decide_is_not_known(cli, decided):
    copy = cli("get", decided, "far").record

    compared = cli("explain", decided, "original", "far").record
    drawn = cli("explain", decided, "original", "far", "--format", "table").out.decode()
    of_two = cli("explain", decided, "far", "near", "--format", "table").out.decode()

    assert (compared["distance"], compared["similarity"], compared["found"], compared["bands"]) == (6, None, None, None)
    assert compared["b"] == {name: copy[name] for name in ("id", "simhash", "of", "distance", "similarity")}
    assert "of" not in compared["a"]
    assert "b was decided a duplicate of original (distance 6, similarity 0.89).\n" in drawn
    assert "Whether a query for one finds the other is not known: a copy keeps no sketch.\n" in drawn
    assert "name files of texts instead" in drawn
    assert not re.search("does not find|No band", drawn)
    assert "a was decided a duplicate of original (distance 6, similarity 0.89).\n" in of_two
    assert "b was decided a duplicate of original (distance 3, similarity 0.97).\n" in of_two


def judged(a, b, profile):
    """Return whether a query for one finds the other, and what is said of it."""
    compared = compare(a, b, profile)
    drawn = map(str, ComparedPair(a, b, compared, profile).drawn(80))
    return compared["found"], [line for line in drawn if line.startswith("A query for")]


@pytest.mark.parametrize(
    ("bands", "differing", "reason"),
    [
        (6, IN_FOUR_BLOCKS, None),
        (6, (1 << 32) - 1, None),
        (6, (1 << 33) - 1, "more than 32 bits differ"),
        (0, (1 << 7) - 1, None),
        (0, (1 << 8) - 1, "more than 7 bits differ"),
        (0, IN_FOUR_BLOCKS, "no table joins them"),
        (0, (1 << 39) - 1, "no table joins them, more than 7 bits differ"),
    ],
)
def test_a_copy_that_no_sketch_could_join_is_not_found(bands, differing, reason):
    a = ComparedDocument("a", entries({"a": 0}, sketches=[0], bands=[(1,) * bands]))
    copy = ComparedDocument("b", entries({"b": differing}), decision={"of": "a", "distance": 8, "similarity": 0.8})

    limits = {"band_distance": (16, 22, 32)} if bands else {}

    found, verdicts = judged(a, copy, Profile.resolve(analyzer="shingle", bands=bands, **limits))

    assert found is (None if reason is None else False)
    assert verdicts == ([f"A query for one does not find the other: {reason}."] if reason else [])


@pytest.mark.parametrize(
    ("bits", "shared", "told"),
    [
        (16, 1, ""),
        (17, 1, "more than 16 bits differ, for which 2 bands have to join them"),
        (23, 1, "more than 16 bits differ, for which 3 bands have to join them"),
        (33, 1, "more than 16 bits differ"),
        (23, 2, "more than 22 bits differ, for which 3 bands have to join them"),
        (33, 6, "more than 32 bits differ"),
    ],
)
def test_a_pair_that_too_few_bands_join_is_told_how_many_it_takes(bits, shared, told):
    segments = (1,) * shared + (2,) * (6 - shared)
    a = ComparedDocument("a", entries({"a": 0}, sketches=[0], bands=[(1,) * 6]))
    b = ComparedDocument("b", entries({"b": (1 << 64) - (1 << 64 - bits)}, sketches=[0], bands=[segments]))

    found, [verdict] = judged(a, b, Profile.resolve(analyzer="shingle", band_distance=(16, 22, 32), free_distance=64))

    assert found is not bool(told)
    assert verdict == f"A query for one {f'does not find the other: {told}' if told else 'finds the other'}."


@pytest.mark.parametrize(
    ("bits", "shared", "found_near", "told"),
    [
        (3, 6, {"subject": True, "text": True}, []),
        (40, 1, {"subject": False, "text": True}, ["An index that is made with --near text joins them."]),
        (40, 0, {"subject": False, "text": False}, []),
    ],
)
def test_which_preset_joins_a_pair_is_told(bits, shared, found_near, told):
    segments = (1,) * shared + (2,) * (6 - shared)
    a = ComparedDocument("a", entries({"a": 0}, sketches=[0], bands=[(1,) * 6]))
    b = ComparedDocument("b", entries({"b": (1 << 64) - (1 << 64 - bits)}, sketches=[(1 << 40) - 1], bands=[segments]))
    profile = Profile.resolve(analyzer="shingle")

    compared = compare(a, b, profile)
    drawn = list(map(str, ComparedPair(a, b, compared, profile).drawn(80)))

    assert compared["found_near"] == found_near
    assert [line for line in drawn if "--near" in line] == told


def test_a_profile_without_sketch_rows_has_no_presets_to_tell_of():
    a, b = (ComparedDocument(name, entries({name: 0}, sketches=[0])) for name in "ab")

    assert "found_near" not in compare(a, b, Profile.resolve(analyzer="shingle", bands=0))


def test_without_colours_the_marks_are_left(cli, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = explain(cli, *PAIR)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = explain(cli, *PAIR)

    assert "\x1b[32m" in coloured
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", plain)
    assert STYLE.sub("", plain) == STYLE.sub("", coloured)
    monkeypatch.delenv("FORCE_COLOR")
    assert "\x1b" not in explain(cli, *PAIR)


def test_a_name_cannot_move_the_cursor_of_a_terminal(cli, tmp_path):
    moving = tmp_path / "a\x1b[2Jb.txt"
    moving.write_text(text(1))

    drawn = explain(cli, moving, text(1))

    assert "\x1b" not in drawn
    assert "a\\x1b[2Jb.txt" in drawn


def test_a_name_is_cut_to_the_width_of_the_terminal(cli, tmp_path, monkeypatch):
    long = tmp_path / f"{'long' * 20}.txt"
    long.write_text(text(1))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")

    head, *_ = STYLE.sub("", explain(cli, long, text(1))).splitlines()

    assert head.endswith("…")
    assert len(head) <= 80


def test_the_cosine_of_features_of_one_s_own(cli, tmp_path):
    first = [["我", 1], ["喜欢", 2], ["看", 2], ["电视", 1], ["电影", 1], ["不", 1]]
    other = [["我", 1], ["喜欢", 2], ["看", 2], ["电视", 1], ["电影", 1], ["不", 2], ["也", 1]]
    files = [write_jsonl(tmp_path / f"{len(words)}.jsonl", [{"words": words}]) for words in (first, other)]

    record = cli("explain", "--features-field", "words", *files).record
    drawn = cli(
        "explain", "我 喜欢 看 电视，不 喜欢 看 电影", "我 不 喜欢 看 电视，也 不 喜欢 看 电影", "--format", "table"
    )

    assert ", 0.94 of unweighted words" in drawn.out.decode()
    assert record["cosine"] == pytest.approx(0.938, abs=5e-4)
    assert record["only_b"] == [["也", 1.0]]
    assert record["pulls"][0][0] == "也"
    assert "word_cosine" not in record


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ""])
def test_files_of_own_fingerprints_are_compared_by_these(cli, filled, tmp_path, suffix):
    stored = cli("get", filled, "group 0 copy 0").record["simhash"]
    same, other = (tmp_path / f"{name}{suffix}" for name in ("same", "other"))
    for file, simhash in ((same, stored), (other, f"0x{int(stored, 16) ^ 1:x}")):
        file.write_text(json.dumps({"simhash": simhash}))
    words = ("--simhash-field", "simhash", same)

    record = cli("explain", *words, other).record

    assert (record["a"]["simhash"], record["b"]["simhash"]) == (stored, f"{int(stored, 16) ^ 1:016x}")
    assert (record["distance"], record["similarity"]) == (1, None)
    assert cli("explain", filled, *words, "group 0 copy 0").record["distance"] == 0
    drawn = cli("explain", filled, *words, "group 0 copy 0", "--format", "table").out.decode()
    assert "The index keeps no texts" in drawn


@pytest.mark.parametrize(
    ("field", "records", "message"),
    [
        ("--simhash-field", [{"simhash": "ff"}], "'ff' is not a fingerprint"),
        ("--simhash-field", [{"simhash": 1}, {"simhash": 2}], "more than one document: wanted one; write"),
        ("--text-field", [{"simhash": "a text"}] * 2, "holds more than one document: wanted one"),
        ("--text-field", [{"simhash": "a text"}, {}], "holds more than one document: wanted one"),
        ("--text-field", [], "holds no document: wanted one"),
    ],
)
def test_a_file_that_is_not_one_document_is_refused(cli, tmp_path, field, records, message):
    good = write_jsonl(tmp_path / "good.jsonl", [{"simhash": "0123456789abcdef"}])
    bad = write_jsonl(tmp_path / "bad.jsonl", records)

    refused = cli("explain", field, "simhash", good, bad).failure

    assert str(bad) in refused
    assert message in refused


FILES = {
    "a.jsonl": f'{{"id": 1, "text": "{DRIVER}"}}\n',
    "a.json": f'{{"id": 1, "text": "{DRIVER}"}}\n',
    "a.jsonl.gz": f'{{"body": "{DRIVER}"}}\n',
    "a.csv": f"id,text\n1,{DRIVER}\n",
    "a.tsv": f"id\ttext\n1\t{DRIVER}\n",
    "a.txt": DRIVER,
    "a.txt.gz": DRIVER,
}


@pytest.mark.parametrize("name", FILES)
def test_of_a_file_its_text_counts_or_that_of_its_one_record(cli, tmp_path, name):
    file, data = tmp_path / name, FILES[name].encode("gb18030")
    file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    words = ["--text-field", "body"] if "body" in FILES[name] else []

    record = cli("explain", "--analyzer", "shingle", "--encoding", "gb18030", *words, file, DRIVER).record

    assert (record["distance"], record["features"]["only_a"]) == (0, 0)
    assert (record["a"]["id"], record["b"]["id"]) == (str(file), "text")


def test_of_a_page_its_main_text_counts(cli, tmp_path):
    files = [tmp_path / f"{site}.html" for site in (0, 1)]
    for site, file in enumerate(files):
        file.write_text(Site(site, "zh").page(DRIVER * 9, "司机"), encoding="utf-8")

    assert cli("explain", "--analyzer", "shingle", *files).record["distance"] == 0


def test_a_file_that_cannot_be_read_as_said_is_refused(cli, tmp_path):
    other, odd = write_jsonl(tmp_path / "a.jsonl", [{"body": text(0)}]), tmp_path / "a.txt"
    odd.write_bytes(DRIVER.encode("gb18030"))

    assert "the field 'text' is missing" in cli("explain", other, text(0)).failure
    assert cli("explain", odd, text(0)).failure.startswith(f"{odd}: ")


NO_FILE, NOR_ID = "no file, so it is taken as a text", "neither a file nor a stored id, so it is taken as a text"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("lib", "lib-edit"), f"lib: {NO_FILE}\nlib-edit: {NO_FILE}\n"),
        (("百科", text(1)), f"百科: {NO_FILE}\n"),
        (("INDEX", "group 0 copy 0", "group 0 copy nothing"), f"group 0 copy nothing: {NOR_ID}\n"),
        (("lib", "edit", "--text"), ""),
        (("汉字 好 " * 100, "汉字 好 " * 5_000), ""),
        (("v1.2 is here", "e.g. this"), ""),
        (("今天。明天也是", "今天。"), f"今天。明天也是: {NO_FILE}\n今天。: {NO_FILE}\n"),
    ],
)
def test_a_single_word_that_names_no_file_is_said_to_be_taken_as_a_text(cli, filled, words, told):
    profile = [] if "INDEX" in words else ["--analyzer", "shingle", "--shingle", 1]

    done = cli("explain", *profile, *(filled if word == "INDEX" else word for word in words))

    assert (done.code, done.err) == (0, told)


@pytest.mark.parametrize("typo", ["typo.txt", "folder/typo", "./typo", "2024.jsonl.gz", "汉字.txt"])
def test_a_word_like_a_file_s_name_is_no_text_unless_it_is_called_one(cli, filled, tmp_path, typo):
    file = tmp_path / "a.txt"
    file.write_text(text(0))

    refused = cli("explain", "--analyzer", "shingle", file, typo).failure
    of_index = cli("explain", filled, file, typo).failure
    record = cli("explain", filled, file, f"{typo} file", "--text").record

    assert typo in refused
    assert "--text" in refused
    assert ("stored id" in refused, "stored id" in of_index) == (False, True)
    assert (record["a"]["id"], record["b"]["id"]) == ("text", "text")


@pytest.mark.parametrize("words", [("--analyzer", "jieba"), ("--scheme", "6x3"), ("--seed", "5"), ("--learn-from",)])
def test_another_profile_than_the_index_s_is_refused(cli, filled, corpus_file, words):
    words = (*words, corpus_file) if words == ("--learn-from",) else words

    refused = cli("explain", filled, "group 0 copy 0", "group 0 copy 1", *words)

    assert "the index has its own profile" in refused.usage_error


A = text(1, count=60) + " <script>alert(1)</script> the old word"
B = text(1, count=60, changed=3) + " <script>alert(1)</script> the new word"


def test_a_page_shows_both_texts_their_differences_and_what_pulls_them_apart(cli, tmp_path):
    page = tmp_path / "pair.html"

    record = cli("explain", "--text", A, B, "--html", page).record

    shown = page.read_text(encoding="utf-8")
    assert "<del>old </del>" in shown
    assert "<ins>new </ins>" in shown
    assert "&lt;script&gt;" in shown
    assert "<script>alert" not in shown
    shares = [float(share) for share in re.findall(r"<td>([\d.]+)%</td>", shown)]
    # Both are rounded, each from the exact share.
    assert shares == pytest.approx([100 * share for *_, share in record["pulls"]], abs=0.06)
    assert record["pulls"]


def test_a_page_needs_texts(cli, tmp_path):
    own = write_jsonl(tmp_path / "own.json", [{"simhash": "00000000000000ff"}])

    refused = cli("explain", "--simhash-field", "simhash", own, own, "--html", tmp_path / "pair.html")

    assert "--html shows texts" in refused.usage_error
    assert not (tmp_path / "pair.html").exists()


def test_a_page_does_not_replace_what_is_compared(cli, tmp_path):
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    a.write_text(A, encoding="utf-8")
    b.write_text(B, encoding="utf-8")

    assert ["--html" in cli("explain", a, b, "--html", page).usage_error for page in (a, b)] == [True, True]
    assert [file.read_text(encoding="utf-8") for file in (a, b)] == [A, B]


def test_explain_shows_a_cosine_beside_the_distance(cli):
    record = cli("explain", "--analyzer", "shingle", text(1) + " wxyz", "zyxw " + text(1)).record

    difference = int(record["a"]["simhash"], 16) ^ int(record["b"]["simhash"], 16)
    assert record["distance"] == difference.bit_count() > 0
    assert record["bits"] == f"{difference:064b}"
    assert 0.9 < record["cosine"] < 1
    assert 0.9 < record["similarity"] < 1
    assert min(record["features"]["only_a"], record["features"]["only_b"]) > 0
    assert {"shared", "only_a", "only_b"} <= set(record)
    assert len(record["tables"]) == (5 - len(record["differing_blocks"])) * (4 - len(record["differing_blocks"])) // 2


def test_an_index_with_rule_copied_says_which_passages_count(cli, tmp_path):
    def prose(seed, count=300):
        chosen = random.Random(seed)
        return "".join(chr(chosen.randrange(0x4E00, 0x9FA5)) for _ in range(count))

    url, tail, article = f"file:{tmp_path / 'news.index'}", prose("tail"), prose("article")
    cli("create", url, "--analyzer", "shingle", "--match", "copied", "--share", "0.4")
    posts = [{"id": f"d{n}", "text": prose(n) + tail} for n in range(12)]
    cli("add", url, write_jsonl(tmp_path / "posts.jsonl", [*posts, {"id": "article", "text": article + tail}]))
    repost, stranger = prose("head") + article + tail, prose("other", count=80) + tail
    (tmp_path / "repost.txt").write_text(repost)
    (tmp_path / "stranger.txt").write_text(stranger)

    told = cli("explain", url, str(tmp_path / "repost.txt"), "article").record
    assert told["found"]
    assert told["passages"]["counted"] < told["passages"]["shared"]
    [span] = told["counted_a"]
    assert repost[span["start"] : span["stop"]] in article + tail[:50]
    assert span["stop"] - span["start"] > 200
    apart = cli("explain", url, str(tmp_path / "stranger.txt"), "d3").record
    assert (apart["found"], apart["passages"]["counted"]) == (False, 0)
    drawn = cli("explain", url, str(tmp_path / "stranger.txt"), "d3", "--format", "table").out.decode()
    assert "fewer than 2 rare passages, or less than 0.4 of those of either, are in both" in " ".join(drawn.split())
    answers = cli("query", url, "--text", repost).record
    assert [match["id"] for match in answers["matches"]] == ["article"]
