"""Batches of documents, such as crawls, in the service: named by a parameter, counted and taken back part by part."""

import pytest
from support.corpus import text
from support.serving import NDJSON, lines, ndjson

from simhash_hbase import InvalidArgument, NotAnIndex
from simhash_hbase.client import RemoteIndex
from simhash_hbase.rows.names import MAX_NAME_BYTES

NAME = "crawl of Monday, 周一"


def test_documents_come_in_the_batch_that_the_request_names(client):
    stream = ndjson([{"id": "a", "text": text("x")}, {"id": "b", "text": text("x", changed=1)}])
    assert len(lines(client.post("/v1/claims", content=stream, headers=NDJSON, params={"batch": NAME}))) == 3
    client.post("/v1/documents", json={"id": "c", "text": text("y")}, params={"batch": "tuesday"})
    client.post("/v1/documents", json={"id": "d", "text": text("z")})

    counts = client.get("/v1/batches").json()
    found = {each["batch"]: (each["originals"], each["duplicates"]) for each in counts["batches"]}
    assert found == {NAME: (1, 1), "tuesday": (1, 0), None: (1, 0)}
    assert counts["after"] is None
    assert client.get("/v1/documents", params={"id": "b"}).json()["batch"] == NAME
    assert "batch" not in client.get("/v1/documents", params={"id": "d"}).json()


def test_a_client_takes_a_batch_back(server, monkeypatch):
    with RemoteIndex(server.address, key=server.keys["all"]) as index:
        list(index.claim_many([(f"d{n}", text(str(n))) for n in range(12)], batch=NAME))
        index.add("other", text("x"), batch="tuesday")
        with pytest.raises(InvalidArgument, match="12 of the 13 documents"):
            index.remove_batch(NAME)

        assert sorted(index.remove_batch(NAME, yes=True)) == sorted(f"d{n}" for n in range(12))
        assert list(index.remove_batch(NAME)) == []
        assert [each.batch for each in index.batches()] == ["tuesday"]
        check_parts(index, monkeypatch)


def check_parts(index, monkeypatch):
    """Check that a client asks for one part of the index after the other, and that none comes twice."""
    half = "80" + 21 * "00"
    parts = {None: ([], half), half: (["a"], None)}
    shares = []

    def request(method, path, parameters):
        removed, after = parts[parameters.get("after")]
        return {"removed": removed, "after": after}

    monkeypatch.setattr(index._http, "request", request)
    assert list(index.remove_batch(NAME, yes=True, watch=lambda _, share: shares.append(share))) == ["a"]
    assert shares == [0.5]
    parts[half] = (["a"], "70")
    with pytest.raises(NotAnIndex, match="parts of the index come twice"):
        list(index.remove_batch(NAME, yes=True))


def test_a_batch_is_removed_only_by_a_key_that_writes_with_its_name(server):
    with server.client("read") as reader:
        assert reader.get("/v1/batches").status_code == 200
        assert reader.post("/v1/batches/removals", params={"batch": NAME}).status_code == 403
    with server.client() as client:
        for name in ("", "a\nb", "x" * (MAX_NAME_BYTES + 1), "é" * MAX_NAME_BYTES):
            for path in ("/v1/claims", "/v1/documents"):
                answer = client.post(path, json={"id": "a", "text": text("x")}, params={"batch": name})
                assert (answer.status_code, answer.json()["code"]) == (422, "invalid_argument")
            assert client.post("/v1/batches/removals", params={"batch": name}).status_code == 422
        assert client.post("/v1/batches/removals").status_code == 422
        assert client.get("/v1/batches", params={"after": "xyz"}).status_code == 422
