"""``--batch``: the documents of a crawl, counted, exported and taken back by its name."""

import pytest
from support.corpus import text, write_jsonl

MONDAY = {"m1": text("x"), "m2": text("x", changed=1), "m3": text("y")}
TUESDAY = {"t1": text("x", changed=2), "t2": text("z")}


def records(texts):
    return [{"id": name, "text": words} for name, words in texts.items()]


@pytest.fixture
def days(tmp_path):
    return write_jsonl(tmp_path / "monday.jsonl", records(MONDAY)), write_jsonl(
        tmp_path / "tuesday.jsonl", records(TUESDAY)
    )


def counts(cli, url):
    return {each["batch"]: (each["originals"], each["duplicates"]) for each in cli("batches", url).records}


def test_a_bad_crawl_is_taken_back(cli, empty, days):
    monday, tuesday = days
    cli("claim", empty, monday, "--batch", "monday")
    cli("claim", empty, tuesday, "--batch", "tuesday")
    assert counts(cli, empty) == {"monday": (2, 1), "tuesday": (1, 1)}
    assert sorted(each["id"] for each in cli("export", empty, "--batch", "tuesday").records) == ["t1", "t2"]

    gone = cli("remove", empty, "--batch", "monday")

    assert sorted(each["id"] for each in gone.records if each["removed"]) == ["m1", "m2", "m3"]
    assert counts(cli, empty) == {"tuesday": (1, 1)}
    again = cli("claim", empty, monday, "--batch", "monday, again")
    assert [each["status"] for each in again.records] == ["original", "duplicate", "original"]


@pytest.mark.parametrize("command", ["add", "claim", "dedup", "load"])
def test_each_command_that_writes_takes_the_name(cli, empty, days, command):
    assert cli(command, empty, days[1], "--batch", "周二").code == 0
    assert counts(cli, empty) == {"周二": (2, 0)}


def test_a_load_into_an_existing_index_has_its_batch_for_known_ids_too(cli, empty, tmp_path, days):
    cli("load", empty, days[0], "--batch", "monday")
    other = write_jsonl(tmp_path / "other.jsonl", records({"m1": text("w"), "m2": MONDAY["m2"], "n": text("v")}))
    cli("load", empty, other, "--into-existing", "--batch", "other")
    # A document whose text stands in the index stays in the batch that brought it.
    assert counts(cli, empty) == {"monday": (2, 0), "other": (2, 0)}


def test_an_unfinished_load_goes_on_in_its_own_batch(cli, empty, tmp_path, days, monkeypatch):
    words = ("load", empty, days[0], "--work", tmp_path / "work", "--batch")

    def fail(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("simhash_hbase.bulk.load", fail)
        assert cli(*words, "monday").code > 1
    assert "holds an unfinished load in the batch 'monday'" in cli(*words, "tuesday").usage_error
    assert cli(*words, "monday").code == 0
    assert counts(cli, empty) == {"monday": (3, 0)}


def test_a_resumed_dedup_stays_in_its_batch(cli, empty, tmp_path, days):
    words = ("dedup", empty, days[0], "--results", tmp_path / "done.jsonl", "--batch")
    assert cli(*words, "monday").code == 0
    assert "other options" in cli(*words, "tuesday", "--resume").usage_error
    assert cli(*words, "monday", "--resume").code == 0


def test_a_name_without_documents_is_said(cli, filled):
    for command in ("remove", "export"):
        answer = cli(command, filled, "--batch", "mondey")
        assert (answer.code, answer.records) == (0, [])
        assert "no document of the index is in the batch 'mondey': the command batches lists them" in answer.err


def test_most_of_an_index_is_removed_with_yes(cli, empty, corpus_file):
    cli("add", empty, corpus_file, "--batch", "all")
    sentence = "the batch 'all' has 60 of the 60 documents; if all of them are to go, repeat it with --yes"
    assert cli("remove", empty, "--batch", "all").usage_error == sentence
    assert len(cli("remove", empty, "--batch", "all", "--yes").records) == 60


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("remove", "a", "--batch", "b"), "--batch goes without IDs and without --from"),
        (("remove", "a", "--yes"), "--yes goes with --batch"),
        (("remove",), "nothing to remove: name an ID, --from FILE or --batch NAME"),
        (("add", "-", "--batch", ""), "the name of a batch is ''"),
        (("load", "-", "--batch", "a\nb"), "the name of a batch is"),
    ],
)
def test_what_contradicts_is_refused(cli, empty, words, sentence):
    command, *others = words
    answer = cli(command, empty, *others)
    assert answer.code in (1, 2)
    assert sentence in answer.err


def test_a_temporary_index_has_no_batches(cli, days):
    for command in ("claim", "dedup"):
        assert cli(command, days[0], "--batch", "a").usage_error == "--batch needs an address, such as file:docs.index"
