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

HINTS = {
    "have_i_seen": (True, None),
    "copies": (True, None),
    "find": (True, None),
    "passages": (True, None),
    "items": (True, None),
    "remember": (False, False),
    "forget": (False, True),
}
TOOLS = HINTS.keys()
READING = {name for name, (only_reads, _) in HINTS.items() if only_reads}
NOTICE = "Trams of line 4 stop at the harbour bridge until the end of May."


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
def test_an_agent_is_told_only_of_the_tools_that_it_has(url, options):
    instructions, tools, [answer] = asked(url, ("remember", {"id": "a", "text": METRO}), options=options)

    # A server that only reads has no tool that changes.
    assert answer.is_error == bool(options)
    assert {tool.name for tool in tools} == (READING if options else TOOLS)
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
    assert "does not hold a document of the id 'wire/2'" in of_nothing.content[0].text


@pytest.mark.parametrize("passages", [30], indirect=True)
def test_an_agent_learns_which_parts_of_a_text_stand_elsewhere(address, url):
    with open_index(url) as index:
        for name, text in (("wire/1", f"{METRO} {NOTICE}"), ("paper/7", f"{NOTICE} {HEAT}"), ("blog/2", HEAT)):
            index.add(name, text)
    text = f"Good morning! {NOTICE} That is all."

    *_, [stored, known, twice, unknown] = asked(
        address,
        ("passages", {"text": text}),
        ("passages", {"text": HEAT, "id": "paper/7"}),
        ("passages", {"text": f"{NOTICE} {METRO}", "at_least": 2}),
        ("passages", {"text": "Nobody has heard of this sentence, and nobody will."}),
        options=["--read-only"],
    )

    [passage] = stored.structured_content["passages"]
    assert text[passage["start"] : passage["stop"]] in NOTICE
    assert passage["stop"] - passage["start"] > len(NOTICE) / 2
    assert (passage["documents"], passage["first"], passage["at_least"]) == (2, "wire/1", False)
    assert 0.5 < stored.structured_content["share"] < 1
    [other] = known.structured_content["passages"]
    assert (other["documents"], other["most"]) == (1, "blog/2")
    [common] = twice.structured_content["passages"]
    assert common["stop"] <= len(NOTICE)
    assert unknown.structured_content == {"id": None, "passages": [], "share": 0, "truncated": False}


@pytest.mark.parametrize("passages", [30], indirect=True)
def test_an_agent_finds_the_items_that_stand_in_a_text(address, url):
    with open_index(url) as index:
        for name, item in (("q1", NOTICE), ("q2", HEAT), ("q3", f"{NOTICE} {HEAT}")):
            index.add(name, item)
    text = f"Good morning! {HEAT} That is all."

    *_, [most, all_of_it, one, nothing] = asked(
        address,
        ("items", {"text": text}),
        ("items", {"text": text, "at_share": 1}),
        ("items", {"text": text, "limit": 1}),
        ("items", {"text": METRO}),
        options=["--read-only"],
    )

    found = [(item["id"], item["share"] == 1) for item in most.structured_content["items"]]
    assert found == [("q2", True), ("q3", False)]
    [span] = most.structured_content["items"][0]["spans"]
    assert text[span["start"] : span["stop"]] in HEAT
    assert not most.structured_content["truncated"]
    for answer, truncated in ((all_of_it, False), (one, True)):
        assert [item["id"] for item in answer.structured_content["items"]] == ["q2"]
        assert answer.structured_content["truncated"] == truncated
    assert nothing.structured_content == {"id": None, "items": [], "truncated": False}


def test_an_error_is_a_sentence_for_the_agent(url):
    *_, answers = asked(
        url,
        ("remember", {"id": "a", "text": "…"}),
        ("have_i_seen", {"text": "…", "limit": 0}),
        ("passages", {"text": METRO}),
        ("items", {"text": METRO, "at_share": 0}),
    )

    assert [answer.is_error for answer in answers] == [True] * 4
    assert "the text of 'a' has no usable words" in answers[0].content[0].text
    assert "greater than or equal to 1" in answers[1].content[0].text
    assert "the index keeps no passages" in answers[2].content[0].text
    assert "greater than 0" in answers[3].content[0].text


def call(name, **arguments):
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


HALF = {
    "a text": call("have_i_seen", text="some \ud800 words"),
    "a text to keep": call("remember", id="a", text="some \udc00 words"),
    "an id": call("remember", id="a\udfff", text="some words"),
    "the name of an argument": call("copies", id="a", **{"\ud800": 1}),
    "the name of a tool": call("cop\ud800ies", id="a"),
    "bytes": json.dumps(call("have_i_seen", text="some ? words")).encode().replace(b"?", b"\xff"),
    "half as bytes": json.dumps(call("have_i_seen", text="some ? words")).encode().replace(b"?", b"\xed\xa0\x80"),
}
UNREADABLE = {
    b"some words": (None, "no JSON"),
    b"[" * 100_000: (None, "no JSON"),
    b"{}": (None, "no message"),
    b"[]": (None, "no message"),
    b'{"jsonrpc":"2.0","id":7,"method":"a\\ud800"}': (7, "not Unicode"),
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list"}': (None, "not Unicode"),
    b'{"jsonrpc":"2.0","id":"x","method":5}': ("x", "no message"),
}
WITHOUT_ANSWER = [b"", b'{"jsonrpc":"2.0","method":"a\\ud800"}', b'{"jsonrpc":"2.0","id":5,"result":"\\ud800"}']


@pytest.fixture
def answers(url):
    """Return what answers lines by those that the command writes until it has answered the last one."""

    def ask(*lines):
        hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
        begin = {"jsonrpc": "2.0", "id": "begin", "method": "initialize", "params": hello}
        ready, end = {"jsonrpc": "2.0", "method": "notifications/initialized"}, {**call("copies", id="a"), "id": "end"}
        raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in (begin, ready, *lines, end)]
        with subprocess.Popen(command("mcp", url), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdin.write(b"\n".join(raw) + b"\n")
            process.stdin.flush()
            found = []
            while not found or found[-1]["id"] != "end":
                found.append(json.loads(process.stdout.readline()))
            process.stdin.close()
            assert process.wait(END_S) == 0
        return found[1:-1]

    return ask


@pytest.mark.parametrize("what", HALF)
def test_a_call_that_is_no_unicode_is_answered(answers, what):
    [answer] = answers(HALF[what])

    assert (answer["id"], answer["result"]["isError"]) == (1, True)
    assert "half of a surrogate pair, or bytes that are not UTF-8" in answer["result"]["content"][0]["text"]


def test_a_line_that_is_no_message_gets_an_error(answers):
    found = answers(*UNREADABLE, *WITHOUT_ANSWER)

    assert [answer["id"] for answer in found] == [name for name, _ in UNREADABLE.values()]
    for answer, (_, reason) in zip(found, UNREADABLE.values(), strict=True):
        assert reason in answer["error"]["message"]


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
