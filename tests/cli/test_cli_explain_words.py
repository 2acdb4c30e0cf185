"""What A and B of `explain` are taken for, and that each of its options does something."""

import json

import pytest
from support.corpus import near_copies, text, write_jsonl

ONE = "我 喜欢 看 电视，不 喜欢 看 电影"
OTHER = "我 不 喜欢 看 电视，也 不 喜欢 看 电影"


def test_the_cosine_of_the_write_up_s_two_sentences(cli):
    record = cli("explain", ONE, OTHER).record

    assert record["word_cosine"] == pytest.approx(0.938, abs=5e-4)
    assert ", 0.94 of unweighted words" in cli("explain", ONE, OTHER, "--format", "table").out.decode()


def test_the_cosine_of_features_of_one_s_own(cli, tmp_path):
    counts = [
        {word: sentence.count(word) for word in ["我", "喜欢", "看", "电视", "电影", "不", "也"]}
        for sentence in (ONE, OTHER)
    ]
    counts[0]["不"], counts[1]["不"] = 1, 2
    files = [
        write_jsonl(tmp_path / f"{n}.jsonl", [{"words": [[w, c] for w, c in count.items() if c]}])
        for n, count in enumerate(counts)
    ]

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

    record = cli("explain", filled, "group 0 copy 0", file, "--simhash-field", "simhash").record

    assert record["distance"] == 0
    assert "The index keeps no texts" in cli("explain", filled, "group 0 copy 0", "group 0 copy 1", "--format",
                                             "table").out.decode()  # fmt: skip


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"simhash": "ff"}], "'ff' is not a fingerprint"),
        ([{"simhash": 1}, {"simhash": 2}], "holds more than one document: wanted one"),
        ([], "holds no document: wanted one"),
    ],
)
def test_a_file_that_is_not_one_fingerprint_is_refused(cli, tmp_path, records, message):
    good = write_jsonl(tmp_path / "good.jsonl", [{"simhash": 5}])
    bad = write_jsonl(tmp_path / "bad.jsonl", records)

    refused = cli("explain", "--simhash-field", "simhash", good, bad)

    assert refused.code == 1
    assert str(bad) in refused.sentence
    assert message in refused.sentence


RECORD = {"id": 1, "text": text(1)}


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.json", "a.csv", "a.tsv"])
def test_of_a_file_with_records_the_text_of_its_one_record_counts(cli, tmp_path, name):
    file = tmp_path / name
    if "json" in name:
        write_jsonl(file, [RECORD])
    else:
        gap = "\t" if name.endswith(".tsv") else ","
        file.write_text(f"id{gap}text\n1{gap}{text(1)}\n")

    record = cli("explain", "--analyzer", "shingle", file, text(1)).record

    assert (record["distance"], record["features"]["only_a"]) == (0, 0)
    assert record["a"]["id"] == str(file)


def test_the_text_of_a_record_is_in_the_field_that_is_named(cli, filled, tmp_path):
    file = write_jsonl(tmp_path / "a.jsonl", [{"body": text(0)}])

    assert cli("explain", filled, file, "group 0 copy 0", "--text-field", "body").record["distance"] == 0
    refused = cli("explain", filled, file, "group 0 copy 0")
    assert refused.code == 1
    assert "the field 'text' is missing" in refused.sentence


@pytest.mark.parametrize("records", [[RECORD, RECORD], [RECORD, {}], []])
def test_a_file_that_is_not_one_record_is_refused(cli, tmp_path, records):
    file = write_jsonl(tmp_path / "a.jsonl", records)

    refused = cli("explain", "--analyzer", "shingle", file, text(1))

    assert refused.code == 1
    assert f"{file} holds {'more than one document' if records else 'no document'}: wanted one" in refused.sentence


@pytest.mark.parametrize(("words", "taken"), [(("lib", "lib-edit"), ["lib", "lib-edit"]), (("百科", text(1)), ["百科"]),
                                              ((text(1), text(2)), []), (("lib", "edit", "--text"), [])])  # fmt: skip
def test_a_single_word_that_names_no_file_is_said_to_be_taken_as_a_text(cli, words, taken):
    done = cli("explain", "--analyzer", "shingle", "--shingle", 1, *words)

    assert done.code == 0
    assert done.err == "".join(f"{word}: no file, so it is taken as a text\n" for word in taken)


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


@pytest.mark.parametrize("word", ["今天天气很好。明天也是", "v1.2 is here", "3.14", "e.g. this", "Hello!"])
def test_other_words_are_texts(cli, word):
    assert cli("explain", "--analyzer", "shingle", "--shingle", 2, word, word + " and").code == 0


def test_text_takes_names_of_files_and_ids_for_texts(cli, filled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(text(0))

    record = cli("explain", filled, "a.txt", "group 0 copy 0", "--text").record

    assert (record["a"]["id"], record["b"]["id"]) == ("text", "text")


@pytest.mark.parametrize("words", [("--analyzer", "jieba"), ("--scheme", "6x3"), ("--seed", "5"), ("--learn-from",)])
def test_another_profile_than_the_index_s_is_refused(cli, filled, corpus_file, words):
    words = (*words, corpus_file) if words == ("--learn-from",) else words

    refused = cli("explain", filled, "group 0 copy 0", "group 0 copy 1", *words)

    assert refused.code == 2
    assert "the index has its own profile" in refused.sentence


@pytest.mark.parametrize("option", ["--id-field", "--metadata-field", "--rejects", "--workers"])
def test_options_that_would_do_nothing_do_not_exist(cli, option):
    assert cli("explain", "a", "b", option, "1").code == 2
    assert option.encode() not in cli("explain", "--help").out


def test_the_sample_of_an_idf_is_read_as_its_options_say(cli, tmp_path):
    sample = tmp_path / "sample"
    sample.write_bytes("".join(f"{d['id']},{d['text']}\n" for d in [{"id": "id", "text": "body"}, *near_copies(9, 2)])
                       .encode("utf-16"))  # fmt: skip
    words = ("--learn-from", sample, "--input-format", "csv", "--text-field", "body")

    record = cli("explain", *words, text(1), text(1, changed=3)).record

    assert record["features"]["only_a"]


def test_every_scheme_of_an_address_is_an_address(cli):
    for address in ("redis://127.0.0.1:1/0", "rediss://127.0.0.1:1/0"):
        failed = cli("explain", address, "a", "b")
        assert failed.code == 1
        assert "cannot be reached" in failed.sentence
