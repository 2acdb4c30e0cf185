"""`explain`: what A and B are taken for, their comparison as JSON, as a table and as a page."""

import gzip
import json
import re

import pytest
from support.bruteforce import entries
from support.corpus import text, write_jsonl
from support.sites import Site

from simhash_hbase.cli.screen.tables import ComparedPair
from simhash_hbase.profile import Profile
from simhash_hbase.report.explain import Side, compare

STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(params=[80, 100, 200])
def columns(request, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(request.param))
    return request.param


def explain(cli, a, b, *words):
    return cli("explain", "--analyzer", "shingle", a, b, "--format", "table", *words).out.decode()


def record(cli, a, b, *words):
    return cli("explain", "--analyzer", "shingle", a, b, *words).record


def bits_of(shown, label):
    """Put the blocks of one document together again."""
    rows = [line[3:].split() for line in shown.splitlines() if re.fullmatch(rf"{label}  [01 ]+", line)]
    return "".join(bits for row in rows for bits in row)


PAIR = (text(1, count=60), text(1, count=60, changed=3))
DRIVER = "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理。"


@pytest.mark.parametrize("scheme", ["5x2", "4x1", "8x5", "10x7"])
def test_both_fingerprints_are_drawn_block_by_block_and_differing_bits_marked(cli, columns, monkeypatch, scheme):
    monkeypatch.setenv("FORCE_COLOR", "1")

    drawn = STYLE.sub("", explain(cli, *PAIR, "--scheme", scheme))

    found = record(cli, *PAIR, "--scheme", scheme)
    assert bits_of(drawn, "a") == f"{int(found['a']['simhash'], 16):064b}"
    assert bits_of(drawn, "b") == f"{int(found['b']['simhash'], 16):064b}"
    assert drawn.count("^") == found["distance"] > 0
    assert max(map(len, drawn.splitlines())) <= columns


def test_a_mark_stands_below_each_bit_that_differs_and_a_line_below_each_block_that_agrees(cli):
    lines = explain(cli, *PAIR).splitlines()

    at = next(number for number, line in enumerate(lines) if line.startswith("a  ") and number > 2)
    a, b, marks = (lines[at + row].ljust(80) for row in range(3))
    columns = range(3, len(a.rstrip()))
    assert [x for x in columns if marks[x] == "^"] == [x for x in columns if a[x] != b[x]]
    agreeing = [a[match.start() : match.end()] for match in re.finditer("=+", marks)]
    assert agreeing
    assert all(len(block) in (12, 13) for block in agreeing)


def test_the_tables_that_join_them_are_named_with_their_blocks(cli):
    drawn = explain(cli, *PAIR)

    found = record(cli, *PAIR)
    assert re.search(r"Joined by (\d+) of 10 tables", drawn)[1] == str(len(found["tables"]))
    assert [int(flag) for flag in re.findall(r"(\d+) \(blocks", drawn)] == found["tables"]


def test_unrelated_texts_are_said_not_to_find_each_other_and_why(cli):
    drawn = " ".join(explain(cli, text(1), text(10)).split())

    assert "No table joins them" in drawn
    assert "does not find the other: no table joins them, no band either, more than 7 bits differ," in drawn
    assert "bits differ, the similarity is below 0.7817." in drawn


def test_what_explain_says_is_what_a_query_does(cli, filled):
    for a, b in (("group 0 copy 0", "group 0 copy 2"), ("group 0 copy 0", "group 1 copy 0")):
        found = cli("explain", filled, a, b).record["found"]
        assert found is (b in {match["id"] for match in cli("query", filled, "--id", a).record["matches"]})


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

    assert (compared["distance"], compared["similarity"], compared["found"], compared["bands"]) == (6, None, None, None)
    assert compared["b"] == {name: copy[name] for name in ("id", "simhash", "of", "distance", "similarity")}
    assert "of" not in compared["a"]
    drawn = cli("explain", decided, "original", "far", "--format", "table").out.decode()
    assert "b was decided a duplicate of original (distance 6, similarity 0.89).\n" in drawn
    assert "Whether a query for one finds the other is not known: a copy keeps no sketch.\n" in drawn
    assert drawn.index("was decided a duplicate") < drawn.index("No table joins them")
    assert "name files of texts instead" in drawn
    assert "does not find" not in drawn
    assert "No band" not in drawn
    drawn = cli("explain", decided, "far", "near", "--format", "table").out.decode()
    assert "a was decided a duplicate of original (distance 6, similarity 0.89).\n" in drawn
    assert "b was decided a duplicate of original (distance 3, similarity 0.97).\n" in drawn


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
    profile = Profile.resolve(analyzer="shingle", bands=bands)
    a = Side("a", entries({"a": 0}, sketches=[0], bands=[(1,) * bands]))
    copy = {"of": "a", "distance": 8, "similarity": 0.8}
    b = Side("b", entries({"b": differing}), decision=copy)

    compared = compare(a, b, profile)

    assert compared["found"] is (None if reason is None else False)
    drawn = [*map(str, ComparedPair(a, b, compared, profile).drawn(80))]
    verdict = f"A query for one does not find the other: {reason}."
    assert (verdict in drawn) is (reason is not None)


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


def test_a_name_cannot_move_the_terminal_s_cursor(cli, tmp_path):
    file = tmp_path / "a\x1b[2Jb.txt"
    file.write_text(text(1))

    drawn = explain(cli, file, text(1))

    assert "\x1b" not in drawn
    assert "a\\x1b[2Jb.txt" in drawn


def test_a_name_that_is_too_long_is_cut_not_broken(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    folder = tmp_path / ("long" * 20)
    folder.mkdir()
    file = folder / "a.txt"
    file.write_text(text(1))

    heads = STYLE.sub("", explain(cli, file, text(1))).splitlines()[:2]

    assert heads[0].endswith("…")
    assert len(heads[0]) <= 80


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
    profile = Profile.resolve(analyzer="shingle", free_distance=64)
    segments = (1,) * shared + (2,) * (6 - shared)
    a = Side("a", entries({"a": 0}, sketches=[0], bands=[(1,) * 6]))
    b = Side("b", entries({"b": (1 << 64) - (1 << 64 - bits)}, sketches=[0], bands=[segments]))

    drawn = map(str, ComparedPair(a, b, compare(a, b, profile), profile).drawn(80))

    [verdict] = [line for line in drawn if line.startswith("A query for")]
    assert verdict == (
        f"A query for one does not find the other: {told}." if told else "A query for one finds the other."
    )


ONE = "我 喜欢 看 电视，不 喜欢 看 电影"
OTHER = "我 不 喜欢 看 电视，也 不 喜欢 看 电影"


def test_the_cosine_of_the_write_up_s_two_sentences(cli):
    record = cli("explain", ONE, OTHER).record

    assert record["word_cosine"] == pytest.approx(0.938, abs=5e-4)
    assert ", 0.94 of unweighted words" in cli("explain", ONE, OTHER, "--format", "table").out.decode()


def test_the_cosine_of_features_of_one_s_own(cli, tmp_path):
    first = [["我", 1], ["喜欢", 2], ["看", 2], ["电视", 1], ["电影", 1], ["不", 1]]
    other = [["我", 1], ["喜欢", 2], ["看", 2], ["电视", 1], ["电影", 1], ["不", 2], ["也", 1]]
    files = [write_jsonl(tmp_path / f"{len(words)}.jsonl", [{"words": words}]) for words in (first, other)]

    record = cli("explain", "--features-field", "words", *files).record

    assert record["cosine"] == pytest.approx(0.938, abs=5e-4)
    assert record["only_b"] == [["也", 1.0]]
    assert record["pulls"][0][0] == "也"
    assert "word_cosine" not in record


@pytest.mark.parametrize("name", ["{}.jsonl", "{}.json", "{}"])
def test_own_fingerprints_are_compared_and_not_the_bytes_of_their_files(cli, tmp_path, name):
    files = [tmp_path / name.format(value) for value in ("000000000000001f", "0x1e")]
    for file in files:
        file.write_text(json.dumps({"simhash": file.stem}))

    record = cli("explain", "--simhash-field", "simhash", *files).record

    assert (record["a"]["simhash"], record["b"]["simhash"]) == ("000000000000001f", "000000000000001e")
    assert (record["distance"], record["similarity"]) == (1, None)


def test_own_fingerprints_are_compared_with_stored_ones(cli, filled, tmp_path):
    stored = cli("get", filled, "group 0 copy 0").record
    file = write_jsonl(tmp_path / "a.jsonl", [{"simhash": stored["simhash"]}])
    words = ("explain", filled, "group 0 copy 0", file, "--simhash-field", "simhash")

    assert cli(*words).record["distance"] == 0
    assert "The index keeps no texts" in cli(*words, "--format", "table").out.decode()


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

    refused = cli("explain", field, "simhash", good, bad)

    assert refused.code == 1
    assert str(bad) in refused.sentence
    assert message in refused.sentence


RECORD = {"id": 1, "text": text(1)}


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.json", "a.csv", "a.tsv", "a.txt"])
def test_of_a_file_its_text_counts_or_that_of_its_one_record(cli, tmp_path, name):
    file = tmp_path / name
    if "json" in name:
        write_jsonl(file, [RECORD])
    elif name == "a.txt":
        file.write_text(text(1))
    else:
        gap = "\t" if name.endswith(".tsv") else ","
        file.write_text(f"id{gap}text\n1{gap}{text(1)}\n")

    record = cli("explain", "--analyzer", "shingle", file, text(1)).record

    assert (record["distance"], record["features"]["only_a"]) == (0, 0)
    assert (record["a"]["id"], record["b"]["id"]) == (str(file), "text")


def test_the_text_of_a_record_is_in_the_field_that_is_named(cli, filled, tmp_path):
    file = write_jsonl(tmp_path / "a.jsonl", [{"body": text(0)}])

    assert cli("explain", filled, file, "group 0 copy 0", "--text-field", "body").record["distance"] == 0
    refused = cli("explain", filled, file, "group 0 copy 0")
    assert refused.code == 1
    assert "the field 'text' is missing" in refused.sentence


NO_FILE, NOR_ID = "no file, so it is taken as a text", "neither a file nor a stored id, so it is taken as a text"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("lib", "lib-edit"), f"lib: {NO_FILE}\nlib-edit: {NO_FILE}\n"),
        (("百科", text(1)), f"百科: {NO_FILE}\n"),
        (("INDEX", "group 0 copy 0", "group 0 copy nothing"), f"group 0 copy nothing: {NOR_ID}\n"),
        ((text(1), text(2)), ""),
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
@pytest.mark.parametrize("has_index", [False, True])
def test_a_word_like_a_file_s_name_is_no_text(cli, filled, tmp_path, typo, has_index):
    file = tmp_path / "a.txt"
    file.write_text(text(0))
    words = [filled] if has_index else ["--analyzer", "shingle"]

    refused = cli("explain", *words, file, typo)
    as_texts = cli("explain", *words, text(0), typo + " file", "--text")

    assert refused.code == 1
    assert typo in refused.sentence
    assert "--text" in refused.sentence
    assert ("stored id" in refused.sentence) is has_index
    assert as_texts.code == 0


def test_text_takes_names_of_files_and_ids_for_texts(cli, filled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(text(0))

    record = cli("explain", filled, "a.txt", "group 0 copy 0", "--text").record

    assert (record["a"]["id"], record["b"]["id"]) == ("text", "text")


@pytest.mark.parametrize("words", [("--analyzer", "jieba"), ("--scheme", "6x3"), ("--seed", "5"), ("--learn-from",)])
def test_another_profile_than_the_index_s_is_refused(cli, filled, corpus_file, words):
    words = (*words, corpus_file) if words == ("--learn-from",) else words

    refused = cli("explain", filled, "group 0 copy 0", "group 0 copy 1", *words)

    assert "the index has its own profile" in refused.usage_error


def test_every_scheme_of_an_address_is_an_address(cli):
    for address in ("redis://127.0.0.1:1/0", "rediss://127.0.0.1:1/0"):
        failed = cli("explain", address, "a", "b")
        assert failed.code == 1
        assert "cannot be reached" in failed.sentence


A = text(1, count=60) + " <script>alert(1)</script> the old word"
B = text(1, count=60, changed=3) + " <script>alert(1)</script> the new word"


def test_a_page_shows_both_texts_their_differences_and_what_pulls_them_apart(cli, tmp_path):
    page = tmp_path / "pair.html"

    record = cli("explain", "--text", A, B, "--html", page).record

    shown = page.read_text(encoding="utf-8")
    assert "<del>old </del>" in shown
    assert "<ins>new </ins>" in shown
    assert "&lt;script&gt;" in shown
    assert "<script" not in shown
    assert re.findall(r"<td>([\d.]+%)</td>", shown) == [f"{share:.1%}" for *_, share in record["pulls"]]
    assert record["pulls"]


def test_a_page_needs_texts(cli, tmp_path):
    paths = [tmp_path / name for name in ("a.json", "b.json")]
    for path in paths:
        path.write_text('{"id": "x", "simhash": "00000000000000ff"}', encoding="utf-8")

    failed = cli("explain", "--simhash-field", "simhash", *paths, "--html", tmp_path / "pair.html")

    assert failed.code == 2
    assert "--html shows texts" in failed.err
    assert not (tmp_path / "pair.html").exists()


@pytest.mark.parametrize("which", ["a.txt", "b.txt"])
def test_a_page_does_not_replace_what_is_compared(cli, tmp_path, which):
    for name, words in (("a.txt", A), ("b.txt", B)):
        (tmp_path / name).write_text(words, encoding="utf-8")

    failed = cli("explain", tmp_path / "a.txt", tmp_path / "b.txt", "--html", tmp_path / which)

    assert failed.code == 2
    assert "--html" in failed.err
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == A


def test_explain_shows_a_cosine_beside_the_distance(cli):
    done = cli("explain", "--analyzer", "shingle", text(1) + " wxyz", "zyxw " + text(1))

    record = done.record
    assert done.code == 0
    difference = int(record["a"]["simhash"], 16) ^ int(record["b"]["simhash"], 16)
    assert record["distance"] == difference.bit_count() > 0
    assert record["bits"] == f"{difference:064b}"
    assert 0.9 < record["cosine"] < 1
    assert 0.9 < record["similarity"] < 1
    assert record["features"]["only_a"] > 0
    assert record["features"]["only_b"] > 0
    assert {"differing_blocks", "tables", "shared", "only_a", "only_b"} <= set(record)
    assert len(record["tables"]) == (5 - len(record["differing_blocks"])) * (4 - len(record["differing_blocks"])) // 2


def test_explain_reads_stored_documents(cli, filled):
    of_stored = cli("explain", filled, "group 0 copy 0", "group 0 copy 1").record

    assert (of_stored["a"]["id"], of_stored["b"]["id"]) == ("group 0 copy 0", "group 0 copy 1")
    assert of_stored["similarity"] > 0.9
    assert "cosine" not in of_stored


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_explain_reads_files_as_add_does(cli, tmp_path, name):
    file, data = tmp_path / name, (DRIVER * 3).encode("gb18030")
    file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)

    done = cli("explain", "--analyzer", "shingle", "--encoding", "auto", file, DRIVER * 3)
    refused = cli("explain", "--analyzer", "shingle", file, DRIVER * 3)

    assert (done.code, done.record["distance"]) == (0, 0)
    assert refused.code == 1
    assert refused.sentence.startswith(f"{file}: ")


def test_explain_takes_of_a_page_its_main_text(cli, tmp_path):
    for site in (0, 1):
        (tmp_path / f"{site}.html").write_text(Site(site, "zh").page(DRIVER * 9, "司机"), encoding="utf-8")

    record = cli("explain", "--analyzer", "shingle", tmp_path / "0.html", tmp_path / "1.html").record

    assert (record["distance"], record["features"]["only_a"]) == (0, 0)
