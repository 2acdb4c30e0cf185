"""``dedup`` from the command line: decisions, what it writes and never writes over, and runs without an address."""

import gzip
import json
import os
import random
import re
from contextlib import closing
from pathlib import Path

import lmdb
import pytest
from support.corpus import forms, near_copies, text, write_jsonl
from support.patience import END_S

from simhash_hbase.api import IN_MEMORY_BYTES, temporary_index
from simhash_hbase.stores.embedded import EmbeddedStore
from simhash_hbase.stores.memory import MemoryStore

SHINGLES = ("--create", "--analyzer", "shingle")


def decided(result):
    return {record["id"]: record["of"] for record in result.records}


def test_dedup_prints_a_decision_a_document_in_input_order(cli, url, corpus, corpus_file):
    done = cli("dedup", url, corpus_file, *SHINGLES)

    assert done.code == 0
    assert [record["id"] for record in done.records] == [document["id"] for document in corpus]
    fields = {"id", "status", "of", "distance", "similarity", "containment", "short"}
    assert all(set(record) == fields for record in done.records)
    assert done.originals == [f"group {i} copy 0" for i in range(20)]
    for record in done.records:
        if record["status"] == "duplicate":
            assert record["of"] == record["id"][:-1] + "0"
            assert 0 <= record["distance"] <= 7
            assert record["similarity"] >= 0.77
        else:
            assert (record["of"], record["distance"], record["similarity"]) == (None, None, None)
    assert "60 documents, 20 kept, 40 duplicates" in done.err


def test_a_dry_run_with_create_makes_no_index(cli, url, tmp_path, corpus_file):
    dry = cli("dedup", url, corpus_file, *SHINGLES, "--dry-run")

    assert (dry.code, len(dry.records)) == (0, 60)
    assert not (tmp_path / "new.index").exists()
    assert cli("dedup", url, corpus_file, *SHINGLES).out == dry.out


def test_create_learns_the_idf_from_the_input(cli, url, corpus_file):
    done = cli("dedup", url, corpus_file, "--create")

    assert done.code == 0
    assert "learning the idf" in done.err
    profile = cli("create", url, "--learn-from", corpus_file, "--if-not-exists")
    assert (profile.code, profile.record["analyzer"], profile.record["idf_documents"]) == (0, "learned", 60)


@pytest.mark.parametrize(
    ("made", "asked", "said"),
    [
        ((), ("--shingle", 7), "shingle=7"),
        (("--no-sketch",), ("--seed", 1), "seed=1"),
        (("--band-distance", "24"), ("--band-distance", "16,24"), "band_distance="),
        (("--bands", "0"), ("--bands", "6"), "bands=6"),
        (("--near", "text"), ("--near", "subject"), "near='text'"),
        (("--near", "subject"), ("--near", "text"), "near='subject'"),
    ],
)
def test_create_takes_only_the_index_that_it_made(cli, url, corpus_file, made, asked, said):
    first, again = (cli("dedup", url, corpus_file, *SHINGLES, *made) for _ in range(2))

    fewer = cli("dedup", url, corpus_file, *SHINGLES)
    refused = cli("dedup", url, corpus_file, *SHINGLES, *asked)

    assert (first.code, again.code, fewer.code) == (0, 0, 0)
    assert again.out == fewer.out == first.out
    assert said in refused.failure


def test_only_near_text_joins_pages_of_one_template(cli, tmp_path):
    pages = write_jsonl(tmp_path / "pages.jsonl", [{"id": str(i), "text": page} for i, page in enumerate(forms(30))])

    subject, same, text = (cli("dedup", pages, *words) for words in ((), ("--near", "subject"), ("--near", "text")))

    assert subject.out == same.out
    assert len(text.originals) < 5
    assert len(subject.originals) > 10


def test_a_missing_index_is_a_failure_without_create(cli, url, corpus_file):
    missing = cli("dedup", url, corpus_file)

    assert missing.failure.endswith(": simhash-hbase create makes one, or dedup with --create")


def test_profile_options_without_create_are_wrong_usage(cli, filled, corpus_file):
    options = cli("dedup", filled, corpus_file, "--scheme", "4x1")

    assert "--create" in options.usage_error


@pytest.mark.slow
def test_a_repeated_id_is_refused_over_files_and_batches(cli, url, simhash_file, tmp_path):
    first = simhash_file("first.jsonl", {f"document {i}": i << 20 for i in range(1500)})
    second, rejects = simhash_file("second.jsonl", {"document 3": 5, "new": 6 << 40}), tmp_path / "rejects.jsonl"

    done = cli("dedup", url, first, second, *SHINGLES, "--simhash-field", "simhash", "--rejects", rejects)

    assert (done.code, len(done.records)) == (3, 1501)
    assert f"{second}:1" in done.err
    kept = json.loads(rejects.read_text())
    assert (kept["file"], kept["line"], kept["id"]) == (str(second), 1, "document 3")
    assert "before" in kept["reason"]
    assert kept["raw"] == second.read_text().splitlines()[0]


@pytest.mark.parametrize("name", ["kept.jsonl", "kept.jsonl.gz"])
@pytest.mark.parametrize("keep", ["first", "longest"])
def test_the_kept_documents_are_written_as_they_came(cli, url, tmp_path, keep, name):
    lines = [f'{{"id": "{i}",  "text":"{text(i // 2, changed=i % 2)}", "more": [1, "汉"]}}' for i in range(8)]
    file, kept = tmp_path / "a.jsonl", tmp_path / name
    file.write_text("\n".join(lines), encoding="utf-8")

    done = cli("dedup", url, file, *SHINGLES, "--keep", keep, "--output", kept)

    data = gzip.decompress(kept.read_bytes()) if name.endswith(".gz") else kept.read_bytes()
    assert len(done.originals) == 4
    assert data.decode().splitlines() == [lines[int(name)] for name in done.originals]


SOURCES = ["wire", "paper", "blog", "unknown"]
ORDERS = {
    "longest": lambda document: -len(document["text"]),
    "best:score": lambda document: -float(document["score"]),
    "best:-score": lambda document: float(document["score"]),
    "rank:source=paper,wire,blog": lambda document: [1, 0, 2, 3][SOURCES.index(document["source"])],
}


def scored(documents):
    """Give documents other lengths, scores, some of them equal and some as strings, and sources."""
    chance = random.Random(5)
    for at, document in enumerate(documents):
        score, words = chance.randrange(4) / 2, document["text"][: len(document["text"]) - 7 * (at * 7 % 11)]
        own = {"score": chance.choice([score, str(score)]), "source": chance.choice(SOURCES)}
        yield {**document, "text": words, **own}


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_an_order_decides_as_an_input_in_this_order(cli, url, tmp_path, monkeypatch, order):
    monkeypatch.setattr("simhash_hbase.corpus.ranking.BATCH", 50)
    documents = list(scored(near_copies(30, 4)))
    as_is = write_jsonl(tmp_path / "a.jsonl", documents)
    in_order = write_jsonl(tmp_path / "b.jsonl", sorted(documents, key=ORDERS[order]))

    ordered = cli("dedup", url, as_is, *SHINGLES, "--keep", order)
    first = cli("dedup", url + "2", in_order, *SHINGLES)

    assert [record["id"] for record in ordered.records] == [document["id"] for document in documents]
    assert sorted(ordered.out.splitlines()) == sorted(first.out.splitlines())
    assert decided(ordered) != decided(cli("dedup", url + "3", as_is, *SHINGLES))


def test_records_that_cannot_be_ranked_are_refused_with_their_reason(cli, url, tmp_path):
    scores = [{"score": 1}, {}, {"score": "high"}, {"score": True}, {"score": "nan"}, {"score": "2.5"}, {"score": None}]
    records = [{"id": str(at), "text": text(1), **score} for at, score in enumerate(scores)]
    file, unranked = write_jsonl(tmp_path / "a.jsonl", records), tmp_path / "a.txt"
    unranked.write_text(text(1))

    done, failed = (cli("dedup", url, path, *SHINGLES, "--keep", "best:score") for path in (file, unranked))

    assert (done.code, failed.code) == (3, 1)
    assert "the format has no field 'score'" in failed.err
    assert decided(done) == {"0": "5", "5": None}
    assert f"{file}:2: refused: the field 'score' is missing" in done.err
    assert f"{file}:3: refused: the field 'score' is not a number" in done.err
    assert "5 refused" in done.err


@pytest.mark.parametrize("order", ["last", "best:", "best:-", "rank:source", "rank:source=a,,b", "rank:source=a,b,a"])
def test_an_order_that_is_none_is_refused(cli, url, corpus_file, order):
    assert f"keep is '{order}'" in cli("dedup", url, corpus_file, *SHINGLES, "--keep", order).usage_error


def test_options_exact_and_contained_judge_by_texts(cli, url, tmp_path):
    longer = text(1) + text(7)[: len(text(1)) // 3]
    rows = [{"id": "a", "text": text(1)}, {"id": "b", "text": longer}, {"id": "c", "text": text(1).upper()}]
    file = write_jsonl(tmp_path / "a.jsonl", rows)
    words = ("dedup", "memory:", file, *SHINGLES, "--similarity", "0.4")

    alike, more = cli(*words, "--exact", "--keep", "longest"), cli(*words, "--contained", "0.9")

    assert decided(alike) == {"a": "b", "b": None, "c": "b"}
    assert decided(more) == {"a": None, "b": None, "c": "a"}
    near = more.records[1]["near"]
    assert near["id"] == "a"
    assert near["similarity"] == near["containment"] == alike.records[0]["similarity"]
    assert [record["containment"] for record in (alike.records[0], more.records[2])] == [1, 1]
    assert "1 kept for too little in a near copy" in more.err
    for refused in (["--resume", "--results", tmp_path / "r"], ["--match", "distance"]):
        assert cli("dedup", url, file, "--create", *refused, "--exact").code != 0


@pytest.mark.parametrize(
    ("rule", "judged"),
    [("--match=copied", "--exact"), ("--match=distance", "--contained=0.9"), ("--no-sketch", "--exact")],
)
def test_a_run_whose_rule_judges_no_texts_makes_no_index(cli, url, corpus_file, rule, judged):
    done = cli("dedup", url, corpus_file, "--create", rule, judged)

    name = "copied" if rule == "--match=copied" else "distance"
    assert done.usage_error.endswith(f"this index has rule {name}")
    assert "there is no index" in cli("stats", url).sentence


def test_fingerprints_and_features_without_texts_have_no_exact_similarity(cli, url, tmp_path):
    rows = [{"id": "a", "simhash": "00", "words": [["x", 1]]}, {"id": "b", "simhash": "01", "words": [["x", 1]]}]
    file = write_jsonl(tmp_path / "a.jsonl", rows)

    for own in (["--simhash-field", "simhash"], ["--features-field", "words"]):
        assert "no texts to compare" in cli("dedup", url, file, *own, "--exact").usage_error


@pytest.mark.parametrize("keep", ["best:score", "longest"])
def test_the_index_keeps_what_it_holds_whatever_is_preferred(cli, url, tmp_path, keep):
    held = write_jsonl(tmp_path / "held.jsonl", [{"id": "held", "text": text(1), "score": 1}])
    more = write_jsonl(tmp_path / "more.jsonl", [{"id": "better", "text": text(1) + " and so on", "score": 9}])
    cli("dedup", url, held, *SHINGLES)

    done = cli("dedup", url, more, "--keep", keep)

    assert decided(done) == {"better": "held"}
    assert cli("dedup", url, held, more, "--keep", keep).records[1] == done.record


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the present folder, with two texts in it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(2):
        (folder / f"{number}.txt").write_text(text(number))
    os.link(folder / "0.txt", tmp_path / "link.txt")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("option", ["--output", "--clusters", "--report", "--results", "--rejects"])
@pytest.mark.parametrize(
    "case",
    [
        ("0.txt", "./0.txt", 2, " is a file of the input: name another one"),
        ("0.txt", "../link.txt", 2, " is a file of the input: name another one"),
        (".", "new", 2, " is in ., which is read: name a place outside of it"),
        (".", "below/new", 2, " is in ., which is read: name a place outside of it"),
        ("0.txt", "nodir/x.html", 1, ": there is no folder nodir: make it first"),
    ],
)
def test_a_file_that_is_read_is_not_written_over(cli, url, folder, option, case):
    read, place, code, said = case
    before = {path: path.read_bytes() for path in folder.rglob("*")}

    refused = cli("dedup", url, read, *SHINGLES, option, place)

    assert (refused.code, refused.out, refused.sentence) == (code, b"", f"{option} {place}{said}")
    assert {path: path.read_bytes() for path in folder.rglob("*")} == before
    assert not (folder.parent / "new.index").exists()


@pytest.mark.parametrize("option", ["--output", "--clusters", "--report", "--results", "--rejects"])
def test_the_files_of_an_index_are_not_written_over(cli, url, filled, folder, option):
    data = Path(filled.removeprefix("file:"), "data.mdb")
    before = data.read_bytes()

    refused = cli("dedup", url, "0.txt", *SHINGLES, option, data)

    assert (refused.code, refused.sentence) == (2, f"{option} {data} is a file of an index: name another one")
    assert data.read_bytes() == before


@pytest.mark.parametrize("command", ["add", "query", "fingerprint"])
def test_rejects_are_not_written_over_the_input(cli, filled, tmp_path, corpus_file, command):
    before = corpus_file.read_bytes()
    words = ["--analyzer", "shingle"] if command == "fingerprint" else [filled]

    refused = cli(command, *words, tmp_path / "corp*.jsonl", "--rejects", corpus_file)

    assert "is a file of the input" in refused.usage_error
    assert corpus_file.read_bytes() == before


def test_two_outputs_go_to_two_files_or_to_one_device(cli, url, tmp_path, corpus_file):
    dedup, one = ("dedup", url, corpus_file, *SHINGLES), tmp_path / "one"

    refused = cli(*dedup, "--output", one, "--clusters", f"{tmp_path}/./one")
    checkpoint = cli(*dedup, "--results", one, "--output", f"{one}.checkpoint")

    assert f"--output and --clusters both name {tmp_path}/./one" in refused.usage_error
    assert f"--output and the checkpoint both name {one}.checkpoint" in checkpoint.usage_error
    assert not one.exists()
    assert len(cli(*dedup, "--clusters", "/dev/null", "--rejects", "/dev/null").records) == 60


@pytest.mark.parametrize("made", [False, True])
def test_an_index_in_a_folder_that_is_read_is_not_read_as_documents(cli, folder, made):
    if made:
        assert cli("create", "file:x.index", "--analyzer", "shingle").code == 0

    refused = cli("dedup", "file:x.index", ".", *SHINGLES)

    assert "the index x.index is in ., which is read" in refused.usage_error
    assert (folder / "x.index").exists() == made


def test_what_is_hidden_from_reading_may_be_written_there(cli, folder):
    done = cli("dedup", "file:.x.index", ".", *SHINGLES, "--output", ".kept", "--report", "/dev/null")

    assert [record["id"] for record in done.records] == ["0.txt", "1.txt"]
    assert len(list((folder / ".kept").iterdir())) == 2


GONE = "the index was temporary and is gone; an address, such as file:docs.index, names one that stays"


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Return the folder for temporary files, an empty one."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", ["dedup", "claim"])
def test_the_decisions_are_those_of_an_index_that_stays(cli, tmp_path, temporary, corpus_file, command):
    wanted = cli("dedup", f"file:{tmp_path / 'a'}", "--create", corpus_file)

    done = cli(command, corpus_file)

    assert (done.code, done.out) == (0, wanted.out)
    assert done.err.splitlines()[-1] == GONE
    assert GONE not in wanted.err
    assert list(temporary.iterdir()) == []


def test_options_of_an_index_count(cli, corpus_file, tmp_path):
    report = tmp_path / "report.html"
    done = cli("dedup", "--analyzer", "shingle", "--short", "100000", corpus_file, "--quiet", "--report", report)

    assert (done.code, done.err) == (0, "")
    assert {record["short"] for record in done.records} == {True}
    assert "a temporary index" in report.read_text()


def test_an_address_may_come_after_the_files(cli, corpus_file, empty):
    assert cli("dedup", corpus_file, empty).code == 0
    assert len(cli("export", empty).records) == 60
    assert cli("dedup", "news.index").sentence == "news.index does not exist"


@pytest.mark.parametrize("words", [["dedup"], ["claim"], ["dedup", "--analyzer", "learned", "--similarity", "0.9"]])
def test_an_input_without_a_text_to_learn_from_has_its_result(cli, tmp_path, words):
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "bad.jsonl").write_text('{"id": "a"}\nwords\n')
    output = ["--output", tmp_path / "kept.jsonl"] if words[0] == "dedup" else []

    empty, bad = (cli(*words, tmp_path / f"{name}.jsonl", *output) for name in ("empty", "bad"))

    assert (empty.code, empty.out) == (0, b"")
    assert (bad.code, bad.out) == (3, b"")
    assert re.findall(r"jsonl:(\d): refused: ", bad.err) == ["1", "2"]
    assert not output or (tmp_path / "kept.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("dedup file:a {corpus} memory:", "file:a and memory: are two addresses: name one index"),
        ("dedup file:a", "missing argument 'FILE…'; see simhash-hbase dedup --help"),
        ("claim", "missing argument '[URL] FILE…'; see simhash-hbase claim --help"),
        ("claim {index} {corpus}", "{index} is an index, not documents: wanted file:{index}"),
        ("dedup {corpus} --resume --results r", "--resume needs the index of the earlier run, which is gone if it was"),
        ("dedup {corpus} --create", "--create needs an address, such as file:docs.index"),
        ("dedup {corpus} --regions 3", "--regions and --compression are for tables in HBase: name the address of one"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(cli, filled, corpus_file, line, sentence):
    names = {"corpus": corpus_file, "index": filled.removeprefix("file:")}

    assert cli(*line.format(**names).split()).usage_error.startswith(sentence.format(**names))


@pytest.mark.parametrize(
    ("size", "kind"), [(IN_MEMORY_BYTES, MemoryStore), (IN_MEMORY_BYTES + 1, EmbeddedStore), (None, EmbeddedStore)]
)
def test_only_a_small_input_is_decided_in_memory(temporary, size, kind):
    with temporary_index(size, analyzer="shingle") as index:
        assert isinstance(index.store, kind)
        assert bool(list(temporary.iterdir())) == (kind is EmbeddedStore)

    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_a_corpus_is_written_in_few_commits(cli, url, tmp_path):
    count, rng = 8_000, random.Random(3)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(5_000)]
    texts = [" ".join(rng.choices(words, k=40)) for _ in range(count)]
    copies = [f"{text.upper()}!" for text in texts[::10]]
    file = write_jsonl(tmp_path / "a.jsonl", [{"id": str(i), "text": text} for i, text in enumerate(texts + copies)])

    done = cli("dedup", "--create", url, file, "--analyzer", "shingle")

    assert {name: of for name, of in decided(done).items() if of is not None} == {
        str(count + i): str(10 * i) for i in range(len(copies))
    }
    folder = url.removeprefix("file:")
    with closing(lmdb.open(folder, readonly=True, max_dbs=8)) as environment:
        # The making of the index takes some; nine batches of a thousand would take nine.
        assert environment.info()["last_txnid"] <= 6
    assert Path(folder, "data.mdb").stat().st_size < 1_500 * count


def test_more_memory_makes_fewer_groups_of_the_same_decisions(cli, tmp_path):
    documents = write_jsonl(tmp_path / "a.jsonl", [{"id": str(i), "text": text(i, count=9)} for i in range(2_500)])
    commits, decisions = [], []

    for memory in (1, 64):
        folder = tmp_path / f"{memory}.index"
        done = cli("dedup", f"file:{folder}", documents, *SHINGLES, "--workers", 1, "--memory", memory)
        decisions.append(done.out)
        with closing(lmdb.open(str(folder), readonly=True, max_dbs=8)) as environment:
            commits.append(environment.info()["last_txnid"])

    assert decisions[0] == decisions[1]
    assert commits[0] > commits[1]


def test_no_memory_is_refused_by_its_option(cli, url, corpus_file):
    assert "--memory is 0: wanted at least 1" in cli("dedup", url, corpus_file, *SHINGLES, "--memory", 0).usage_error


def bytes_written():
    """Return how many bytes this process has handed to the system to write.

    Those that reach a disk are more on a slow machine: a page that was written meanwhile is written again.
    """
    return int(re.search(r"^wchar: (\d+)", Path("/proc/self/io").read_text(), re.MULTILINE)[1])


@pytest.mark.slow
def test_a_long_run_writes_little_more_than_it_leaves(cli, url, tmp_path, monkeypatch):
    # A group ends by its memory alone, not by the time that it takes on this machine.
    monkeypatch.setattr("simhash_hbase.index.gathering.GROUP_S", END_S)
    documents, kept = tmp_path / "a.jsonl", tmp_path / "kept.jsonl"
    groups = range(6_000)
    copies = [(f"{group} {copy}", text(group, count=60, changed=copy)) for group in groups for copy in range(2)]
    write_jsonl(documents, [{"id": name, "text": copy} for name, copy in copies])
    before = bytes_written()

    done = cli("dedup", url, documents, *SHINGLES, "--output", kept, "--memory", 2, "--workers", 1, "--quiet")

    written = bytes_written() - before
    assert done.originals == [f"{group} 0" for group in groups]
    left = kept.stat().st_size + sum(path.stat().st_size for path in (tmp_path / "new.index").iterdir())
    # With a commit for each batch it is 2.3 times as much.
    assert written <= 2.1 * left
