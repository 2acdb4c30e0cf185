"""No client takes the service from the others: places, memory and work are bounded."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain, product
from pathlib import Path

import pytest
from support.corpus import text
from support.duplex import Duplex
from support.serving import JSON, NDJSON, lines, serving

from simhash_hbase import create_index, open_index
from simhash_hbase.index.jsonforms import ANSWER, DECISION
from simhash_hbase.service.limits import LARGE_BYTES
from simhash_hbase.service.schemas import LONGEST_COMPARED

LONG = text(1, count=LARGE_BYTES // 5)
LONGEST = ((text(2, count=60_000) + " ") * 20)[:3_900_000]
# Longer than all the work takes on the slowest machine.
PATIENT = ("--timeout", "900")
MEGABYTE = 1 << 20


@pytest.fixture
def patient(url, tmp_path):
    with serving(url, tmp_path, *PATIENT) as running:
        yield running


def told(answer):
    return answer.status_code, answer.json()["code"]


def test_long_texts_get_the_library_s_answers(client, url):
    documents = [("a", LONG), ("b", text(5)), ("c", LONG + " end")]
    content = b"".join(json.dumps({"id": name, "text": words}).encode() + b"\n" for name, words in documents)

    *answers, end = lines(client.post("/v1/claims", content=content, headers=NDJSON))
    found = client.post("/v1/queries", json={"text": LONG}).json()

    assert min(len(words) for _, words in documents[::2]) > LARGE_BYTES
    with create_index("memory:", analyzer="shingle") as model:
        assert answers == [json.loads(json.dumps(DECISION.write(what))) for _, what in model.claim_many(documents)]
    assert end["summary"] == {"complete": True, "last_line": 3, "outcomes": {"original": 2, "duplicate": 1}}
    with open_index(url) as index:
        assert found == json.loads(json.dumps(ANSWER.write(index.query(LONG)), default=str)) | {
            "matches": found["matches"]
        }
        assert [match["id"] for match in found["matches"]] == [match.id for match in index.query(LONG).matches]


def test_a_long_body_that_is_no_document_is_refused_as_a_short_one_is(client):
    refusals = [
        (b'{"text":"%s"', (400, "malformed_json")),
        (b'{"text":"%s","simhash":"0000000000000000"}', (422, "invalid_document")),
        (b'{"text":7,"x":"%s"}', (422, "invalid_document")),
        (b'["%s"]', (422, "invalid_document")),
        (b'{"id":"none"%b}', (404, "document_missing")),
        (b'{"text":".."%b}', (422, "empty_document")),
    ]
    for (content, expected), size in product(refusals, (10, LARGE_BYTES)):
        body = content.replace(b"%s", b"x" * size).replace(b"%b", b" " * size)
        assert told(client.post("/v1/queries", content=body, headers=JSON)) == expected, content
        refused, end = lines(client.post("/v1/queries", content=body + b"\n", headers=NDJSON))
        assert (refused["line"], refused["error"]["code"]) == (1, expected[1])
        assert end["summary"]["complete"]


def test_work_that_takes_too_long_is_ended(url, tmp_path):
    pair = {"a": text(1, count=50_000)[:LONGEST_COMPARED], "b": text(2, count=50_000)[:LONGEST_COMPARED]}
    with serving(url, tmp_path, "--work-timeout", "0.02", *PATIENT) as server, server.client() as client:
        assert told(client.post("/v1/comparisons", json=pair)) == (422, "too_much_work")
        assert told(client.post("/v1/queries", json={"text": LONGEST})) == (422, "too_much_work")
        content = json.dumps({"text": LONGEST}).encode() + b'\n{"text":"some short text"}\n'

        refused, answer, end = lines(client.post("/v1/queries", content=content, headers=NDJSON))

        assert refused["error"]["code"] == "too_much_work"
        assert answer["matches"] == []
        assert end["summary"]["complete"]
        assert client.post("/v1/comparisons", json={"a": "some text", "b": "some texts"}).status_code == 200


def test_only_a_write_that_timed_out_may_have_been_applied(url, tmp_path):
    with serving(url, tmp_path, "--timeout", "0.000001") as server, server.client() as client:
        read = client.get("/v1/documents", params={"id": "a"}).json()
        written = client.delete("/v1/documents", params={"id": "a"}).json()

    assert (read["code"], read["detail"]) == ("timeout", "timed out")
    assert (written["code"], written["detail"]) == ("timeout", "timed out; the write may still have been applied")


def test_whether_it_is_alive_is_told_while_long_texts_are_worked_on(patient):
    body = json.dumps({"text": LONGEST}).encode()

    def work(_):
        with patient.client() as client:
            return client.post("/v1/queries", content=body, headers=JSON).status_code

    with ThreadPoolExecutor(4) as pool, patient.client(None) as client:
        started = time.monotonic()
        working = [pool.submit(work, number) for number in range(4)]
        waits = []
        while not all(work.done() for work in working):
            asked = time.monotonic()
            assert client.get("/healthz").status_code == 200
            waits.append(time.monotonic() - asked)
        took = time.monotonic() - started
    # However slow the machine is: an answer does not wait for the work.
    assert len(waits) > 10
    assert sorted(waits)[len(waits) // 2] < took / 20
    assert max(waits) < took / 2
    assert {work.result() for work in working} == {200}


def test_requests_above_a_key_s_share_keep_nobody_else_out(url, tmp_path):
    query = {"json": {"simhash": "0000000000000000"}}
    with (
        serving(url, tmp_path, "--max-requests", "4") as server,
        ExitStack() as held,
        server.client("all") as client,
        server.client("read") as other,
    ):
        for _ in range(3):
            stream = held.enter_context(Duplex(server, "/v1/queries"))
            stream.send(b'{"simhash":"0000000000000000"}\n')
            assert stream.status() == 200

        answer = client.post("/v1/queries", **query)

        assert told(answer) == (503, "too_many_requests")
        assert answer.headers["retry-after"] == "1"
        assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200
        assert "simhash_requests_turned_away_total 1.0" in client.get("/metrics").text
        assert other.post("/v1/queries", **query).status_code == 200
        with Duplex(server, "/v1/queries") as refused:
            assert refused.status() == 503
            stream.finish()
            assert b'"complete":true' in list(stream.lines())[-1]

            assert client.post("/v1/queries", **query).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("media", [JSON, NDJSON])
def test_many_long_bodies_at_once_take_bounded_memory(patient, media):
    bodies = [json.dumps(record).encode() for record in ({"text": LONGEST}, {"features": [[LONGEST, 1]]})]

    def work(number):
        with patient.client() as client:
            return client.post("/v1/queries", content=bodies[number % 8 > 0], headers=media, timeout=900)

    before = peak_bytes(patient.process.pid)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(work, range(16)))

    assert {answer.status_code for answer in answers} == {200}
    after = peak_bytes(patient.process.pid)
    print(f"{before >> 20} MB before, {after >> 20} MB after")
    assert after - before < 500 * MEGABYTE


def peak_bytes(pid):
    """Add up the most memory that a process and its workers have had."""
    children = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    peaks = [Path(f"/proc/{of}/status").read_text() for of in [pid, *chain.from_iterable(children)]]
    return sum(int(re.search(r"VmHWM:\s+(\d+) kB", peak).group(1)) << 10 for peak in peaks)
