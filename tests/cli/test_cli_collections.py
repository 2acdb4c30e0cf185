"""The option --collection: commands of one collection see and change nothing of another."""

import pytest
from support.corpus import text, write_jsonl


@pytest.fixture
def few(tmp_path):
    """Return a file of two documents, the second one a copy of the first."""
    return write_jsonl(tmp_path / "few.jsonl", [{"id": "a", "text": text(1)}, {"id": "b", "text": text(1)}])


def ids(called):
    return [record["id"] for record in called.records]


@pytest.mark.parametrize("command", ["claim", "dedup"])
def test_a_text_is_an_original_in_every_collection(cli, empty, few, command):
    first = cli(command, empty, few)
    news = cli(command, empty, few, "--collection", "news")

    assert news.records == first.records
    assert [record["status"] for record in news.records] == ["original", "duplicate"]
    assert cli("copies", empty, "a", "--collection", "news").records[0]["count"] == 1
    assert cli("copies", empty, "a", "--collection", "blogs").code == 1


def test_what_is_added_to_a_collection_is_found_and_removed_there_alone(cli, empty, few):
    added = cli("add", empty, few, "--verbose", "--collection", "a/b: 新闻")
    query = ("query", empty, "--text", text(1))

    assert added.records == cli("fingerprint", few, "--profile-of", empty).records
    matches = cli(*query, "--collection", "a/b: 新闻").record["matches"]
    assert [match["id"] for match in matches] == ["a", "b"]
    assert cli(*query, "--simhash", added.records[0]["simhash"]).records[1]["matches"] == []
    assert cli("get", empty, "a").code == 1
    assert ids(cli("get", empty, "a", "--collection", "a/b: 新闻")) == ["a"]
    assert cli("export", empty).records == []
    assert cli("remove", empty, "a").records == [{"id": "a", "removed": False}]
    assert cli("remove", empty, "a", "--collection", "a/b: 新闻").records == [{"id": "a", "removed": True}]
    assert ids(cli("export", empty, "--collection", "a/b: 新闻")) == ["b"]
    assert cli("verify", empty).code == 0


def test_a_load_goes_into_its_collection(cli, empty, few, tmp_path):
    words = ("load", empty, few, "--into-existing", "--work", tmp_path / "work", "--collection")

    loaded = [cli(*words, name).record for name in ("news", "blogs", "news")]

    assert [(record["documents"], record["known"]) for record in loaded] == [(2, 0), (2, 0), (2, 2)]
    assert cli("export", empty).records == []
    assert sorted(ids(cli("export", empty, "--collection", "blogs"))) == ["a", "b"]


def test_explain_knows_the_ids_of_a_collection(cli, empty, few):
    cli("add", empty, few, "--collection", "news")

    shown = cli("explain", empty, "a", "b", "--collection", "news", "--format", "json")

    assert shown.records[0]["distance"] == 0
    assert "taken as a text" in cli("explain", empty, "a", "b").err


def test_a_run_is_not_resumed_in_another_collection(cli, empty, few, tmp_path):
    words = ("dedup", empty, few, "--results", tmp_path / "results.jsonl", "--collection")
    assert cli(*words, "news").code == 0

    assert cli(*words, "blogs", "--resume").usage_error
    assert cli("export", empty, "--collection", "blogs").records == []


@pytest.mark.parametrize("command", [("spark", "dedup", "a.jsonl"), ("explain", "one text", "another text")])
def test_a_collection_of_no_index_is_refused(cli, command):
    assert "a collection is part of an index: name the index by" in cli(*command, "--collection", "news").usage_error
