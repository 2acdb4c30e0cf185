"""The processes that analyse: the answers are the same, and one that is killed is replaced."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.corpus import near_copies
from support.duplex import Duplex
from support.patience import END_S
from support.results import run
from support.serving import NDJSON, Server, lines, ndjson, new_index, serving, wait_for

from simhash_hbase import open_index
from simhash_hbase.service.keys import make_key

IMPATIENT = """
import sys
from simhash_hbase.cli.app import cli
from simhash_hbase.service import processes

processes.RESTART_S = 0.01
cli(sys.argv[1:])
"""


HESITANT = """
import sys
from simhash_hbase.cli.app import cli
from simhash_hbase.service import processes

processes.STEADY_S, processes.RESTART_S, processes.LONGEST_RESTART_S = 2.0, 3600.0, 3600.0
cli(sys.argv[1:])
"""


def workers_of(server):
    """Return the process ids of the workers, not that of what tracks their semaphores."""
    pid = server.process.pid
    children = " ".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")).split()
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_answers_do_not_depend_on_the_number_of_processes_even_if_one_is_killed(tmp_path):
    documents = near_copies(20, 2)
    answers = {}
    for workers in ("1", "2"):
        folder = tmp_path / workers
        folder.mkdir()
        with serving(new_index(folder), folder, "--workers", workers) as server, server.client() as client:
            answers[workers] = lines(client.post("/v1/claims", content=ndjson(documents), headers=NDJSON))
            assert len(workers_of(server)) == (2 if workers == "2" else 0)
            for pid in workers_of(server):
                os.kill(pid, signal.SIGKILL)
            again = lines(client.post("/v1/claims", content=ndjson(documents), headers=NDJSON))
            assert again == answers[workers]
    assert answers["1"] == answers["2"]
    assert answers["1"][-1]["summary"]["complete"]


def counts(metrics, claims):
    """Tell whether so many claims are counted as answered."""
    return f'route="/v1/claims",status="200"}} {claims}.0' in metrics.get("/metrics").text


def test_processes_serve_one_port_as_one_service(url, tmp_path):
    with serving(url, tmp_path, "--processes", "2") as server, server.client("all") as metrics:
        first = set(workers_of(server))
        assert len(first) == 2
        assert [line["processes"] for line in server.log() if line["event"] == "listening"] == [2]

        for number in range(40):
            # A connection each: any of the processes may take it.
            with server.client() as client:
                answer = client.post("/v1/claims", json={"id": f"{number % 4}", "simhash": f"{number % 4 * 1111:016x}"})
                assert answer.json()["status"] == "original"
            if number == 20:
                # A request is counted when its answer has gone, and not by a process that is killed before.
                wait_for(lambda: counts(metrics, 21))
                os.kill(min(first), signal.SIGKILL)
                wait_for(lambda: len(set(workers_of(server)) - first) == 1)
                wait_for(lambda: server.log_text().count("process ready") == 3)

        wait_for(lambda: counts(metrics, 40))
        wait_for(lambda: "simhash_requests_in_progress 0.0" in metrics.get("/metrics").text)
        # Free bytes of one disk, not of one a process.
        [free] = re.findall(r"^simhash_store_free_bytes (\S+)$", metrics.get("/metrics").text, re.MULTILINE)
        disk = os.statvfs(tmp_path)
        assert 0 < float(free) < disk.f_blocks * disk.f_frsize
        # Whichever process is asked, the time is that of the index.
        wait_for(lambda: "\nsimhash_last_backup_timestamp_seconds 0.0\n" in metrics.get("/metrics").text)
        with open_index(url) as index:
            index.note_backup("2026-11-21T09:30:00Z")
        for _ in range(4):
            with server.client() as client:
                noted = "\nsimhash_last_backup_timestamp_seconds 1.7952534e+09\n"
                wait_for(lambda: noted in client.get("/metrics").text)  # noqa: B023
        assert len(workers_of(server)) == 2
        [ended] = [line for line in server.log() if line["event"] == "process ended"]
        assert (ended["process"], ended["exit_code"]) == (min(first), -signal.SIGKILL)
    assert [line["event"] for line in server.log()].count("stopped") == 2


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_owner_drains_every_process(url, tmp_path, end):
    with serving(url, tmp_path, "--processes", "2", "--drain", "2") as server:
        server.process.send_signal(end)
        wait_for(lambda: server.log_text().count('"draining"') == 2)
        statuses = set()
        for number in range(4):
            with server.client() as client:
                ready, alive = client.get("/readyz"), client.get("/healthz")
                claimed = client.post("/v1/claims", json={"id": str(number), "simhash": f"{number * 1111:016x}"})
                statuses.add((ready.status_code, alive.status_code, claimed.status_code))
        assert statuses == {(503, 200, 200)}
        assert server.process.wait(END_S) == 0, server.log_text()
    with open_index(url) as index:
        assert all(index.get_many([str(number) for number in range(4)]))


def test_a_second_ctrl_c_gives_up_what_is_under_way(url, tmp_path):
    patient = ("--grace", str(2 * END_S), "--timeout", str(3 * END_S))
    with (
        serving(url, tmp_path, "--processes", "2", *patient) as server,
        Duplex(server, "/v1/queries", media="application/json") as request,
    ):
        request.send(b'{"simhash"')
        # The process that has this one has the one before, too, or another one does.
        with server.client() as client:
            assert client.get("/healthz").status_code == 200
        server.process.send_signal(signal.SIGINT)
        wait_for(lambda: server.log_text().count('"stopping"') == 2)
        server.process.send_signal(signal.SIGINT)

        server.process.wait(END_S)


def test_processes_that_end_again_and_again_end_the_service(url, tmp_path):
    keys, log = tmp_path / "keys", tmp_path / "log"
    make_key(keys, "some", ["read"])
    serve = [sys.executable, "-c", IMPATIENT, "serve", url, "--keys", str(keys), "--port", "0", "--processes", "2"]
    with log.open("wb") as stream, subprocess.Popen(serve, stderr=stream) as process:
        server = Server(process, log, {})
        keys.unlink()
        for pid in workers_of(server):
            os.kill(pid, signal.SIGKILL)

        assert process.wait(END_S) == 1
    events = server.log()
    [given_up] = [event for event in events if event["event"] == "giving up"]
    assert given_up["reason"].endswith("processes in a row ended before they had served for 10 s")
    assert 6 <= [event["event"] for event in events].count("process ended") <= 8


def test_a_steady_process_is_replaced_at_once_while_a_young_one_waits_for_its_pause(url, tmp_path):
    log = tmp_path / "log"
    serve = [sys.executable, "-c", HESITANT, "serve", url, "--no-auth", "--port", "0", "--processes", "2"]
    with log.open("wb") as stream, subprocess.Popen(serve, stderr=stream) as process:
        server = Server(process, log, {})
        wait_for(lambda: server.log_text().count("process ready") == 2)
        time.sleep(3)
        first, second = workers_of(server)
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: len(set(workers_of(server)) - {first, second}) == 1)
        [young] = set(workers_of(server)) - {first, second}
        os.kill(young, signal.SIGKILL)
        wait_for(lambda: server.log_text().count("process ended") == 2)
        os.kill(second, signal.SIGKILL)

        wait_for(lambda: server.log_text().count("process ready") == 3)
        assert len(workers_of(server)) == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(END_S) == 0


def test_processes_end_with_their_owner(url, tmp_path):
    with serving(url, tmp_path, "--processes", "2") as server:
        pids = workers_of(server)
        server.process.kill()
        server.process.wait(END_S)

        wait_for(lambda: not any(is_running(pid) for pid in pids))


def is_running(pid):
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


@pytest.mark.parametrize(("url", "said"), [("memory:", "an index in memory is of one process"), ("file:none", "none")])
def test_an_index_that_several_processes_cannot_open_is_told_of_once(tmp_path, url, said):
    done = run("serve", url, "--no-auth", "--port", "0", "--processes", "2", cwd=tmp_path)

    assert done.code != 0
    assert said in done.err
    assert "process ended" not in done.err
