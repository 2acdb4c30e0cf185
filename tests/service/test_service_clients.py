"""Clients that read slowly, or not at all, or go away: they cost the service little, and the others nothing."""

from pathlib import Path

import pytest
from support.duplex import Duplex
from support.serving import serving, wait_for

from simhash_hbase import open_index

BUFFER = 64 << 10
# Each of these two-byte lines has an answer of a hundred bytes: whoever does not read is soon full of them.
FLOOD = b"x\n" * (BUFFER // 2)
PIECES = 512
MEMORY = 64 << 20


@pytest.fixture
def server(url, tmp_path):
    with serving(url, tmp_path, "--idle-timeout", "3") as running:
        yield running


def own_memory(server):
    """Return the bytes of the server's own memory, without the pages of its files."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(line.split()[1]) << 10


def test_who_does_not_read_is_soon_not_read_from_and_then_left(server, client):
    client.get("/readyz")
    before = own_memory(server)
    with Duplex(server, "/v1/queries", buffers=BUFFER) as request:
        taken = request.flood(FLOOD, PIECES, stuck_s=1)
        grown = own_memory(server) - before

        assert taken < PIECES
        assert grown < MEMORY
        [logged] = wait_for(lambda: [line for line in server.log() if line.get("route") == "/v1/queries"])
        assert logged["end"] == "disconnected"
        assert client.post("/v1/queries", json={"simhash": "0"}).status_code == 200


def test_who_reads_late_gets_every_answer(server):
    pieces = 2
    with Duplex(server, "/v1/queries", buffers=BUFFER) as request:
        sending = request.start(FLOOD for _ in range(pieces))
        assert request.status() == 200
        *answers, end = request.lines()
        sending.join()

    assert len(answers) == pieces * len(FLOOD) // 2
    assert answers[-1].startswith(b'{"line":%d,' % len(answers))
    assert b'"complete":true' in end


def test_what_a_client_sent_whole_before_it_went_away_is_done_and_the_line_it_did_not_end_is_not(server, url):
    with Duplex(server, "/v1/documents") as request:
        request.send(b'{"id":"a","simhash":"0"}\n{"id":"b","simhash":"0"}')
        assert request.status() == 200
        assert next(request.lines()).startswith(b'{"id":"a"')
    wait_for(lambda: [line for line in server.log() if line.get("route") == "/v1/documents"])

    with open_index(url) as index:
        assert [stored and stored.id for stored in index.get_many(["a", "b"])] == ["a", None]
