"""Places where an index cannot be, cannot be read or cannot grow: one sentence without a password, and no harm."""

import resource

import pytest
from hypothesis import given, strategies as st
from support.results import run

from simhash_hbase.files.remote import shown, without_secrets
from simhash_hbase.index.indexrows import read_profile, write_own_rows
from simhash_hbase.profile.versions import extractor_versions
from simhash_hbase.stores.addresses import open_store


def still_whole(cli, url, documents=60):
    verified = cli("verify", url)
    assert verified.code == 0
    assert verified.record["documents"] == documents


@pytest.mark.parametrize(
    "command", ["add", "claim", "dedup", "query", "get", "remove", "stats", "verify", "vacuum", "export", "backup"]
)
def test_a_missing_index_is_a_failure(cli, tmp_path, corpus_file, command):
    words = {"query": ["--simhash", "0"], "get": ["a"], "remove": ["a"], "backup": [tmp_path / "copy"]}
    words |= {name: [corpus_file] for name in ("add", "claim", "dedup")}

    failed = cli(command, f"file:{tmp_path / 'missing'}", *words.get(command, []))

    assert "no index" in failed.failure
    assert not (tmp_path / "missing").exists()
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("url", ["news.index", "", "file:", "ftp://example.org", "sqlite:a"])
def test_what_is_no_address_is_wrong_usage(cli, url):
    refused = cli("stats", url)

    assert refused.usage_error


def changed_profile(url, **fields):
    """Write another profile into an index, as another machine might have."""
    store = open_store(url)
    write_own_rows(store, read_profile(store).replace(**fields), None)
    store.close()


def test_an_index_made_with_another_dictionary_is_refused_with_both(cli, tmp_path, corpus_file):
    url = f"file:{tmp_path / 'a'}"
    cli("create", url, "--analyzer", "jieba")
    changed_profile(url, dictionary="0" * 32)

    assert f"dictionary='{'0' * 32}'" in cli("add", url, corpus_file).failure


def test_a_machine_that_makes_other_fingerprints_only_reads(cli, filled, corpus_file):
    changed_profile(filled, probe="0" * 32, versions={"unicode": "3.0.0", "jieba": "0.1"})

    assert "made with jieba 0.1, unicode 3.0.0, here is jieba none, unicode" in cli("add", filled, corpus_file).failure
    assert cli("query", filled, "--text", "some text").code == 1
    assert cli("stats", filled).record["documents"] == 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extractor", "warned"), [({"trafilatura": "0.1"}, True), (None, False), (extractor_versions(), False)]
)
def test_pages_that_another_extractor_reads_are_warned_of(cli, filled, tmp_path, corpus_file, extractor, warned):
    page = tmp_path / "a.html"
    page.write_text("<html><body><p>" + "Some words of a page that go on for a while. " * 9 + "</p></body></html>")
    changed_profile(filled, extractor=extractor)

    pages, texts = run("add", filled, page), run("add", filled, corpus_file)

    assert (pages.code, texts.code) == (0, 0)
    assert ("the index was made with trafilatura 0.1" in pages.err) is warned
    assert "warning" not in texts.err


def limited(room=600_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))


@pytest.mark.slow
def test_what_was_acknowledged_before_a_full_disk_stays(cli, filled, simhash_file):
    file = simhash_file("many.jsonl", {f"document {i}": i * 0x9E3779B97F4A7C15 % 2**64 for i in range(6_000)})

    failed = run("add", filled, file, "--simhash-field", "simhash", "--verbose", "--quiet", preexec_fn=limited)

    assert failed.code == 1
    assert "no room" in failed.sentence or "full" in failed.sentence
    acknowledged = [record["id"] for record in failed.records]
    still_whole(cli, filled, 60 + len(acknowledged))
    assert set(acknowledged) <= {record["id"] for record in cli("export", filled).records}
    assert cli("add", filled, file, "--simhash-field", "simhash").code == 0
    still_whole(cli, filled, 6_060)


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize("room", [0, 10_000, 20_000])
def test_an_index_that_a_full_disk_left_unmade_can_be_made_again(cli, tmp_path, room):
    words = ("create", f"file:{tmp_path / 'a'}", "--analyzer", "shingle")

    assert run(*words, preexec_fn=lambda: limited(room)).failure
    assert cli("stats", words[1]).code == 1
    assert cli(*words).code == 0
    still_whole(cli, words[1], 0)


@pytest.mark.slow
@pytest.mark.unmeasured
def test_the_failure_of_a_full_disk_names_the_place_of_the_backup(cli, filled, tmp_path):
    target = tmp_path / "copy"

    failed = run("backup", filled, target, preexec_fn=lambda: limited(16_384))

    assert failed.failure.startswith(f"{target}: no room left")
    assert list(tmp_path.glob("*copy*")) == []
    still_whole(cli, filled)


def test_the_home_folder_in_an_address_is_the_user_s_if_there_is_one(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    assert cli("create", "file:~/i", "--analyzer", "shingle").code == 0
    assert cli("backup", "file:~/i", "file:~/copy").record == {"backup": f"file:{tmp_path / 'copy'}"}
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # As it is without HOME and without an account.
    refused = cli("create", "file:~/j", "--analyzer", "shingle")

    assert refused.usage_error == "file:~/j: this user has no home folder: name the folder by its path"
    assert {path.name for path in tmp_path.iterdir()} == {"i", "copy"}


ADDRESSES = ("redis://:hunter2@127.0.0.1:1/0", "rediss://me:hunt/hunter2@127.0.0.1:1/0", "hbase://me:hunter2@h:x/t",
             "rediss:me:hunter2@h", "HBASE+HTTPS://me:hunt/hunter2@h:x/t", "hbase+http://me:a/hunter2@h:x/t",
             "https://me:hunter2@127.0.0.1:1/i", "http://me:hunter2@127.0.0.1:1/i")  # fmt: skip
LINES = ("stats {}", "{} stats", "stats {} {}", "create {} --regions 9", "load {} a", "backup {}", "schema {}",
         "explain {} a b")  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("line", LINES)
def test_no_message_repeats_a_password(cli, address, line):
    failed = cli(*line.replace("{}", address).split())

    assert failed.code in (1, 2)
    assert "hunter2" not in failed.err


# Passwords with signs that should have been percent-encoded.
PASSWORDS = st.lists(st.sampled_from(["topsecret", *"/?#@:[]%+&=*~ '", "80", "\u5bc6"]), min_size=1).map("".join)


@given(password=PASSWORDS, scheme=st.sampled_from(["s3", "gs", "hf", "http", "https"]))
def test_an_address_is_shown_without_its_password_whatever_signs_it_has(password, scheme):
    said = shown(f"{scheme}://me:{password}@place/a.jsonl?x=1")

    assert "topsecret" not in said
    assert said.startswith(f"{scheme}://")
    assert said == f"{scheme}://…" or said.removesuffix("?x=1").endswith("place/a.jsonl")


@pytest.mark.parametrize(
    "url",
    ["s3://me:topsecret/x@b/a", "gs://topsecret@b/a", "hf://[topsecret@b/a", "https://topsecret@0.0.0.0:1/?topsecret"],
)
@pytest.mark.parametrize("words", [("--output",), ("--clusters",), ("--report",), ("--results",), ()])
def test_no_message_has_the_password_of_an_address(cli, empty, corpus_file, url, words):
    done = cli("dedup", empty, *([corpus_file] if words else []), *words, url)

    assert done.code in {1, 2}
    assert "topsecret" not in done.sentence
    assert words or url.startswith("https") or "give them in the environment" in done.usage_error


def test_addresses_in_a_message_lose_what_may_be_secret():
    said = "see 'HTTP://a:b@c.org/d?e=f', (https://g.org/h#i) and s3://j/k?.gz: no ftp://l:m@n/o."

    assert without_secrets(said) == "see 'HTTP://c.org/d', (https://g.org/h) and s3://j/k?.gz: no ftp://n/o."
