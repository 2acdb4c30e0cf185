"""The processes that analyse: the answers are the same, and one that is killed is replaced."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from corpus import near_copies
from serving import NDJSON, lines, ndjson, serving

from simhash_hbase import create_index
from tests.patience import END_S

FREEZES = """
import gc, os, signal, threading, time
from simhash_hbase import create_index
from simhash_hbase.service import create_app
from simhash_hbase.service.listening import listen
from simhash_hbase.service.server import serve

def end_when_frozen():
    while not gc.get_freeze_count():
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGTERM)

if __name__ == "__main__":
    app = create_app(create_index("memory:", analyzer="shingle"), keys=None)
    assert not gc.get_freeze_count()
    threading.Thread(target=end_when_frozen, daemon=True).start()
    serve(app, listen("127.0.0.1", 0, has_keys=False), grace_s=5)
"""


def workers_of(server):
    """Return the process ids of the workers, not that of what tracks their semaphores."""
    pid = server.process.pid
    children = " ".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")).split()
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_answers_do_not_depend_on_the_number_of_processes_and_one_that_is_killed_is_replaced(tmp_path):
    documents = near_copies(20, 2)
    answers = {}
    for workers in ("1", "2"):
        folder = tmp_path / workers
        folder.mkdir()
        url = f"file:{folder / 'some.index'}"
        create_index(url, analyzer="shingle").close()
        with serving(url, folder, "--workers", workers) as server, server.client() as client:
            answers[workers] = lines(client.post("/v1/claims", content=ndjson(documents), headers=NDJSON))
            assert len(workers_of(server)) == (2 if workers == "2" else 0)
            for pid in workers_of(server):
                os.kill(pid, signal.SIGKILL)
            again = lines(client.post("/v1/claims", content=ndjson(documents), headers=NDJSON))
            assert again == answers[workers]
    assert answers["1"] == answers["2"]
    assert answers["1"][-1]["summary"]["complete"]


def test_no_collection_of_a_running_service_visits_its_dictionaries():
    subprocess.run([sys.executable, "-c", FREEZES], check=True, timeout=END_S)
