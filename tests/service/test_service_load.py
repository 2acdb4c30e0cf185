"""Eight clients at once, every answer compared with the library's own."""

import json
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.corpus import text
from support.serving import NDJSON, lines, ndjson, serving

from simhash_hbase import create_index
from simhash_hbase.index.answers import answer_record, decision_record, hex_simhash, stored_record

CLIENTS = 8
SECONDS = float(os.environ.get("SIMHASH_HBASE_LOAD_SECONDS", "60"))
GROUPS, COPIES = 6, 4
WORDS = 60


class Client:
    """Does what it likes to documents that only it has, over HTTP and in an index of its own.

    The texts of two clients are unrelated, so the answers to one do not depend on what the others do.
    """

    def __init__(self, http, name):
        self._http = http
        self._model = create_index("memory:", analyzer="shingle")
        self._random = random.Random(name)
        self._documents = [
            {"id": f"{name}/{group}/{copy}", "text": text(f"{name} {group}", count=WORDS, changed=copy)}
            for group in range(GROUPS)
            for copy in range(COPIES)
        ]
        self.answers = 0

    def run(self, until):
        actions = [self.add, self.claim, self.find, self.find_stored, self.get, self.remove, self.stream, self.many]
        while time.monotonic() < until:
            self._random.choice(actions)()
        self._model.close()
        return self.answers

    def add(self):
        document = self._one()
        self._model.add(document["id"], document["text"])
        simhash = hex_simhash(self._model.get(document["id"]).simhash)
        self._same(self._post("/v1/documents", document), {"id": document["id"], "simhash": simhash})

    def claim(self):
        document = self._one()
        decision = decision_record(self._model.claim(document["id"], document["text"]))
        self._same(self._post("/v1/claims", document), decision)

    def find(self):
        document = self._one()
        self._same(
            self._post("/v1/queries", {"text": document["text"]}),
            answer_record(None, self._model.query(document["text"])),
        )

    def find_stored(self):
        name = self._one()["id"]
        answer = self._model.query_id(name)
        self._same(self._post("/v1/queries", {"id": name}), None if answer is None else answer_record(name, answer))

    def get(self):
        name = self._one()["id"]
        answer = self._http.get("/v1/documents", params={"id": name})
        stored = self._model.get(name)
        self._same(self._record(answer), None if stored is None else stored_record(stored))

    def remove(self):
        name = self._one()["id"]
        answer = self._http.delete("/v1/documents", params={"id": name})
        [(_, removed)] = self._model.remove_many([name])
        self._same(self._record(answer), {"id": name, "removed": removed})

    def stream(self):
        some = self._random.sample(self._documents, 10)
        claimed = self._model.claim_many((document["id"], document["text"]) for document in some)
        self._same_lines("/v1/claims", some, [decision_record(decision) for _, decision in claimed])

    def many(self):
        some = self._random.sample(self._documents, 10)
        found = self._model.query_many((document["id"], document["text"]) for document in some)
        self._same_lines("/v1/queries?limit=1000", some, [answer_record(name, answer) for name, answer in found])

    def _one(self):
        return self._random.choice(self._documents)

    def _post(self, path, record):
        return self._record(self._http.post(path, json=record))

    def _record(self, answer):
        assert answer.status_code in (200, 404), answer.text
        return answer.json() if answer.status_code == 200 else None

    def _same_lines(self, path, records, expected):
        *answers, end = lines(self._http.post(path, content=ndjson(records), headers=NDJSON))
        assert end["summary"]["complete"], end
        assert len(answers) == len(expected)
        for answer, wanted in zip(answers, expected, strict=True):
            self._same(answer, wanted)

    def _same(self, answer, expected):
        self.answers += 1
        assert _timeless(answer) == _timeless(json.loads(json.dumps(expected)))


def _timeless(record):
    """Leave the times out: model and service do a thing one after the other."""
    if isinstance(record, dict):
        return {name: _timeless(value) for name, value in record.items() if name not in ("added", "seen")}
    return [_timeless(value) for value in record] if isinstance(record, list) else record


@pytest.mark.slow
def test_under_load_no_answer_is_wrong_or_lost(url, tmp_path):
    with (
        serving(url, tmp_path, "--workers", "2") as server,
        ThreadPoolExecutor(CLIENTS) as pool,
        server.client() as http,
    ):
        until = time.monotonic() + SECONDS
        clients = [Client(http, f"client {at}") for at in range(CLIENTS)]

        answered = list(pool.map(lambda client: client.run(until), clients))

        assert min(answered) > 0
        # The line of a request is written behind its answer.
        assert server.stop() == 0
        logged = [line for line in server.log() if line["event"] == "request"]
        assert {line["status"] for line in logged} <= {200, 404}
        assert sum(sum(line["documents"].values()) for line in logged) == sum(answered)
        print(f"{sum(answered)} answers in {SECONDS:g} s")
