"""Documents and claims over HTTP: the answers are the library's, and there is exactly one original, whoever asks."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest
from support.corpus import near_copies, text
from support.hbase_server import hbase_options
from support.serving import NDJSON, lines, ndjson, serving

from simhash_hbase import open_index
from simhash_hbase.index.jsonforms import ANSWER, STORED, hex_simhash
from simhash_hbase.rows.documentcells import DocumentState, encode
from simhash_hbase.rows.keys import document_row, id_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.hbase import format_url

CLIENTS = 8
GROUPS = 12


def test_an_id_of_any_form_names_a_document_in_every_route(client, url):
    name = "https://example.org/a/../b?c=%2F&d#e f/文"
    words = near_copies(1, 1)[0]["text"]

    added = client.post("/v1/documents", json={"id": name, "text": words, "metadata": {"n": 1}})
    found = client.post("/v1/queries", json={"text": words})
    told = client.get("/v1/documents", params={"id": name})

    with open_index(url) as index:
        stored = index.get(name)
        assert added.json() == {"id": name, "simhash": hex_simhash(stored.simhash)}
        assert found.json() == json.loads(json.dumps(ANSWER.write(index.query(words))))
        assert told.json() == STORED.write(stored)
    by_text, by_id, end = lines(
        client.post("/v1/queries", content=ndjson([{"text": words}, {"id": name}]), headers=NDJSON)
    )
    assert (by_text, by_id) == (found.json(), {**found.json(), "query": name, "matches": []})
    assert end["summary"]["outcomes"] == {"matched": 1, "unmatched": 1}
    stored, missing, end = lines(
        client.post("/v1/lookups", content=ndjson([{"id": name}, {"id": "x"}]), headers=NDJSON)
    )
    assert (stored, missing["error"]["code"]) == (told.json(), "document_missing")
    assert end["summary"]["outcomes"] == {"found": 1, "document_missing": 1}
    assert client.delete("/v1/documents", params={"id": name}).json() == {"id": name, "removed": True}
    assert client.delete("/v1/documents", params={"id": name}).json() == {"id": name, "removed": False}
    missing = client.get("/v1/documents", params={"id": name})
    assert (missing.status_code, missing.json()["code"]) == (404, "document_missing")


def test_a_stream_answers_each_line_in_its_place(client):
    words = near_copies(1, 1)[0]["text"]
    sent = (
        b'{"id":"a","simhash":"00000000000000ff"}\nbroken\n\n{"id":"b","text":%s}\n{"text":"x"}\n{"id":"c","text":"."}'
    )

    answers = lines(client.post("/v1/documents", content=sent % json.dumps(words).encode(), headers=NDJSON))

    assert [answer.get("id") for answer in answers] == ["a", None, "b", None, "c", None]
    assert [answer.get("line") for answer in answers] == [None, 2, None, 5, 6, None]
    codes = [answer["error"]["code"] for answer in answers if "error" in answer]
    assert codes == ["malformed_json", "invalid_document", "empty_document"]
    outcomes = {"added": 2, "malformed_json": 1, "invalid_document": 1, "empty_document": 1}
    assert answers[-1] == {"summary": {"complete": True, "last_line": 6, "outcomes": outcomes}}
    metrics = client.get("/metrics").text
    for outcome, number in outcomes.items():
        assert f'simhash_documents_total{{operation="add",outcome="{outcome}"}} {number}.0' in metrics


def test_the_log_tells_no_id_of_a_store_that_contradicts_itself(client, server, url):
    name = "https://example.org/asked"
    other = DocumentState(id="https://example.org/held", simhash=0, state="added", seen=0, stamp=0)
    with open_index(url) as index:
        cell = Cell(document_row(id_digest(name)), STATE_QUALIFIER, encode(other, checksum=True))
        index.store.put(FAMILY_DOCUMENTS, [cell])

    alone = client.get("/v1/documents", params={"id": name})
    [end] = lines(client.post("/v1/lookups", content=ndjson([{"id": name}]), headers=NDJSON))

    assert (alone.status_code, end["summary"]["error"]["code"]) == (500, "store_failed")
    reason = "a document cell holds another id than its own"
    logged = [(line["event"], line["route"], line["reason"]) for line in server.log() if "reason" in line]
    assert logged == [("store failed", "/v1/documents", reason), ("stream failed", "/v1/lookups", reason)]
    assert "example.org" not in server.log_text()


@pytest.mark.parametrize("place", ["file", *(pytest.param(way, marks=pytest.mark.hbase) for way in (2, "rpc"))])
def test_of_near_copies_claimed_at_once_exactly_one_becomes_the_original(request, tmp_path, place):
    url = request.getfixturevalue("url")
    if place != "file":
        url = format_url(hbase_options(place, request.getfixturevalue("table")))
    with serving(url, tmp_path, "--workers", "2") as server, ThreadPoolExecutor(CLIENTS) as pool:
        decisions = list(chain.from_iterable(pool.map(lambda at: _claim_all(server, at), range(CLIENTS))))

    assert len({decision["id"] for decision in decisions}) == CLIENTS * GROUPS
    originals = {d["id"].partition("/")[0]: d["id"] for d in decisions if d["status"] == "original"}
    assert Counter(d["status"] for d in decisions) == {"original": GROUPS, "duplicate": (CLIENTS - 1) * GROUPS}
    for decision in decisions:
        if decision["status"] == "duplicate":
            assert decision["of"] == originals[decision["id"].partition("/")[0]]


def _claim_all(server, at):
    """Claim a copy of each group, as lines or one by one; every second client from the end."""
    documents = [{"id": f"{group}/{at}", "text": text(group)} for group in range(GROUPS)]
    if at % 4 >= 2:
        documents.reverse()
    with server.client() as client:
        if at % 2:
            *decisions, end = lines(client.post("/v1/claims", content=ndjson(documents), headers=NDJSON))
            assert end["summary"]["complete"], end
            return decisions
        answers = [client.post("/v1/claims", json=document) for document in documents]
        assert {answer.status_code for answer in answers} == {200}
        return [answer.json() for answer in answers]
