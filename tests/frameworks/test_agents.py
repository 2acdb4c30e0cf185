"""The tools for agents, called over standard input and output by the protocol's own client."""

import asyncio
import json
import os
import subprocess
import sys

import pytest
from articles import COPY, HEAT, METRO
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from support.fresh_clone import blocks
from support.patience import END_S
from support.results import command

from simhash_hbase import open_index

TOOLS = {"have_i_seen", "copies", "remember", "forget"}
HINTS = {"have_i_seen": (True, None), "copies": (True, None), "remember": (False, False), "forget": (False, True)}


def asked(address, *calls, options=()):
    """Start the command that the page shows and call tools; return the instructions, the tools and the answers."""
    shown = json.loads(blocks("json")["agents"])["mcpServers"]["seen"]
    assert shown == {"command": "simhash-hbase", "args": ["mcp", "file:seen.index"]}

    async def session():
        words = ["-m", "simhash_hbase", "mcp", address, *options]
        # The client would pass on a part of the environment alone, without what measures coverage.
        server = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
        async with Client(stdio_client(server)) as client:
            tools = (await client.list_tools()).tools
            return client.instructions, tools, [await client.call_tool(name, given) for name, given in calls]

    return asyncio.run(session())


@pytest.mark.parametrize("options", [[], ["--read-only"]])
def test_an_agent_is_told_of_the_tools_that_it_has_and_of_no_others(url, options):
    instructions, tools, [answer] = asked(url, ("remember", {"id": "a", "text": METRO}), options=options)

    # A server that only reads has no tool that changes.
    assert answer.is_error == bool(options)
    assert {tool.name for tool in tools} == ({"have_i_seen", "copies"} if options else TOOLS)
    told = " ".join([instructions, *(tool.description for tool in tools)])
    assert {name for name in TOOLS if name in told} <= {tool.name for tool in tools}
    assert ("remember" in instructions) == (not options)
    for tool in tools:
        assert not any(line.startswith(" ") for line in tool.description.splitlines()), tool.name
        assert ("copies stay" in tool.description) == (tool.name == "forget")


def test_an_agent_remembers_recognises_and_forgets(address, url):
    _, tools, answers = asked(
        address,
        ("have_i_seen", {"text": METRO}),
        ("remember", {"id": "wire/1", "text": METRO}),
        ("remember", {"id": "paper/7", "text": COPY}),
        ("have_i_seen", {"text": COPY, "limit": 1}),
        ("forget", {"id": "wire/1"}),
        ("forget", {"id": "wire/1"}),
        ("have_i_seen", {"text": HEAT}),
    )

    hints = {tool.name: (tool.annotations.read_only_hint, tool.annotations.destructive_hint) for tool in tools}
    assert hints == HINTS
    assert not any(answer.is_error for answer in answers)
    found = [answer.structured_content for answer in answers]
    assert [answer["matches"] for answer in (found[0], found[6])] == [[], []]
    assert [(answer["status"], answer["of"]) for answer in found[1:3]] == [("original", None), ("duplicate", "wire/1")]
    assert [match["id"] for match in found[3]["matches"]] == ["wire/1"]
    assert [answer["removed"] for answer in found[4:6]] == [True, False]
    with open_index(url, readonly=True) as index:
        assert [(stored.id, stored.state) for stored in index.export()] == [("paper/7", "duplicate")]


def test_an_agent_lists_the_copies_of_a_document(address, url):
    with open_index(url) as index:
        index.claim("wire/1", METRO)
        index.claim("paper/7", COPY)

    *_, [of_original, of_copy, of_nothing] = asked(
        address, *(("copies", {"id": name}) for name in ("wire/1", "paper/7", "wire/2")), options=["--read-only"]
    )

    assert of_original.structured_content["count"] == 1
    [copy] = of_original.structured_content["copies"]
    assert (copy["id"], copy["of_removed"]) == ("paper/7", False)
    assert copy["similarity"] > 0.7
    assert of_copy.structured_content == {**of_original.structured_content, "id": "paper/7"}
    assert of_nothing.is_error
    assert "does not hold a document with the id 'wire/2'" in of_nothing.content[0].text


def test_an_error_is_a_sentence_for_the_agent(url):
    *_, answers = asked(url, ("remember", {"id": "a", "text": "…"}), ("have_i_seen", {"text": "…", "limit": 0}))

    assert [answer.is_error for answer in answers] == [True, True]
    assert "the text of 'a' has no usable words" in answers[0].content[0].text
    assert "greater than or equal to 1" in answers[1].content[0].text


@pytest.mark.parametrize("reader", ["gone", "full"])
def test_an_agent_that_reads_no_notices_is_answered(url, reader):
    hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    if reader == "gone":
        reading, writing = os.pipe()
        os.close(reading)
    else:
        writing = os.open("/dev/full", os.O_WRONLY)

    answered = subprocess.run(
        command("mcp", url),
        input=f"{asked}\n".encode(),
        stdout=subprocess.PIPE,
        stderr=writing,
        timeout=END_S,
        check=True,
    ).stdout

    os.close(writing)
    assert json.loads(answered)["result"]["serverInfo"]["name"] == "simhash-hbase"
