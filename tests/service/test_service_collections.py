"""Collections in the service: by a parameter of each route to documents, and by keys that are bound to some."""

from concurrent.futures import ThreadPoolExecutor

from support.serving import NDJSON, lines, ndjson, wait_for

from simhash_hbase.client import RemoteIndex
from simhash_hbase.service.keys import make_key

TEXT = "Seven boats left before dawn and did not return until the harbour was full of snow and of other boats. " * 3
NEWS = "a/b, c: 新闻"
LINE = {"id": "a", "text": TEXT}


def test_every_route_to_documents_is_of_one_collection(client):
    news = {"collection": NEWS}
    for where in ({}, news, {"collection": "blogs"}):
        assert client.post("/v1/claims", json=LINE, params=where).json()["status"] == "original"
    assert client.post("/v1/claims", json={"id": "b", "text": TEXT}, params=news).json()["of"] == "a"
    added = client.post("/v1/documents", content=ndjson([{"id": "c", "text": TEXT}]), headers=NDJSON, params=news)

    assert lines(added)[0]["id"] == "c"
    answer = client.post("/v1/queries", json={"text": TEXT}, params=news).json()
    assert {match["id"] for match in answer["matches"]} == {"a", "c"}
    assert client.post("/v1/queries", json={"id": "c"}).status_code == 404
    assert client.get("/v1/documents", params={"id": "b"}).status_code == 404
    assert client.get("/v1/documents", params={"id": "b", **news}).json()["of"] == "a"
    assert client.get("/v1/documents/copies", params={"id": "a", **news}).json()["count"] == 1
    assert client.get("/v1/documents/copies", params={"id": "a"}).json()["count"] == 0
    assert client.delete("/v1/documents", params={"id": "c"}).json()["removed"] is False
    assert client.delete("/v1/documents", params={"id": "c", **news}).json()["removed"] is True


def test_requests_of_many_collections_at_the_same_time_do_not_meet(server):
    def claim(number):
        with server.client() as client:
            record = {"id": f"document {number}", "text": TEXT}
            return client.post("/v1/claims", json=record, params={"collection": f"tenant {number % 5}"}).json()

    with ThreadPoolExecutor(20) as pool:
        decisions = list(pool.map(claim, range(20)))

    for tenant in range(5):
        own = decisions[tenant::5]
        [original] = [record["id"] for record in own if record["status"] == "original"]
        assert {record["of"] for record in own} == {None, original}


def test_a_bound_key_is_for_its_collections_alone(server, tmp_path):
    key = make_key(tmp_path / "keys", "tenant", ["read", "write"], [NEWS, "blogs"])
    server.keys["tenant"] = key
    wait_for(lambda: _status(server, key, "/v1/profile") == 200)

    assert _status(server, key, "/v1/documents", id="a", collection="blogs") == 404
    assert _status(server, key, "/v1/documents", id="a", collection=NEWS) == 404
    assert _status(server, key, "/v1/documents", id="a", collection="others") == 403
    assert _status(server, key, "/v1/documents", id="a") == 403
    assert _status(server, key, "/v1/stats") == 403
    assert _status(server, "shk_unknown", "/v1/documents", id="a", collection="a\n") == 401


def _status(server, key, path, **parameters):
    with server.client(None) as client:
        return client.get(path, params=parameters, headers={"Authorization": f"Bearer {key}"}).status_code


def test_a_remote_index_is_of_a_collection(server):
    with RemoteIndex(server.address, key=server.keys["all"]) as index:
        news = index.in_collection(NEWS)
        assert news.claim("a", TEXT).is_original
        assert index.claim("b", TEXT).is_original
        assert dict(news.claim_many([("c", TEXT)]))["c"].of == "a"
        assert [match.id for match in index.query(TEXT).matches] == ["b"]
        assert index.get("a") is None
        assert news.copies("c").of == "a"
        assert news.stats().documents == index.stats().documents == 2
        assert dict(news.remove_many(["a", "b"])) == {"a": True, "b": False}
