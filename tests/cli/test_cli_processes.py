"""Commands as processes of their own: from end to end, several at once, interrupted, killed; and their streams."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from support.corpus import near_copies, text
from support.fresh_clone import blocks, split
from support.patience import END_S
from support.results import Result, command, finish, run, start
from support.serving import NDJSON, lines, ndjson, serving
from support.waiting_writers import seen_to_wait

from simhash_hbase import create_index, open_index

pytestmark = pytest.mark.slow

STEP = 0x9E3779B97F4A7C15
OWN = ("--simhash-field", "simhash", "--workers", "1")


def spread(count, *, seed=0):
    """Make fingerprints that are all far apart."""
    return {f"{seed}/{i}": (seed * 1_000_003 + i + 1) * STEP % 2**64 for i in range(count)}


@pytest.mark.parametrize("words", [["export"], ["query", "FILE", *OWN]])
def test_a_reader_that_has_seen_enough_ends_the_command_as_it_ends_other_programs(empty, simhash_file, words):
    file = simhash_file("a.jsonl", spread(5_000))
    run("add", empty, file, *OWN)
    name, *more = [file if word == "FILE" else word for word in words]

    process = start(name, empty, *more)
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    ended = process.stderr.read()
    process.stderr.close()

    assert process.wait(timeout=END_S) == 128 + signal.SIGPIPE
    assert ended == b""


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["dedup", "--help"], ["completion", "bash"]])
def test_help_that_nobody_reads_ends_as_other_output_does(words):
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.Popen(command(*words), stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)

    _, errors = process.communicate(timeout=END_S)

    assert (process.returncode, errors) == (128 + signal.SIGPIPE, b"")


@pytest.mark.parametrize("words", [["add", "--verbose"], ["claim"]])
def test_what_was_acknowledged_before_ctrl_c_stays(cli, empty, simhash_file, words, others_wait):
    file = simhash_file("a.jsonl", spread(200_000))
    name, *more = words
    # Without a buffer behind standard output an interrupt leaves a write half done.
    process = start(name, empty, file, *OWN, *more, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    first = process.stdout.readline()

    process.send_signal(signal.SIGINT)
    ended = finish(process)

    assert ended.code == 130
    assert ended.err.split("simhash-hbase: ")[1].startswith("interrupted")
    assert "Traceback" not in ended.err
    acknowledged = {json.loads(first)["id"], *(record["id"] for record in ended.records)}
    assert len(acknowledged) < 200_000
    assert acknowledged <= {record["id"] for record in cli("export", empty).records}
    assert cli("verify", empty).code == 0


def test_a_run_resumed_after_ctrl_c_ends_with_the_same_bytes(tmp_path, simhash_file):
    file, results = simhash_file("a.jsonl", spread(40_000)), tmp_path / "results"
    words = (file, *OWN, "--create")
    resumable = ("dedup", f"file:{tmp_path / 'a'}", *words, "--results", results, "--resume")

    process = start(*resumable)
    while process.poll() is None and not (tmp_path / "a" / "data.mdb").exists():
        time.sleep(0.01)
    with seen_to_wait(tmp_path / "a"):
        while process.poll() is None and not (results.exists() and results.stat().st_size):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        ended = finish(process)
    decided = results.read_bytes()
    resumed, whole = run(*resumable), run("dedup", f"file:{tmp_path / 'b'}", *words)

    assert ended.code == 130
    assert "Traceback" not in ended.err
    assert 0 < decided.count(b"\n") < 40_000
    assert [resumed.code, whole.code] == [0, 0]
    assert results.read_bytes() == whole.out


def test_two_writers_of_the_same_ids_leave_one_document_each(cli, empty, simhash_file):
    names = [f"document {i}" for i in range(3_000)]
    corpora = [dict(zip(names, spread(3_000, seed=seed).values(), strict=True)) for seed in (1, 2)]
    files = [simhash_file(f"{i}.jsonl", corpus) for i, corpus in enumerate(corpora)]

    writers = [start("add", empty, file, *OWN) for file in files]
    codes = [finish(writer).code for writer in writers]

    assert codes == [0, 0]
    verified = cli("verify", empty)
    assert (verified.code, verified.record["documents"], verified.record["members"]) == (0, 3_000, 3_000)
    for record in cli("export", empty).records:
        assert int(record["simhash"], 16) in {corpus[record["id"]] for corpus in corpora}


def test_two_processes_that_make_one_index_leave_one(cli, url):
    ended = [finish(p) for p in [start("create", url, "--analyzer", "shingle") for _ in range(2)]]

    assert sorted(e.code for e in ended) == [0, 1]
    assert cli("verify", url).code == 0


def test_no_worker_outlives_a_command_that_is_killed(empty, simhash_file):
    file = simhash_file("a.jsonl", spread(50_000))
    process = start("add", empty, file, "--simhash-field", "simhash", "--workers", "2", "--verbose")
    # The first thousand are done before there are workers; the next ones come from them.
    for _ in range(1_500):
        process.stdout.readline()

    process.kill()
    process.communicate(timeout=END_S)

    # Standard output is at its end only when nobody holds it any more.
    assert process.returncode == -signal.SIGKILL


@pytest.fixture
def others_wait(empty):
    """Have each batch committed by itself, since somebody seems to wait."""
    with seen_to_wait(empty.removeprefix("file:")):
        yield


def add_and_kill(url, file, delay):
    """Start ``add``, kill it a while after its first answer, and return what it acknowledged."""
    process = start("add", url, file, *OWN, "--verbose")
    data = process.stdout.read(1)
    process.stderr.close()
    process.stderr = None
    # Nobody reads meanwhile: a pipe has room for what is printed in so short a time.
    time.sleep(delay)
    process.kill()
    rest, _ = process.communicate(timeout=END_S)
    lines = (data + rest).split(b"\n")[:-1]
    return {record["id"]: record["simhash"] for record in map(json.loads, lines)}


def test_nothing_acknowledged_is_lost_when_a_writer_is_killed_at_any_moment(cli, empty, simhash_file, others_wait):
    chosen = random.Random(20_261_121)
    possible, killed = {}, 0
    for number in range(12):
        # Three sets of ids take turns, so most rounds move documents of earlier ones.
        documents = {f"{number % 3}/{i}": s for i, s in enumerate(spread(10_000, seed=number).values())}
        file = simhash_file("round.jsonl", documents)

        acknowledged = add_and_kill(empty, file, chosen.uniform(0, 0.15))

        killed += len(acknowledged) < len(documents)
        assert acknowledged.items() <= {name: f"{s:016x}" for name, s in documents.items()}.items()
        for name, simhash in documents.items():
            if name in acknowledged:
                possible[name] = {f"{simhash:016x}"}
            elif name in possible:
                # Committed perhaps, but killed before it was said.
                possible[name].add(f"{simhash:016x}")
        if number % 4 == 3:
            verified = cli("verify", empty)
            assert verified.code == 0, verified.out
            stored = {record["id"]: record["simhash"] for record in cli("export", empty).records}
            assert [name for name, simhashes in possible.items() if stored.get(name) not in simhashes] == []
    assert killed > 6


def test_a_killed_writer_leaves_the_documents_up_to_some_place(tmp_path, simhash_file):
    chosen, documents = random.Random(7), spread(4_000)
    file = simhash_file("a.jsonl", documents)
    for number in range(5):
        url = f"file:{tmp_path / str(number)}"
        run("create", url, "--analyzer", "shingle", "--match", "distance")
        process = start("dedup", url, file, *OWN)
        time.sleep(chosen.uniform(0.3, 1.2))
        process.kill()
        out, _ = process.communicate(timeout=END_S)

        with open_index(url) as index:
            assert index.verify().wrong == 0
            held = {stored.id for stored in index.export()}
        assert out.count(b"\n") <= len(held)
        assert held == set(list(documents)[: len(held)])


HAN = "今天我们学习如何使用这个工具来找到重复的文档，这是非常有意思的事情。"


def in_shell(folder, redirection, *words):
    """Run a command with streams as a shell opens or closes them."""
    script = ["sh", "-c", f'exec "$@" {redirection}', "sh", *command(*words)]
    done = subprocess.run(script, cwd=folder, capture_output=True, timeout=END_S, check=False)
    return Result(done.returncode, done.stdout, done.stderr.decode())


@pytest.mark.parametrize(
    "words",
    [
        ("fingerprint", "--analyzer", "shingle", "--text", HAN),
        ("fingerprint", "--analyzer", "shingle", "--text", HAN, "--format", "table"),
        ("--help",),
        ("completion", "bash"),
    ],
)
@pytest.mark.parametrize(
    ("redirection", "reason"), [(">&-", "it is closed"), (">/dev/full", "no space left on device")]
)
def test_an_output_that_takes_nothing_is_a_sentence(tmp_path, words, redirection, reason):
    done = in_shell(tmp_path, redirection, *words)

    assert (done.code, done.sentence) == (1, f"standard output: {reason}")


def test_a_closed_standard_output_is_no_failure_where_nothing_is_printed(tmp_path):
    (tmp_path / "a.jsonl").write_text(f'{{"id": "a", "text": "{text(1)}"}}\n')
    words = ("dedup", "file:i", "a.jsonl", "--create", "--analyzer", "shingle", "--results", "out", "--quiet")

    done = in_shell(tmp_path, ">&-", *words)

    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "out").read_text().count("\n") == 1


def test_a_closed_standard_input_is_a_sentence_or_a_refusal(tmp_path):
    copied = in_shell(tmp_path, "<&-", "dedup", "-", "--quiet")
    read = in_shell(tmp_path, "<&-", "fingerprint", "--analyzer", "shingle", "-")

    assert copied.failure == "standard input: it is closed"
    assert read.code == 3
    assert "standard input: refused: reading stopped" in read.err


def test_no_index_gets_the_number_of_a_closed_standard_error(cli, tmp_path):
    url = f"file:{tmp_path / 'i'}"
    cli("create", url, "--analyzer", "shingle")
    (tmp_path / "a.jsonl").write_text(f'{{"id": "a", "text": "{text(1)}"}}\n{{}}\n')

    done = in_shell(tmp_path, "2>&- >&- <&-", "add", url, "a.jsonl")

    assert done.code == 3
    assert cli("verify", url).record["documents"] == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_characters_that_an_output_cannot_write_are_written_out(tmp_path, encoding):
    env = {"LC_ALL": "C", "PYTHONIOENCODING": encoding, "COLUMNS": "200"}
    words = ("--analyzer", "shingle", "--format", "table")
    (tmp_path / "a.jsonl").write_text(f'{{"id": "汉", "text": "{HAN}"}}\n', encoding="utf-8")

    table = run("fingerprint", "a.jsonl", *words, env=env, cwd=tmp_path)
    pulls = run("explain", HAN, HAN.replace("今天", "昨日"), *words, env=env, cwd=tmp_path)
    shown_help = run("fingerprint", "--help", env=env, cwd=tmp_path)
    lines = run("fingerprint", "a.jsonl", "--analyzer", "shingle", env=env, cwd=tmp_path)

    assert [done.code for done in (table, pulls, shown_help, lines)] == [0, 0, 0, 0]
    assert rb"\u6c49" in table.out
    assert rb"\u4eca" in pulls.out
    assert b"Usage: simhash-hbase fingerprint" in shown_help.out
    # Results are UTF-8 wherever they go.
    assert lines.record["id"] == "汉"
    assert "汉".encode() in lines.out


def test_a_message_that_standard_error_cannot_write_is_written_out(tmp_path):
    done = run("get", f"file:{tmp_path / '汉'}", "a", env={"PYTHONIOENCODING": "latin-1"})

    assert done.code == 1
    assert r"\u6c49" in done.sentence


def test_what_a_service_acknowledged_is_there_after_its_folder_was_lost(tmp_path):
    url = f"file:{tmp_path / 'news.index'}"
    create_index(url, analyzer="shingle").close()
    before, since = near_copies(20, 2), near_copies(30, 2)[40:]
    backup, *restore = split(blocks()["restore"])
    with serving(url, tmp_path) as server, server.client() as client:
        decided = lines(client.post("/v1/claims", content=ndjson(before), headers=NDJSON))[:-1]
        follow([backup], tmp_path)
        decided += lines(client.post("/v1/claims", content=ndjson(since), headers=NDJSON))[:-1]
        shutil.rmtree(tmp_path / "news.index")
    (tmp_path / "since.jsonl").write_bytes(ndjson(since))

    follow(restore, tmp_path)

    again = [json.loads(line) for line in (tmp_path / "since.decisions").read_text().splitlines()]
    assert [(each["id"], each["status"], each["of"]) for each in again] == [
        (each["id"], each["status"], each["of"]) for each in decided[len(before) :]
    ]
    with open_index(url) as index:
        assert all(index.get_many([each["id"] for each in decided]))
        assert index.verify().wrong == 0


def follow(commands, folder):
    """Run commands, each of which has to succeed."""
    script = "\n".join([f'simhash-hbase() {{ {sys.executable} -m simhash_hbase "$@"; }}', *commands])
    subprocess.run(["bash", "-ec", script], cwd=folder, check=True)
