"""Commands as processes of their own: from end to end, several at once, interrupted, killed."""

import json
import os
import random
import signal
import subprocess
import time

import pytest
from support.patience import END_S
from support.results import command, finish, run, start

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
def test_ctrl_c_ends_cleanly_and_what_was_acknowledged_stays(cli, empty, simhash_file, words):
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


def test_ctrl_c_keeps_the_decisions_and_resume_ends_with_the_same_bytes(tmp_path, simhash_file):
    file, results = simhash_file("a.jsonl", spread(40_000)), tmp_path / "results"
    words = (file, *OWN, "--create")
    resumable = ("dedup", f"file:{tmp_path / 'a'}", *words, "--results", results, "--resume")

    process = start(*resumable)
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


def test_nothing_acknowledged_is_lost_when_a_writer_is_killed_at_any_moment(cli, empty, simhash_file):
    chosen = random.Random(20_261_121)
    possible, killed = {}, 0
    for number in range(30):
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
        if number % 10 == 9:
            verified = cli("verify", empty)
            assert verified.code == 0, verified.out
            stored = {record["id"]: record["simhash"] for record in cli("export", empty).records}
            assert [name for name, simhashes in possible.items() if stored.get(name) not in simhashes] == []
    assert killed > 20
