"""What uses an index uses a shared service by its address: commands, Scrapy, tables, datatrove, agents."""

import asyncio
import json
import os
import subprocess
import sys

import polars
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from support.corpus import near_copies, text, write_jsonl
from support.patience import END_S
from support.results import run
from support.serving import new_index

from simhash_hbase import InvalidArgument, open_index
from simhash_hbase.tables import drop_near_duplicates, mark_near_duplicates

COPIES = near_copies(30, 3)
SENTENCE = "is a service, which"


@pytest.fixture
def key(server, monkeypatch):
    """Set the variable that all of them read the key from."""
    monkeypatch.setenv("SIMHASH_HBASE_API_KEY", server.keys["all"])
    return server.keys["all"]


@pytest.fixture
def twin(tmp_path):
    """Return the address of an index of the same kind."""
    return new_index(tmp_path, "twin.index")


@pytest.fixture
def corpus(tmp_path):
    return write_jsonl(tmp_path / "corpus.jsonl", [*COPIES, {"id": "none", "text": "…"}, {"id": "no text"}])


def undated(records):
    return [json.loads(json.dumps(record), object_hook=_without_times) for record in records]


def _without_times(record):
    return {name: value for name, value in record.items() if name not in ("added", "seen", "first", "last")}


def test_commands_print_what_they_print_of_the_index_itself(server, key, twin, corpus, tmp_path):
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
        there, here = run(name, server.address, *words), run(name, twin, *words)

        assert undated(there.records) == undated(here.records), (name, words)
        assert there.code == here.code, there.err
        # What the service refuses is told after what the reader does.
        refusals = [sorted(line for line in each.err.splitlines() if "refused:" in line) for each in (there, here)]
        assert refusals[0] == refusals[1]
    assert run("stats", server.address).record == run("stats", server.address, "--exact").record
    [of_service] = undated([run("stats", server.address).record])
    assert of_service["documents"] == run("stats", twin).record["documents"]


@pytest.mark.parametrize(
    "words",
    [
        ("load", "URL", "FILE"),
        ("verify", "URL"),
        ("vacuum", "URL"),
        ("backup", "URL", "elsewhere"),
        ("export", "URL"),
        ("dedup", "URL", "FILE"),
        ("create", "URL"),
        ("serve", "URL", "--no-auth", "--port", "0"),
        ("explain", "URL", "one", "other"),
        ("fingerprint", "--profile-of", "URL", "--text", "one"),
    ],
)
def test_what_only_an_index_can_do_says_so(server, key, corpus, words, tmp_path):
    given = [{"URL": server.address, "FILE": corpus}.get(word, word) for word in words]

    done = run(*given, cwd=tmp_path)

    assert done.code == 1
    assert "is a service" in done.err.splitlines()[-1]
    assert "Traceback" not in done.err
    assert (done.out, sorted(path.name for path in tmp_path.iterdir())) == (
        b"", ["corpus.jsonl", "keys", "log", "some.index"]
    )  # fmt: skip


def test_a_claim_takes_an_address_of_a_service_beside_addresses_of_files(server, key, corpus):
    assert [r["status"] for r in run("claim", corpus, server.address).records].count("original") == 30
    refused = run("claim", f"{server.address}/docs/corpus.jsonl")
    assert "SIMHASH_HBASE_API_KEY" not in refused.err


@pytest.mark.parametrize("form", ["address", "index"])
def test_tables_are_decided_by_a_service(server, key, form):
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


def test_tasks_of_datatrove_share_a_service(server, key, tmp_path):
    code = """
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from simhash_hbase.tables.datatrove import NearDuplicatesFilter
url, folder = sys.argv[1:]
writer = JsonlWriter(f"{folder}/out", compression=None)
steps = [JsonlReader(f"{folder}/in"), NearDuplicatesFilter(url, batch_size=7), writer]
if __name__ == "__main__":
    LocalPipelineExecutor(steps, tasks=2, workers=2, logging_dir=f"{folder}/logs").run()
"""
    (tmp_path / "in").mkdir()
    for part in range(2):
        write_jsonl(tmp_path / "in" / f"{part}.jsonl", COPIES[part::2])
    program = tmp_path / "pipeline.py"
    program.write_text(code)

    subprocess.run([sys.executable, program, server.address, tmp_path], check=True, timeout=END_S, capture_output=True)

    kept = [json.loads(line)["id"] for path in (tmp_path / "out").iterdir() for line in path.read_text().splitlines()]
    assert sorted(name.rpartition(" copy ")[0] for name in kept) == sorted(f"group {group}" for group in range(30))


def test_a_crawl_of_scrapy_shares_a_service(server, key, tmp_path):
    spider = tmp_path / "spider.py"
    items = [{"url": record["id"], "text": record["text"]} for record in COPIES]
    spider.write_text(f"""
import scrapy
class Spider(scrapy.Spider):
    name = "items"
    async def start(self):
        for item in {items!r}:
            yield item
""")
    settings = {
        "ITEM_PIPELINES": '{"simhash_hbase.scrapy.NearDuplicatesPipeline": 300}',
        "SIMHASH_HBASE_URL": server.address,
        "SIMHASH_HBASE_ID_FIELD": "url",
    }
    words = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]

    command = [sys.executable, "-m", "scrapy", "runspider", spider, "-o", tmp_path / "kept.jsonl", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=END_S, check=True)

    kept = [json.loads(line)["url"] for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert sorted(name.rpartition(" copy ")[0] for name in kept) == sorted(f"group {group}" for group in range(30))
    assert key not in done.stderr


def test_an_agent_uses_a_service(server, key):
    async def session():
        words = ["-m", "simhash_hbase", "mcp", server.address]
        parameters = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
        async with Client(stdio_client(parameters)) as client:
            calls = [
                ("remember", {"id": "a", "text": text(1)}),
                ("remember", {"id": "b", "text": text(1, changed=1)}),
                ("have_i_seen", {"text": text(1)}),
                ("copies", {"id": "b"}),
                ("forget", {"id": "a"}),
            ]
            return [(await client.call_tool(name, given)).structured_content for name, given in calls]

    original, copy, seen, copies, forgotten = asyncio.run(session())

    assert (original["status"], copy["of"], copies["count"], forgotten["removed"]) == ("original", "a", 1, True)
    assert [match["id"] for match in seen["matches"]] == ["a"]
