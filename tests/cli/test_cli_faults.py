"""Bad input and bad places: one sentence, the right exit code, and nothing that was stored is harmed."""

import json
import os

import pytest
from support.corpus import near_copies, text, write_jsonl

GOOD = json.dumps({"id": "good", "text": text(99)}).encode()
BAD_LINES = {
    "broken JSON": b'{"id": "bad", "text": "never closed',
    "no object": b"[1, 2, 3]",
    "wrong encoding": '{"id": "bad", "text": "拖拉机学院"}'.encode("gb18030"),
    "binary": b"\x7fELF\x02\x01\x01\x00\x00\xff\xfe\x00",
    "empty text": b'{"id": "bad", "text": ""}',
    "blank text": b'{"id": "bad", "text": "  \\n\\u3000"}',
    "no features": '{"id": "bad", "text": "……！？"}'.encode(),
    "missing field": b'{"id": "bad", "body": "no text"}',
    "text is a number": b'{"id": "bad", "text": 5}',
    "NUL": b'{"id": "bad", "text": "a\\u0000b"}',
    "empty id": b'{"id": "", "text": "some words here"}',
    "id is a list": b'{"id": [], "text": "some words here"}',
}


def still_whole(cli, url, documents=60):
    verified = cli("verify", url)
    assert verified.code == 0
    assert verified.record["documents"] == documents


@pytest.mark.parametrize("command", ["add", "dedup", "query", "fingerprint"])
@pytest.mark.parametrize("kind", BAD_LINES)
def test_a_bad_line_is_refused_with_its_place_and_the_rest_goes_on(cli, filled, tmp_path, command, kind):
    file, rejects = tmp_path / "a.jsonl", tmp_path / "rejects.jsonl"
    file.write_bytes(b"\n".join([GOOD.replace(b"good", b"first"), BAD_LINES[kind], GOOD]) + b"\n")
    words = ["--analyzer", "shingle"] if command == "fingerprint" else [filled]
    verbose = ["--verbose"] if command == "add" else []

    done = cli(command, *words, file, *verbose, "--rejects", rejects)

    assert done.code == 3
    assert [record.get("id", record.get("query")) for record in done.records] == ["first", "good"]
    assert f"{file}:2: refused: " in done.err
    assert "Traceback" not in done.err
    assert "1 refused" in done.err
    [kept] = [json.loads(line) for line in rejects.read_text(encoding="utf-8").splitlines()]
    assert (kept["file"], kept["line"]) == (str(file), 2)
    assert kept["reason"]


@pytest.mark.parametrize("kind", [kind for kind in BAD_LINES if kind not in ("binary", "wrong encoding")])
def test_the_rejects_file_keeps_the_line_whole(cli, filled, tmp_path, kind):
    file, rejects = tmp_path / "a.jsonl", tmp_path / "rejects.jsonl"
    file.write_bytes(BAD_LINES[kind] + b"\n")

    cli("add", filled, file, "--rejects", rejects)

    assert json.loads(rejects.read_text(encoding="utf-8"))["raw"].encode() == BAD_LINES[kind]
    still_whole(cli, filled)


def test_all_refused_lines_are_kept_however_many(cli, filled, tmp_path):
    file, rejects = tmp_path / "a.jsonl", tmp_path / "rejects.jsonl"
    file.write_text("".join(f'{{"id": "{i}"}}\n' for i in range(1_500)))

    done = cli("add", filled, file, "--rejects", rejects)

    assert done.code == 3
    assert len(done.err.splitlines()) < 30
    assert [json.loads(line)["line"] for line in rejects.read_text().splitlines()] == list(range(1, 1_501))


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.jsonl", bytes(range(256)) * 200),
        ("a.jsonl.gz", b"\x1f\x8b\x08broken"),
        ("a.jsonl.gz", b"no gzip at all"),
        ("a.jsonl.zst", b"\x28\xb5\x2f\xfdno"),
    ],
)
def test_a_binary_or_damaged_file_is_refused(cli, filled, tmp_path, name, start):
    file = tmp_path / name
    file.write_bytes(start)

    done = cli("add", filled, file)

    assert done.code == 3
    assert str(file) in done.err
    assert "Traceback" not in done.err
    still_whole(cli, filled)


@pytest.mark.parametrize("command", ["add", "dedup", "query", "fingerprint"])
def test_a_missing_file_is_a_failure_before_anything_is_done(cli, filled, corpus_file, command):
    words = [] if command == "fingerprint" else [filled]

    failed = cli(command, *words, corpus_file, "no such file.jsonl")

    assert failed.code == 1
    assert failed.out == b""
    assert "no such file.jsonl" in failed.sentence


def test_an_unreadable_file_is_refused(cli, filled, tmp_path, corpus):
    file = write_jsonl(tmp_path / "a.jsonl", corpus)
    file.chmod(0)
    if os.access(file, os.R_OK):
        # The super-user reads everything, except what cannot be read.
        file.unlink()
        file.symlink_to("/proc/self/mem")

    done = cli("add", filled, file)

    assert done.code in (1, 3)
    assert str(file) in done.err
    assert "Traceback" not in done.err
    still_whole(cli, filled)


def test_a_file_of_an_unknown_kind_is_a_failure(cli, filled, tmp_path):
    file = tmp_path / "a.pdf"
    file.write_bytes(b"%PDF-1.7")

    failed = cli("add", filled, file)

    assert failed.code in (1, 2)
    assert str(file) in failed.sentence


def test_a_missing_id_is_told(cli, filled):
    failed = cli("query", filled, "--id", "nobody")

    assert failed.code in (1, 2)
    assert "nobody" in failed.sentence


def test_a_list_of_ids_that_is_missing_or_no_text_is_a_failure(cli, filled, tmp_path):
    binary = tmp_path / "ids"
    binary.write_bytes(b"\xff\xfe\n")

    for source in (tmp_path / "missing", binary):
        failed = cli("remove", filled, "--from", source)
        assert failed.code == 1
        assert str(source) in failed.sentence
    still_whole(cli, filled)


def test_sizes_of_documents_may_differ_as_they_like(cli, empty, tmp_path):
    records = [{"id": "one character", "text": "x"}, {"id": "a megabyte", "text": text(1) * 300}, *near_copies(1, 1)]
    file = write_jsonl(tmp_path / "a.jsonl", records)

    done = cli("dedup", empty, file)

    assert done.code == 0
    assert [record["short"] for record in done.records] == [True, False, False]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--distance", "x"), "--distance is 'x': wanted a whole number from 0 to 64"),
        (("--distance", "65"), "--distance is '65': wanted a whole number from 0 to 64"),
        (("--similarity", "much"), "--similarity is 'much': wanted a number from 0 to 1"),
        (("--limit", "0"), "--limit is '0': wanted a whole number from 1 up"),
        (("--limit",), "option '--limit' requires an argument"),
        (("--no-such-option",), "no such option '--no-such-option'"),
    ],
)
def test_wrong_usage_is_one_sentence_in_the_style_of_all_errors(cli, empty, words, sentence):
    refused = cli("query", empty, *words)

    assert (refused.code, refused.out) == (2, b"")
    assert refused.sentence.startswith(sentence)
    assert refused.sentence.endswith("; see simhash-hbase query --help")


def test_a_number_that_a_variable_sets_wrong_names_it(cli, empty, monkeypatch):
    monkeypatch.setenv("SIMHASH_HBASE_LIMIT", "many")

    refused = cli("query", empty, "--simhash", "0")

    assert refused.sentence.startswith("variable SIMHASH_HBASE_LIMIT is 'many': wanted a whole number from 1 up")
