"""From files of every kind to documents."""

import gzip
import json

import pytest
from support.corpus import near_copies, text, write_jsonl


def test_a_line_without_an_id_gets_file_and_line(cli, empty, tmp_path):
    file = write_jsonl(tmp_path / "a.jsonl", [{"text": text(1)}, {"text": text(2)}])

    added = cli("add", empty, file, "--verbose")

    assert [record["id"] for record in added.records] == [f"{file}:1", f"{file}:2"]


def test_own_features_are_read_from_their_field(cli, tmp_path):
    url, file = f"file:{tmp_path / 'a'}", tmp_path / "features.jsonl"
    pairs = [["blue", 5], ["whale", 3], ["sea", 1]]
    file.write_text("".join(json.dumps({"id": i, "levels": pairs}) + "\n" for i in range(2)))

    assert cli("create", url, "--analyzer", "weighted").code == 0
    assert cli("add", url, file, "--features-field", "levels").code == 0
    assert [m["id"] for m in cli("query", url, "--id", "0").record["matches"]] == ["1"]


def test_features_whose_weights_decide_nothing_are_refused_and_are_no_duplicates(cli, tmp_path):
    file = tmp_path / "features.jsonl"
    weightless = [[["apple", 0]], [["whale", 0]], [["x", 3], ["x", -3]], [["x", 1e-6]]]
    lines = [{"id": i, "levels": pairs} for i, pairs in enumerate([*weightless, [["blue", 5]]])]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    url = f"file:{tmp_path / 'a'}"

    weighted = ("--create", "--analyzer", "weighted", "--features-field", "levels")
    done = cli("dedup", url, file, *weighted, "--rejects", tmp_path / "rejects")
    rejects = [json.loads(line) for line in (tmp_path / "rejects").read_text().splitlines()]

    assert [record["id"] for record in done.records] == ["4"]
    assert [reject["line"] for reject in rejects] == [1, 2, 3, 4]
    assert all("the weights of the features are 0" in reject["reason"] for reject in rejects)


def test_metadata_fields_are_kept_with_the_document(cli, empty, tmp_path):
    record = {"id": "a", "text": text(1), "url": "https://example.org/汉", "level": 3, "other": "no"}
    file = write_jsonl(tmp_path / "a.jsonl", [record])

    cli("add", empty, file, "--metadata-field", "url", "--metadata-field", "level", "--metadata-field", "missing")

    assert cli("get", empty, "a").record["metadata"] == {"url": "https://example.org/汉", "level": 3}


@pytest.mark.parametrize("kept", [{"id": "a", "name": "id and text"}, {"key": "a", "body": ""}])
def test_fields_of_other_names_are_named_by_options(cli, empty, tmp_path, kept):
    file = write_jsonl(tmp_path / "a.jsonl", [{**kept, "key": 17, "body": text(1)}])

    added = cli("add", empty, file, "--id-field", "key", "--text-field", "body", "--verbose")

    assert [record["id"] for record in added.records] == ["17"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.csv", "a.txt", "folder"])
def test_documents_are_read_by_the_name_of_their_file(cli, empty, tmp_path, name):
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
        (path / "one.txt").write_text(text(1))
        (path / "two.txt").write_text(text(2))
    elif name == "a.csv":
        path.write_text(f'id,text\n1,"{text(1)}"\n2,"{text(2)}"\n')
    elif name == "a.txt":
        path.write_text(f"{text(1)}\n{text(2)}\n")
    else:
        write_jsonl(path, [{"id": i, "text": text(i)} for i in (1, 2)])

    added = cli("add", empty, path, "--verbose")

    assert added.code == 0
    assert len(added.records) == 2
    simhashes = [cli("fingerprint", "--analyzer", "shingle", "--text", text(i)).record["simhash"] for i in (1, 2)]
    assert [record["simhash"] for record in added.records] == simhashes


def test_other_encodings_are_read_when_named_or_detected(cli, empty, tmp_path):
    chinese = "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理。" * 5
    file = tmp_path / "a.txt"
    file.write_bytes(chinese.encode("gb18030"))
    wanted = cli("fingerprint", "--analyzer", "shingle", "--text", chinese).record["simhash"]

    named = cli("add", empty, file, "--encoding", "gb18030", "--verbose")
    detected = cli("add", empty, file, "--encoding", "auto", "--verbose")

    assert named.record["simhash"] == wanted
    assert detected.record["simhash"] == wanted


def test_several_files_are_read_one_after_the_other(cli, empty, tmp_path):
    files = [write_jsonl(tmp_path / f"{i}.jsonl", near_copies(3, 1)[i : i + 1]) for i in (2, 0, 1)]

    added = cli("add", empty, *files, "--verbose")

    assert [record["id"] for record in added.records] == ["group 2 copy 0", "group 0 copy 0", "group 1 copy 0"]


def test_what_is_told_of_others_names_moves_no_cursor(cli, empty, tmp_path):
    file = tmp_path / "a\x1b]0;title\x07b.jsonl"
    file.write_bytes(b"not json\n")

    refused, missing = cli("add", empty, file), cli("add", empty, f"{file}.not there")

    assert (refused.code, missing.code) == (3, 1)
    for told in (refused.err, missing.err):
        assert "\x1b" not in told
        assert "\\x1b]0;title\\x07b.jsonl" in told


ADVICE = "it has id, title, body: name the right one with --text-field"


def test_a_corpus_without_the_field_is_refused_with_the_fields_it_has_and_in_few_lines(cli, empty, tmp_path):
    file = write_jsonl(tmp_path / "a.jsonl", [{"id": i, "title": "t", "body": text(i)} for i in range(50)])

    added = cli("add", empty, file)

    refused = [line for line in added.err.splitlines() if "refused" in line]
    assert added.code == 3
    assert refused[0] == f"{file}:1: refused: the field 'text' is missing; {ADVICE}"
    assert refused[3] == "47 more records were refused: 47 × the field 'text' is missing; --rejects FILE keeps them all"
    assert len([line for line in refused if "is missing" in line]) == 4


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.tsv", "\t")])
def test_a_table_without_the_column_is_refused_with_the_columns_it_has(cli, empty, tmp_path, name, mark):
    file = tmp_path / name
    file.write_text("\n".join([mark.join(("id", "title", "body")), mark.join("123")]))

    added = cli("add", empty, file)

    assert f"{file}: refused: the header row has no column 'text'; {ADVICE}" in added.err


def test_what_nothing_can_be_learned_from_says_why(cli, tmp_path):
    file = write_jsonl(tmp_path / "a.jsonl", [{"id": i, "title": "t", "body": text(i)} for i in range(3)])

    created = cli("dedup", f"file:{tmp_path / 'i'}", "--create", file)

    assert created.code == 1
    assert f"{file}:1: the field 'text' is missing; {ADVICE}" in created.err


def test_records_that_are_refused_for_many_reasons_are_counted_by_reason(cli, empty, tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text("".join('{"id":"","text":"x"}\n[]\n{"text":null}\n' for _ in range(30)))

    added = cli("add", empty, file)

    assert added.err.count(": refused: ") == 9
    for reason in ("the id is empty", "the line is not a JSON object", "the field 'text' is not a string but null"):
        assert f"27 × {reason}" in added.err


def test_a_text_above_eight_megabytes_is_refused_unless_it_is_allowed(cli, tmp_path):
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(gzip.compress(json.dumps({"id": "long", "text": "word " * (2 << 20)}).encode()))

    refused = cli("fingerprint", file)
    allowed = cli("fingerprint", file, "--max-document-bytes", str(12 << 20))

    assert refused.code == 3
    assert "the text is longer than 8,388,608 bytes; --max-document-bytes raises the limit" in refused.err
    assert [record["id"] for record in allowed.records] == ["long"]


def test_files_of_two_folders_with_one_name_are_refused_with_the_way_out(cli, tmp_path):
    for number, folder in enumerate(("a", "b")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text(text(number))
    url = f"file:{tmp_path / 'i'}"

    apart = cli("dedup", url, "--create", tmp_path / "a", tmp_path / "b")

    assert apart.code == 3
    assert f"{tmp_path / 'b' / 'x.txt'}: refused: the id 'x.txt' came before in this input; " in apart.err
    assert "name a folder above all of them" in apart.err
