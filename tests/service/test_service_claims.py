"""Claims over HTTP: exactly one original, whoever asks, and the library's answers."""

import asyncio
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import httpx
import pytest
from support.corpus import text
from support.hbase_server import address
from support.serving import JSON, NDJSON, lines, ndjson, serving

from simhash_hbase import ClaimContended, Index, open_index
from simhash_hbase.index.answers import decision_record
from simhash_hbase.profile import Profile
from simhash_hbase.service import create_app
from simhash_hbase.stores.memory import MemoryStore

CLIENTS = 8
GROUPS = 12


def as_sent(record):
    return json.loads(json.dumps(record))


def test_a_document_is_an_original_or_a_duplicate_and_stays_what_it_was(client, url):
    first, second = {"id": "a", "text": text(1)}, {"id": "b", "text": text(1, changed=1)}

    claimed = [client.post("/v1/claims", json=document).json() for document in (first, second, first, second)]

    with open_index(url) as index:
        of_library = [decision_record(index.claim(d["id"], d["text"])) for d in (first, second)]
    assert claimed == as_sent(of_library * 2)
    assert [(decision["status"], decision["of"]) for decision in claimed[:2]] == [
        ("original", None),
        ("duplicate", "a"),
    ]
    refused = client.post("/v1/claims", content=b'{"id":"c"}', headers=JSON)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_document")


def test_a_stream_of_claims_is_decided_in_its_order_and_counted_by_outcome(client, url):
    documents = [{"id": f"{group}/{copy}", "text": text(group)} for copy in range(2) for group in range(20)]
    broken = [{"id": "no text"}, {"id": "no feature", "text": "."}]

    *claimed, end = lines(client.post("/v1/claims", content=ndjson([*documents, *broken]), headers=NDJSON))

    with open_index(url) as index:
        again = [
            as_sent(decision_record(what)) for _, what in index.claim_many((d["id"], d["text"]) for d in documents)
        ]
    assert claimed[:-2] == again
    assert [decision["of"] for decision in again] == [None] * 20 + [f"{group}/0" for group in range(20)]
    outcomes = {"original": 20, "duplicate": 20, "invalid_document": 1, "empty_document": 1}
    assert end == {"summary": {"complete": True, "last_line": 42, "outcomes": outcomes}}
    metrics = client.get("/metrics").text
    for outcome, number in outcomes.items():
        assert f'simhash_documents_total{{operation="claim",outcome="{outcome}"}} {number}.0' in metrics


@pytest.mark.parametrize("place", ["file", pytest.param("hbase", marks=pytest.mark.hbase)])
def test_of_near_copies_claimed_at_once_exactly_one_becomes_the_original(request, tmp_path, place):
    url = request.getfixturevalue("url")
    if place == "hbase":
        url = f"hbase://{address(2)}/{request.getfixturevalue('table')}"
    with serving(url, tmp_path) as server, ThreadPoolExecutor(CLIENTS) as pool:
        decisions = list(chain.from_iterable(pool.map(lambda at: _claim_all(server, at), range(CLIENTS))))

    assert len({decision["id"] for decision in decisions}) == CLIENTS * GROUPS
    originals = {d["id"].partition("/")[0]: d["id"] for d in decisions if d["status"] == "original"}
    assert Counter(d["status"] for d in decisions) == {"original": GROUPS, "duplicate": (CLIENTS - 1) * GROUPS}
    assert len(originals) == GROUPS
    for decision in decisions:
        if decision["status"] == "duplicate":
            assert decision["of"] == originals[decision["id"].partition("/")[0]]
            assert (decision["distance"], decision["similarity"]) == (0, 1.0)


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


async def _ask(index, document, documents):
    """Claim one document and some as lines, without a server."""
    app = create_app(index, keys=None)
    served = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")
    async with app.router.lifespan_context(app), served as client:
        alone = await client.post("/v1/claims", json=document)
        return alone, await client.post("/v1/claims", content=ndjson(documents), headers=NDJSON)


class _Contended(Index):
    """Other writers keep winning one document."""

    def claim_entries(self, entries, *, deadline_s=None):
        claimed = super().claim_entries(entries, deadline_s=deadline_s)
        lost = ClaimContended("'b': other writers kept changing it")
        return [lost if name == "b" else what for name, what in zip(entries.ids, claimed, strict=True)]


def test_a_claim_that_others_kept_winning_is_to_be_made_again_and_the_rest_of_its_batch_keeps_its_answer():
    store = MemoryStore()
    Index.create(store, Profile.resolve(analyzer="shingle"))
    documents = [{"id": name, "text": text(name)} for name in "abc"]

    alone, stream = asyncio.run(_ask(_Contended(store), documents[1], documents))

    *claimed, end = lines(stream)

    assert (alone.status_code, alone.json()["code"], alone.json()["retryable"]) == (409, "claim_contended", True)
    assert alone.headers["retry-after"] == "1"
    assert [decision.get("status") for decision in claimed] == ["original", None, "original"]
    assert (claimed[1]["line"], claimed[1]["id"], claimed[1]["error"]["retryable"]) == (2, "b", True)
    assert end["summary"]["outcomes"] == {"original": 2, "claim_contended": 1}
    assert end["summary"]["complete"]
