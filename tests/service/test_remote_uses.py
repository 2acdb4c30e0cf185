"""Commands and tables use a shared service by its address, as an index; see also the folder frameworks."""

import json

import polars
import pytest
from support.corpus import near_copies, text, write_jsonl
from support.serving import new_index

from simhash_hbase import InvalidArgument, open_index
from simhash_hbase.client import RemoteIndex
from simhash_hbase.tables import drop_near_duplicates, mark_near_duplicates

COPIES = near_copies(30, 3)
pytestmark = pytest.mark.usefixtures("_key")


@pytest.fixture
def _key(server, monkeypatch):
    """Set the variable that all of them read the key from."""
    monkeypatch.setenv("SIMHASH_HBASE_API_KEY", server.keys["all"])


@pytest.fixture
def corpus(tmp_path):
    return write_jsonl(tmp_path / "corpus.jsonl", [*COPIES, {"id": "none", "text": "…"}, {"id": "no text"}])


def undated(records):
    def without_times(record):
        return {name: value for name, value in record.items() if name not in ("added", "seen", "first", "last")}

    return [json.loads(json.dumps(record), object_hook=without_times) for record in records]


def test_commands_print_what_they_print_of_the_index_itself(cli, server, corpus, tmp_path):
    twin = new_index(tmp_path, "twin.index")
    own = write_jsonl(tmp_path / "own.jsonl", [{"id": "own", "simhash": "0123456789abcdef"}])
    page = tmp_path / "page.html"
    page.write_text(f"<html><body><article><p>{text(1)}</p></article></body></html>")
    calls = [
        ("claim", corpus),
        ("claim", corpus, "--rejects", tmp_path / "rejects"),
        ("add", corpus, "--verbose"),
        ("add", own, "--simhash-field", "simhash", "--verbose"),
        ("query", corpus, "--limit", "5"),
        ("query", corpus, "--match", "distance", "--distance", "9"),
        ("query", page),
        ("query", "--text", text(3), "--id", "own", "--simhash", "0123456789abcdef"),
        ("get", "own", "group 3 copy 0"),
        ("copies", "group 3 copy 0"),
        ("get", "nobody"),
        ("remove", "own", "nobody"),
    ]
    for name, *words in calls:
        there, here = cli(name, server.address, *words), cli(name, twin, *words)

        assert undated(there.records) == undated(here.records), (name, words)
        assert there.code == here.code, there.err
        # What the service refuses is told after what the reader does.
        refusals = [sorted(line for line in each.err.splitlines() if "refused:" in line) for each in (there, here)]
        assert refusals[0] == refusals[1]
    assert cli("stats", server.address).record == cli("stats", server.address, "--exact").record
    [of_service] = undated([cli("stats", server.address).record])
    assert of_service["documents"] == cli("stats", twin).record["documents"]


def test_similarities_have_four_decimals_whoever_answers(cli, server, url, client, tmp_path):
    pair = [{"id": "a", "text": text(1)}, {"id": "b", "text": text(1, changed=9)}]
    path = write_jsonl(tmp_path / "pair.jsonl", pair)

    claims = [client.post("/v1/claims", json=one).json() for one in pair]
    found = [client.get("/v1/documents", params={"id": "b"}).json()]
    found += client.get("/v1/documents/copies", params={"id": "a"}).json()["copies"]
    found += client.post("/v1/queries", json=pair[1]).json()["matches"]
    found += [json.loads(cli(*words).out.splitlines()[-1]) for words in (("claim", url, path), ("get", url, "b"))]
    with RemoteIndex(server.address, key=server.keys["all"]) as remote, open_index(url) as index:
        for each in (remote, index):
            found += [vars_of(each.claim("b", pair[1]["text"])), vars_of(each.get("b"))]
            found += [vars_of(each.query(pair[1]["text"]).matches[0]), vars_of(each.copies("a").copies[0])]
    row = mark_near_duplicates(pair, id="id", analyzer="shingle")[1]

    assert 0.8 < claims[1]["similarity"] < 1
    for one in found:
        assert (one["similarity"], one["containment"]) == (claims[1]["similarity"], claims[1]["containment"])
    assert row["similarity"] == claims[1]["similarity"] == round(claims[1]["similarity"], 4)


def vars_of(answer):
    return {name: getattr(answer, name) for name in ("similarity", "containment")}


def test_what_only_an_index_can_do_says_so(cli, server, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (
        ("load", server.address, corpus),
        ("backup", server.address, "elsewhere"),
        ("dedup", server.address, corpus),
        ("create", server.address),
        ("serve", server.address, "--no-auth", "--port", "0"),
        ("explain", server.address, "one", "other"),
        ("fingerprint", "--profile-of", server.address, "--text", "one"),
    ):
        done = cli(*words)

        assert (done.code, done.out) == (1, b""), words
        assert "is a service" in done.err.splitlines()[-1], words
        assert "Traceback" not in done.err
    assert {path.name for path in tmp_path.iterdir()} == {"corpus.jsonl", "keys", "log", "some.index"}


def test_a_claim_takes_an_address_of_a_service_beside_addresses_of_files(cli, server, corpus):
    assert [r["status"] for r in cli("claim", corpus, server.address).records].count("original") == 30
    refused = cli("claim", f"{server.address}/docs/corpus.jsonl")
    assert "SIMHASH_HBASE_API_KEY" not in refused.err


@pytest.mark.parametrize("form", ["address", "index"])
def test_tables_are_decided_by_a_service(server, form):
    frame = polars.DataFrame([*COPIES, {"id": "none", "text": "…"}, {"id": "group 1 copy 1", "text": "again"}])
    with open_index(server.address) as opened:
        index = server.address if form == "address" else opened
        with pytest.warns(UserWarning, match="2 rows have no decision"):
            kept = drop_near_duplicates(frame, id="id", index=index, unreadable="drop")
        with pytest.warns(UserWarning, match="2 rows have no decision"):
            marked = mark_near_duplicates(frame, id="id", index=index)

    assert kept["id"].to_list() == [f"group {group} copy 0" for group in range(30)]
    assert marked["duplicate_of"].to_list()[:3] == [None, "group 0 copy 0", "group 0 copy 0"]
    assert marked["cluster"].to_list()[-2:] == [None, None]
    for wish in ({"keep": "longest"}, {"exact": True}, {"contained": 0.9}):
        with pytest.raises(InvalidArgument, match=r"(keep='longest'|exact) needs the address of the index itself"):
            drop_near_duplicates(frame, id="id", index=server.address, **wish)
    with pytest.raises(InvalidArgument, match=r"row 9.: .*unreadable='keep'"):
        drop_near_duplicates(frame, id="id", index=server.address)
