"""A service that ends, under load: what was acknowledged is in the index, and what was not is told of."""

import json
import os
import signal
import time

import pytest
from faults.restart import load
from support.duplex import Duplex
from support.serving import END_S, NDJSON, ndjson, serving, wait_for

from simhash_hbase import create_index, open_index
from simhash_hbase.service import Limits, create_app

BATCH = 64
DRAIN_S = 3
LOAD_S = float(os.environ.get("SIMHASH_HBASE_LOAD_SECONDS", "6"))


def test_a_service_that_drains_answers_until_its_time_is_over(url, tmp_path):
    with (
        serving(url, tmp_path, "--drain", str(DRAIN_S)) as server,
        Duplex(server, "/v1/documents") as stream,
        server.client() as client,
    ):
        stream.send(b'{"id":"first","simhash":"0000000000000000"}\n')
        assert stream.status() == 200
        answers = stream.lines()
        assert next(answers).startswith(b'{"id":"first"')
        assert client.get("/readyz").status_code == 200
        asked = time.monotonic()

        server.process.send_signal(signal.SIGTERM)

        draining = wait_for(lambda: (ready := client.get("/readyz")).status_code != 200 and ready)
        assert (draining.status_code, draining.json()["code"]) == (503, "draining")
        alive = client.get("/healthz")
        assert (alive.status_code, alive.headers["connection"]) == (200, "close")
        assert client.post("/v1/claims", json={"id": "claimed", "simhash": "f" * 16}).status_code == 200
        stream.send(b'{"id":"second","simhash":"0000000000000000"}\n')
        assert next(answers).startswith(b'{"id":"second"')
        [end] = answers
        assert json.loads(end)["summary"]["error"]["code"] == "stopping"
        assert time.monotonic() - asked >= DRAIN_S
        assert server.process.wait(END_S) == 0, server.log_text()
        with open_index(url) as index:
            assert all(index.get_many(["first", "claimed", "second"]))
        events = [line for line in server.log() if line["event"] in ("draining", "stopping", "stopped")]
        assert [line["event"] for line in events] == ["draining", "stopping", "stopped"]
        assert (events[0]["seconds"], events[2]["calls_given_up"]) == (DRAIN_S, 0)


@pytest.mark.parametrize(
    "signals",
    [(signal.SIGTERM, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT), (signal.SIGINT,)],
    ids=["a second signal", "Ctrl-C then", "Ctrl-C at once"],
)
def test_what_ends_the_draining_or_does_not_begin_it(url, tmp_path, signals):
    with serving(url, tmp_path, "--drain", "3600") as server:
        for number in signals[:-1]:
            server.process.send_signal(number)
            wait_for(lambda: [line for line in server.log() if line["event"] == "draining"])

        server.process.send_signal(signals[-1])

        assert server.process.wait(END_S) == 0, server.log_text()


@pytest.mark.anyio
async def test_a_stream_that_was_read_to_its_end_stops_behind_its_batch():
    index = create_index("memory:", analyzer="shingle")
    documents = [{"id": str(at), "simhash": f"{at:016x}"} for at in range(20 * BATCH)]
    app = create_app(index, keys=None, limits=Limits(batch=BATCH))
    headers = [(b"host", b"localhost"), (b"content-type", NDJSON["Content-Type"].encode())]
    scope = {"type": "http", "method": "POST", "path": "/v1/documents", "query_string": b"", "headers": headers}
    messages = [{"type": "http.request", "body": ndjson(documents), "more_body": False}]
    found = b""

    async def receive():
        return messages.pop()

    async def send(message):
        nonlocal found
        found += message.get("body", b"")
        if found:
            app.state.service.stopping.set()

    # Without a server: the whole body is there at once, and the service stops when it begins to answer.
    async with app.router.lifespan_context(app):
        await app(scope, receive, send)

    *answers, end = map(json.loads, found.splitlines())
    assert 0 < len(answers) <= 2 * BATCH
    assert [answer["id"] for answer in answers] == [document["id"] for document in documents[: len(answers)]]
    assert (end["summary"]["complete"], end["summary"]["last_line"]) == (False, len(answers))
    assert end["summary"]["error"]["code"] == "stopping"
    assert all(index.get_many([answer["id"] for answer in answers]))


def test_a_stream_whose_client_sends_nothing_ends_at_once_with_the_service(server):
    with Duplex(server, "/v1/documents") as request:
        request.send(b'{"id":"a","simhash":"0000000000000000"}\n{"id":"b",')
        assert request.status() == 200
        answers = request.lines()
        assert next(answers) == b'{"id":"a","simhash":"0000000000000000"}'

        assert server.stop() == 0

        [end] = answers
        assert json.loads(end)["summary"]["last_line"] == 1
        assert b'"code":"stopping"' in end


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_under_load_loses_nothing_that_was_acknowledged(url, tmp_path, end):
    # Two processes are restarted by `laboratories/test_faults.py`.
    outcome = load(url, tmp_path, LOAD_S, end=end, options=())

    assert outcome.is_good, outcome.wrong
    assert (outcome.times, len(outcome.recovery)) == (1, 1)
    print(outcome)
