"""The HTTP service on top of a cluster that is being hurt: right answers, or errors that may be retried."""

import json
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import httpx
from support.serving import NDJSON, lines, ndjson, serving, wait_for

from faults import hbase
from faults.outcome import Outcome
from faults.traffic import Traffic
from simhash_hbase.errors import StoreUnavailable

KINDS = ("add", "claim", "claim 2", "query")
HURTS = ("gateway killed", "region server killed", "region moved", "region server paused")


class Client:
    """An index as the traffic asks it, over HTTP."""

    def __init__(self, server):
        self._http = server.client()

    def add_entries(self, entries):
        self._ask("/v1/documents", entries)

    def claim_entries(self, entries):
        decisions = self._ask("/v1/claims", entries)
        return [SimpleNamespace(**decision, is_original=decision["status"] == "original") for decision in decisions]

    def query_entries(self, entries):
        answers = self._ask("/v1/queries?limit=1000", entries)
        for answer in answers:
            answer["matches"] = [SimpleNamespace(**match) for match in answer["matches"]]
        return [SimpleNamespace(**answer) for answer in answers]

    def close(self):
        self._http.close()

    def _ask(self, path, entries):
        """Send a stream, and return the answers if it was answered whole."""
        sent = [{"id": n, "simhash": f"{h:016x}"} for n, h in zip(entries.ids, entries.simhashes.tolist(), strict=True)]
        try:
            response = self._http.post(path, content=ndjson(sent), headers=NDJSON)
        except httpx.TransportError as error:
            raise AssertionError(f"the service itself broke off: {error}") from error
        *answers, end = lines(response)
        refused = [line for line in [*answers, end, end.get("summary", {}).get("error") or {}] if "code" in line]
        if refused and all(line["retryable"] for line in refused):
            raise StoreUnavailable(refused[0]["code"])
        assert not refused, json.dumps(refused)
        assert response.status_code == 200, response.text
        assert end["summary"]["complete"], json.dumps(end)
        return answers


def run(cluster, scenario: str, times: int, seed: int, say) -> Outcome:
    """Hurt the cluster below a running service so many times."""
    lab = hbase.new_lab(cluster, seed)
    with TemporaryDirectory() as folder, serving(cluster.url(lab.table), Path(folder)) as server:
        lab.traffic = Traffic(lab.open_patiently, seed, KINDS, use=lambda clock: Client(server))
        outcome = hbase.hurt(lab, scenario, [hbase.FAULTS[HURTS[n % len(HURTS)]] for n in range(times)], say)
        with closing(server.client()) as client:
            wait_for(lambda: client.get("/readyz").status_code == 200)
    cluster.admin("drop", lab.table)
    return outcome


SCENARIOS = {"service on a cluster": run}
