"""A gateway that dies and comes back, under one service that is never restarted."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from support.corpus import near_copies, text
from support.duplex import Duplex
from support.hbase_server import address
from support.serving import END_S, NDJSON, lines, ndjson, serving, wait_for

from simhash_hbase import open_index

pytestmark = pytest.mark.hbase

# The store's patience is a third of it.
QUICK = ("--timeout", "3")
PATIENT = ("--timeout", "60", "--grace", "1")


@pytest.fixture
def url(gateway, table):
    return f"hbase://{gateway.address}/{table}"


@contextmanager
def dead(gateway):
    """Refuse every connection, and end those that there are."""
    gateway.refusing = True
    gateway.kill_connections()
    yield
    gateway.refusing = False


def problem(answer):
    return answer.status_code, answer.json()["code"], answer.json()["retryable"], answer.headers["retry-after"]


def test_the_return_of_a_killed_gateway_needs_no_restart(url, gateway, tmp_path):
    documents = near_copies(5, 2)
    with serving(url, tmp_path, *QUICK) as server, server.client() as client:
        *_, end = lines(client.post("/v1/documents", content=ndjson(documents), headers=NDJSON))
        assert end["summary"]["outcomes"] == {"added": 10}
        before = client.post("/v1/queries", json=documents[0]).json()

        with dead(gateway):
            requests = [
                ("POST", "/v1/queries", {"json": {"text": documents[0]["text"]}}),
                ("POST", "/v1/claims", {"json": {"id": "new", "text": text("claimed")}}),
                ("POST", "/v1/documents", {"json": {"id": "new too", "text": text("added")}}),
                ("GET", "/v1/documents", {"params": {"id": "group 0 copy 0"}}),
                ("DELETE", "/v1/documents", {"params": {"id": "none"}}),
            ]
            for method, path, body in requests:
                status, code, *rest = problem(client.request(method, path, **body))
                assert (status, code in ("store_unavailable", "timeout"), rest) == (503, True, [True, "1"]), path
            assert problem(client.get("/readyz"))[:2] == (503, "store_unavailable")
            assert client.get("/healthz").status_code == 200
            *answers, end = lines(client.post("/v1/queries", content=ndjson(documents), headers=NDJSON))
            assert (answers, end["summary"]["last_line"], end["summary"]["complete"]) == ([], 0, False)
            assert end["summary"]["error"]["code"] == "store_unavailable"

        wait_for(lambda: client.get("/readyz").status_code == 200)
        assert client.post("/v1/queries", json=documents[0]).json() == before
        claimed = client.post("/v1/claims", json={"id": "new", "text": text("claimed")}).json()
        assert claimed["status"] == "original"
        assert _figure(client, "simhash_store_retries_total") > 0
        assert _figure(client, 'simhash_store_connections{state="idle"}') > 0
        assert _figure(client, 'simhash_store_connections{state="in_use"}') == 0
        events = {line["event"] for line in server.log()}
        assert {"store failed", "stream failed", "not ready"} <= events
        assert gateway.address in server.log_text()


def test_what_a_stream_acknowledged_before_its_gateway_died_is_in_the_index(url, gateway, table, tmp_path):
    documents = near_copies(60, 1)
    with serving(url, tmp_path, *QUICK, "--max-batch", "64") as server, Duplex(server, "/v1/documents") as request:
        request.send(ndjson(documents[:20]))
        assert request.status() == 200
        answers = request.lines()
        acknowledged = [next(answers) for _ in range(20)]
        with dead(gateway):
            request.send(ndjson(documents[20:]))
            request.finish()
            *more, end = answers
        assert b'"complete":false,"last_line":%d,' % (20 + len(more)) in end
        assert b'"code":"store_unavailable"' in end
        with open_index(f"hbase://{address(2)}/{table}") as index:
            stored = list(index.get_many([document["id"] for document in documents]))
        assert all(stored[: len(acknowledged) + len(more)])


def test_a_service_with_a_silent_store_reports_lost_calls_at_its_end(url, gateway, tmp_path):
    with ThreadPoolExecutor() as pool, serving(url, tmp_path, *PATIENT) as server, server.client() as client:
        gateway.stalled = True
        body = {"id": "a", "text": text(1)}
        asking = pool.submit(client.post, "/v1/documents", json=body)
        # The document's call, and that of the metrics, which ask for the last backup.
        wait_for(lambda: _figure(client, 'simhash_store_connections{state="in_use"}') == 2)

        assert server.stop() == 1

        assert problem(asking.result(END_S))[:2] == (503, "stopping")
        stopped = server.log()[-1]
        assert (stopped["event"], stopped["level"], stopped["calls_given_up"]) == ("stopped", "warning", 2)


def _figure(client, name):
    [found] = [line for line in client.get("/metrics").text.splitlines() if line.startswith(name)]
    return float(found.rpartition(" ")[2])
