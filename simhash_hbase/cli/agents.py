"""An index as tools that an AI agent can call, by the Model Context Protocol (MCP) on standard input and output."""

import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from inspect import getdoc
from io import TextIOWrapper
from typing import Annotated

from simhash_hbase.errors import DocumentMissing, SimhashError, missing_extra, not_held

try:
    from anyio import AsyncFile
    from mcp import types
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.stdio import stdio_server
    from mcp.shared.message import SessionMessage
    from pydantic import Field, ValidationError
except ImportError as error:
    raise missing_extra("tools for agents need mcp", "mcp") from error

from simhash_hbase.index.answers import Removed
from simhash_hbase.index.arguments import LEASES, PASSAGE_DOCUMENTS
from simhash_hbase.index.index import Index
from simhash_hbase.index.jsonforms import ANSWER, COPIES, DECISION, FOUND, ITEMS, REMOVED, REPEATED
from simhash_hbase.profile.defaults import ITEM_SHARE

MATCHES = 10
INSTRUCTIONS = (
    "A memory of documents that finds near copies. It keeps ids and fingerprints, no texts. Ask have_i_seen before you"
    " read or store a document again."
)
WRITING = "remember decides and stores at once, safely beside other agents."
READING = "This memory is read only."
_NO_MESSAGE = "the line is no message of the Model Context Protocol"
_NOT_UNICODE = "the request is not Unicode text: it has half of a surrogate pair, or bytes that are not UTF-8"

TextArgument = Annotated[str, Field(description="The whole text of the document, as plain text.")]
ClueArgument = Annotated[str, Field(description="A sentence or a longer part of a text, as plain text.")]
IdArgument = Annotated[str, Field(description="Id of the document, such as its URL.", min_length=1)]
LimitArgument = Annotated[int, Field(description="Most matches to return.", ge=1, le=1000)]
OwnIdArgument = Annotated[str, Field(description="Id of the text, if it may be stored: that document is not counted.")]
AtLeastArgument = Annotated[
    int, Field(description="Least number of other documents that hold a passage.", ge=1, le=PASSAGE_DOCUMENTS)
]
AtShareArgument = Annotated[
    float, Field(description="Least share of an item's passages that the text has.", gt=0, le=1)
]


def make_server(index: Index, *, readonly: bool) -> MCPServer[None]:
    """Return the MCP server of an index; if `readonly`, without the tools that change the index."""
    server = _AgentServer(
        "simhash-hbase",
        version=version("simhash-hbase"),
        instructions=f"{INSTRUCTIONS} {READING if readonly else WRITING}",
        log_level="WARNING",
    )
    tools = _Tools(index)
    for tool in tools.reading:
        hints = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
        server.add_tool(tool, description=getdoc(tool), annotations=hints)
    for tool in () if readonly else tools.writing:
        hints = types.ToolAnnotations(
            read_only_hint=False, destructive_hint=tool == tools.forget, idempotent_hint=True, open_world_hint=False
        )
        server.add_tool(tool, description=getdoc(tool), annotations=hints)
    return server


class _AgentServer(MCPServer[None]):
    """An MCP server that answers every request, also one that its library cannot decode and would leave unanswered."""

    async def run_stdio_async(self) -> None:
        requests = _Requests(TextIOWrapper(sys.stdin.buffer, "utf-8", errors="surrogateescape"))
        async with stdio_server(stdin=requests) as (read_stream, write_stream):
            requests.answer = write_stream.send
            server = self._lowlevel_server
            await server.run(read_stream, write_stream, server.create_initialization_options())


class _Requests(AsyncFile[str]):
    """Reads the protocol's messages from standard input; a line that is none is answered with an error and skipped."""

    answer: Callable[[SessionMessage], Awaitable[None]]

    async def readline(self) -> str:
        while line := await super().readline():
            try:
                types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValidationError:
                if (answer := _refusal(line)) is not None:
                    await self.answer(SessionMessage(answer))
            else:
                return line
        return ""


def _refusal(line: str) -> types.JSONRPCMessage | None:
    """Return the error that answers a line which is no valid message of the protocol.

    None for a line that expects no answer: a blank line, a notification, or an answer of the client.
    """
    reason, code, name, method = "the line is no JSON, or is nested too deeply", types.PARSE_ERROR, None, None
    try:
        request = json.loads(line)
        is_unicode = _is_unicode(request)
    except (ValueError, RecursionError):
        if not line.strip():
            return None
    else:
        match request:
            case {"id": str() | int() as given, "method": method}:
                name = given if _is_unicode(given) else None
            case {"method": _} | {"result": _} | {"error": _}:
                return None
        reason, code = _NO_MESSAGE if is_unicode else _NOT_UNICODE, types.INVALID_REQUEST
    if method == "tools/call" and name is not None:
        result = {"content": [{"type": "text", "text": reason}], "isError": True}
        return types.JSONRPCResponse(jsonrpc="2.0", id=name, result=result)
    return types.JSONRPCError(jsonrpc="2.0", id=name, error=types.ErrorData(code=code, message=reason))


def _is_unicode(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


class _Tools:
    """The tools of an index; their docstrings and annotations are what agents read."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self.reading: tuple[Callable[..., dict[str, object]], ...] = (
            self.have_i_seen, self.copies, self.find, self.passages, self.items
        )  # fmt: skip
        self.writing: tuple[Callable[..., dict[str, object]], ...] = (self.remember, self.forget)

    def have_i_seen(self, text: TextArgument, limit: LimitArgument = MATCHES) -> dict[str, object]:
        """Find the documents whose text is nearly the same, nearest first; changes nothing.

        Each match has its id, the distance (bits of 64 that differ), the estimated similarity (0 to 1), the estimated
        share of the text that it contains, and the time when it was added. `truncated` says that there are more;
        `short` that the text is too short to find all copies.
        """
        with _sentences():
            return ANSWER.write(self._index.query(text, limit=limit))

    def copies(self, id: IdArgument) -> dict[str, object]:
        """List the duplicates of a document, with time and similarity of each decision; changes nothing.

        The id may be that of the original, which is named as `of`, or of one of its copies.
        """
        with _sentences():
            if (found := self._index.copies(id)) is None:
                raise DocumentMissing(not_held(id))
            return COPIES.write(found)

    def find(self, clue: ClueArgument, limit: LimitArgument = MATCHES) -> dict[str, object]:
        """Find the documents that hold a clue, such as a sentence, or a part of it; changes nothing.

        Each match has its id, the share of the clue that it holds (0 to 1), the spans of the clue that it holds, and
        the time when it was added. `complete` says that all documents which hold the whole clue are there. The memory
        must have been made to keep passages.
        """
        with _sentences():
            return FOUND.write(self._index.find(clue, limit=limit))

    def passages(self, text: TextArgument, id: OwnIdArgument = "", at_least: AtLeastArgument = 1) -> dict[str, object]:
        """Find the passages of a text that stand in other documents, such as quotations; changes nothing.

        Each passage is a span of the text (`start` and `stop`, counted in characters) with the number of other
        documents that hold some of it, the one that was added first, and the one that holds most of it; `at_least` says
        that there may be more documents. `share` is the part of the text in such passages (0 to 1). The memory must
        have been made to keep passages.
        """
        with _sentences():
            return REPEATED.write(self._index.passages(text, document_id=id, at_least=at_least))

    def items(
        self, text: TextArgument, at_share: AtShareArgument = ITEM_SHARE, limit: LimitArgument = MATCHES
    ) -> dict[str, object]:
        """Find the documents that stand inside a text, such as questions of an evaluation set; changes nothing.

        Each item has its id, the share of it that the text has (0 to 1, most first), and its spans in the text (`start`
        and `stop`, counted in characters). `truncated` says that there are more. The memory must have been made to keep
        passages.
        """
        with _sentences():
            answer = self._index.items(text, at_share=at_share)
            cut = answer.truncated or len(answer.items) > limit
            return ITEMS.write(replace(answer, items=answer.items[:limit], truncated=cut))

    def remember(self, id: IdArgument, text: TextArgument) -> dict[str, object]:
        """Store a document unless a near copy of it is known.

        The status is `original` if it is stored as new, or `duplicate` with the id `of` the known document. The same
        id with the same text gets the same answer again.
        """
        with _sentences():
            claimed = self._index.claim(id, text, deadline_s=LEASES * self._index.profile.lease_s)
            return DECISION.write(claimed)

    def forget(self, id: IdArgument) -> dict[str, object]:
        """Remove a document by its id; `removed` says whether it was there.

        Its copies stay: each is still recorded as a duplicate of the removed document, which is marked by `of_removed`,
        and is not found by its text. The next new document with such a text becomes an original.
        """
        with _sentences():
            return REMOVED.write(Removed(id, self._index.remove(id)))


@contextmanager
def _sentences() -> Iterator[None]:
    """Turn a `SimhashError` of the block into a `ToolError`, whose sentence the agent reads; other errors pass."""
    try:
        yield
    except SimhashError as error:
        raise ToolError(str(error)) from error
