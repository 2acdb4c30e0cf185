"""Documents over HTTP: the answers are the library's."""

import json

from support.corpus import near_copies
from support.serving import JSON, NDJSON, lines, ndjson

from simhash_hbase import open_index
from simhash_hbase.index.answers import answer_record, copies_record, hex_simhash, stored_record
from simhash_hbase.rows.documents import DocumentState, encode
from simhash_hbase.rows.keys import document_row, id_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell


def test_a_document_is_added_found_told_and_removed_by_an_id_of_any_form(client, url):
    name = "https://example.org/a/../b?c=%2F&d#e f/文"
    text = near_copies(1, 1)[0]["text"]

    added = client.post("/v1/documents", json={"id": name, "text": text, "metadata": {"n": 1}})
    found = client.post("/v1/queries", json={"text": text})
    told = client.get("/v1/documents", params={"id": name})

    with open_index(url) as index:
        stored = index.get(name)
        assert added.json() == {"id": name, "simhash": hex_simhash(stored.simhash)}
        assert found.json() == json.loads(json.dumps(answer_record(None, index.query(text))))
        assert told.json() == stored_record(stored)
    assert client.delete("/v1/documents", params={"id": name}).json() == {"id": name, "removed": True}
    assert client.delete("/v1/documents", params={"id": name}).json() == {"id": name, "removed": False}
    missing = client.get("/v1/documents", params={"id": name})
    assert (missing.status_code, missing.json()["code"]) == (404, "document_missing")


def test_a_stream_answers_each_line_in_its_place_and_says_at_the_end_how_far_it_went(client):
    text = near_copies(1, 1)[0]["text"]
    sent = (
        b'{"id":"a","simhash":"00000000000000ff"}\nbroken\n\n{"id":"b","text":%s}\n{"text":"x"}\n{"id":"c","text":"."}'
    )

    answers = lines(client.post("/v1/documents", content=sent % json.dumps(text).encode(), headers=NDJSON))

    assert [answer.get("id") for answer in answers] == ["a", None, "b", None, "c", None]
    assert [answer.get("line") for answer in answers] == [None, 2, None, 5, 6, None]
    codes = [answer["error"]["code"] for answer in answers if "error" in answer]
    assert codes == ["malformed_json", "invalid_document", "empty_document"]
    outcomes = {"added": 2, "malformed_json": 1, "invalid_document": 1, "empty_document": 1}
    assert answers[-1] == {"summary": {"complete": True, "last_line": 6, "outcomes": outcomes}}


def test_streams_of_queries_look_ups_and_removals_answer_as_the_library_does(client, url):
    documents = near_copies(20, 3)
    client.post("/v1/documents", content=ndjson(documents), headers=NDJSON)
    ids = [{"id": document["id"]} for document in documents]

    *answers, _ = lines(client.post("/v1/queries?limit=1000", content=ndjson(documents), headers=NDJSON))
    *by_id, _ = lines(client.post("/v1/queries?limit=1000", content=ndjson(ids), headers=NDJSON))
    *stored, end = lines(client.post("/v1/lookups", content=ndjson([*ids, {"id": "none"}]), headers=NDJSON))

    with open_index(url) as index:
        expected = [answer_record(n, a) for n, a in index.query_many((d["id"], d["text"]) for d in documents)]
        assert answers == json.loads(json.dumps(expected))
        assert [answer["matches"] for answer in by_id] == [answer["matches"] for answer in answers]
        assert stored[:-1] == [stored_record(item) for item in index.get_many([d["id"] for d in documents])]
    assert stored[-1]["error"]["code"] == "document_missing"
    assert end["summary"]["outcomes"] == {"found": len(documents), "document_missing": 1}
    *gone, _ = lines(client.post("/v1/removals", content=ndjson([*ids, ids[0]]), headers=NDJSON))
    assert [answer["removed"] for answer in gone] == [True] * len(ids) + [False]


def test_a_rule_of_the_callers_own_decides_what_is_found(client, url):
    text = near_copies(1, 2)
    client.post("/v1/documents", content=ndjson(text), headers=NDJSON)
    wanted = {"distance": 30, "limit": 1}

    found = client.post("/v1/queries", json={"text": text[0]["text"]}, params=wanted).json()

    with open_index(url) as index:
        answer = index.query(text[0]["text"], rule=index.rule(distance=30), limit=1)
    assert found == json.loads(json.dumps(answer_record(None, answer)))
    refused = client.post("/v1/queries", content=b"{}", headers=JSON, params={"match": "distance", "similarity": 0.5})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_argument")


def test_of_a_store_that_contradicts_itself_the_log_tells_the_route_and_no_id(client, server, url):
    name = "https://example.org/asked"
    other = DocumentState(id="https://example.org/held", simhash=0, state="added", seen=0, stamp=0)
    with open_index(url) as index:
        cell = Cell(document_row(id_digest(name)), STATE_QUALIFIER, encode(other))
        index.store.put(FAMILY_DOCUMENTS, [cell])

    alone = client.get("/v1/documents", params={"id": name})
    [end] = lines(client.post("/v1/lookups", content=ndjson([{"id": name}]), headers=NDJSON))

    assert (alone.status_code, end["summary"]["error"]["code"]) == (500, "store_failed")
    reason = "a document cell holds another id than its own"
    logged = [(line["event"], line["route"], line["reason"]) for line in server.log() if "reason" in line]
    assert logged == [("store failed", "/v1/documents", reason), ("stream failed", "/v1/lookups", reason)]
    assert "example.org" not in server.log_text()


def test_copies_are_listed_by_the_id_of_the_original_and_of_a_copy(client, url):
    first, *others = near_copies(1, 3)
    client.post("/v1/claims", json=first)
    for at, document in enumerate(others):
        claimed = client.post("/v1/claims", json={**document, "metadata": {"source": at}})
        assert claimed.json()["of"] == first["id"]

    told = [client.get("/v1/documents/copies", params={"id": each["id"]}).json() for each in (first, *others)]

    with open_index(url) as index:
        assert told == [json.loads(json.dumps(copies_record(index.copies(each["id"])))) for each in (first, *others)]
    assert [(answer["id"], answer["of"], answer["count"]) for answer in told[:2]] == [
        (first["id"], first["id"], 2),
        (others[0]["id"], first["id"], 2),
    ]
    assert [copy["metadata"] for copy in told[0]["copies"]] == [{"source": 0}, {"source": 1}]
    missing = client.get("/v1/documents/copies", params={"id": "nobody"})
    assert (missing.status_code, missing.json()["code"]) == (404, "document_missing")


def test_queries_may_ask_for_what_was_seen_since(client):
    document = near_copies(1, 1)[0]
    client.post("/v1/documents", json=document)

    found = {
        since: client.post(f"/v1/queries?since={since}", json={"text": document["text"]})
        for since in ("1h", "2001-02-03", "2999-01-01", "yesterday")
    }

    assert [len(found[since].json()["matches"]) for since in ("1h", "2001-02-03", "2999-01-01")] == [1, 1, 0]
    refused = found["yesterday"]
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_argument")
    assert "since 'yesterday': wanted a date" in refused.json()["detail"]
