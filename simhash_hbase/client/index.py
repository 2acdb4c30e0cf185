"""An index behind the HTTP service: the methods of `Index`, by requests and streams."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING, Literal, Self, TypedDict, TypeVar, Unpack

import msgspec

from simhash_hbase import errors
from simhash_hbase.index.answers import Answer, Decision, Stored, hex_simhash
from simhash_hbase.index.arguments import LEASES, MOST_MATCHES, GivenDocument, checked_document, checked_ids
from simhash_hbase.index.claim import Claimed
from simhash_hbase.index.copies import Copies
from simhash_hbase.index.dedup import Deduplicator
from simhash_hbase.index.exact import TextJudge
from simhash_hbase.index.index import Index
from simhash_hbase.index.upkeep.stats import Stats
from simhash_hbase.index.upkeep.walk import ProgressCallback
from simhash_hbase.inputs import Document, Place
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import SKETCH_SCALE, MatchRule
from simhash_hbase.rows.analysed import Entries, Metadata, check_id, metadata_problem
from simhash_hbase.rows.clock import Since, now_ms, parse_since
from simhash_hbase.rows.collections import Collection
from simhash_hbase.rows.keys import check_simhash, id_digest
from simhash_hbase.rows.names import exact
from simhash_hbase.stores.base import Store

if TYPE_CHECKING:
    from simhash_hbase.client.http import HttpClient, JsonObject, Parameters

T = TypeVar("T", bound=Document | str)
A = TypeVar("A")


PATIENCE_S = 180.0
OPENING_S = 3.0  # For the first request: a wrong address is reported soon.
# A body that a gateway takes: nginx's limit is 1 MB unless it is set up otherwise.
PIECE_BYTES = 512 << 10
PIECE_LINES = 1_000
NOWHERE = Place("", 0)
OTHER = "an answer is for another document"


class SearchOptions(TypedDict, total=False):
    """How to search; see `Index.query`."""

    rule: MatchRule | None
    limit: int | None
    since: Since | None


class RemoteIndex(Index):
    """An index behind the HTTP service.

    Parameters
    ----------
    url : str
        ``http://HOST:PORT`` or ``https://HOST``, perhaps with a path under which the service is.
    key : str, optional
        An API key.
    patience_s : float
        Seconds for which a request is repeated while the service does not answer.

    Raises
    ------
    NotAnIndex
        When something else answers at the address.
    StoreRefused
        When the key is not known, or does not allow what is asked for.
    StoreUnavailable, StoreTimeout
        When the service does not answer.

    Notes
    -----
    Texts are sent, and the service analyses them. Answers are those of the index behind it. An answer has at most 1,000
    matches; more is said as ``truncated``. The methods with ``_many`` in their names send pieces of a stream, of which
    one is in memory, and yield in the order of the input. While the service is away, what it has not answered is sent
    again: a claim gets the answer that it would have got. A removal may say that the document was not there, because
    the first try removed it. Methods that need the rows raise `Unsupported`. Threads may share one.
    """

    def __init__(self, url: str, *, key: str | None = None, patience_s: float = PATIENCE_S) -> None:
        from simhash_hbase.client.http import HttpClient  # noqa: PLC0415 - an extra

        # Not the constructor of `Index`, which reads the profile from a store.
        self._http = HttpClient(url, key=key, patience_s=patience_s)
        self.on_search = None
        try:
            shown = self._http.get("/v1/profile", patience_s=min(OPENING_S, patience_s))
            profile = self._http.checked(lambda record: Profile.decode(msgspec.json.encode(record)), shown)
        except errors.SimhashError:
            self._http.close()
            raise
        self._begin(profile)

    @property
    def store(self) -> Store:
        """Raise `Unsupported`: the rows are behind the service."""
        raise errors.Unsupported(
            f"{self._service.url} is a service, which can add, claim, query, get and remove documents, list copies and "
            "count; anything else needs the address of the index itself, such as file: or hbase://"
        )

    @property
    def address(self) -> str:
        """The address of the service, and which collection."""
        name = self.collection.name
        return self._http.url if name is None else f"{self._http.url} (collection {name})"

    def __len__(self) -> int:
        """Raise `Unsupported`: a service counts the whole index, see `stats`."""
        raise errors.Unsupported(
            f"{self.address}: a service counts the whole index, in stats(), not the documents of one collection or none"
        )

    @property
    def _service(self) -> HttpClient:
        if self._shared.is_closed:
            raise errors.IndexClosed(f"{self.address}: this index was closed")
        return self._http

    def in_collection(self, name: str | None) -> Self:
        """Return a view of one collection; see `Index.in_collection`."""
        view = copy(self)
        # The service masks what it stores.
        view.collection = Collection(name)
        view._http = self._http.in_collection(name)
        return view

    def close(self) -> None:
        """Close the connections; from now on every call raises `IndexClosed`. A second call does nothing."""
        self._shared.is_closed = True
        self._http.close()

    def add(self, document_id: str, text: str, *, metadata: Metadata | None = None) -> int:
        """Add a document; see `Index.add`."""
        [document] = _documents([(document_id, text, metadata)])
        return self._one("/v1/documents", document, _simhash)

    def add_many(self, documents: Iterable[GivenDocument]) -> Iterator[tuple[str, int | None]]:
        """Add documents; see `Index.add_many`."""
        added = self.add_documents(_documents(documents))
        return ((document.id, _result(document, outcome)) for document, outcome in added)

    def add_documents(self, documents: Iterable[Document]) -> Iterator[tuple[Document, int | errors.SimhashError]]:
        """Add documents that were read; an error in place of a fingerprint is of that document alone."""
        return self._streamed("/v1/documents", documents, _simhash)

    def remove_many(self, ids: Iterable[str]) -> Iterator[tuple[str, bool]]:
        """Remove documents; see `Index.remove_many`."""
        for name, outcome in self._streamed("/v1/removals", checked_ids(ids), _removed):
            if isinstance(outcome, errors.SimhashError):
                raise outcome
            yield name, outcome

    def claim(
        self, document_id: str, text: str, *, metadata: Metadata | None = None, deadline_s: float | None = None
    ) -> Decision:
        """Decide whether a document is an original; see `Index.claim`.

        The service waits for other writers for two leases, so `deadline_s` may not be less.
        """
        self._check_deadline(deadline_s)
        [document] = _documents([(document_id, text, metadata)])
        return self._one("/v1/claims", document, _decision)

    def claim_many(
        self, documents: Iterable[GivenDocument], *, deadline_s: float | None = None
    ) -> Iterator[tuple[str, Claimed | None]]:
        """Claim documents; see `Index.claim_many`, and `claim` for `deadline_s`."""
        claimed = self.claim_documents(_documents(documents), deadline_s=deadline_s)
        return ((d.id, o if isinstance(o, errors.ClaimContended) else _result(d, o)) for d, o in claimed)

    def claim_documents(
        self, documents: Iterable[Document], *, deadline_s: float | None = None
    ) -> Iterator[tuple[Document, Decision | errors.SimhashError]]:
        """Claim documents that were read; an error in place of a decision is of that document alone."""
        self._check_deadline(deadline_s)
        return self._streamed("/v1/claims", documents, _decision)

    def query(self, text: str, **search: Unpack[SearchOptions]) -> Answer:
        """Find the near-duplicates of a text; see `Index.query`."""
        [document] = _documents([("", text)], stored=False)
        return self._one("/v1/queries", document, _answer, self._parameters(**search))

    def query_many(
        self, documents: Iterable[GivenDocument], **search: Unpack[SearchOptions]
    ) -> Iterator[tuple[str, Answer | None]]:
        """Find the near-duplicates of many documents; see `Index.query_many`."""
        answered = self.query_documents(_documents(documents, stored=False), **search)
        return ((document.id, _result(document, outcome)) for document, outcome in answered)

    def query_documents(
        self, documents: Iterable[Document], **search: Unpack[SearchOptions]
    ) -> Iterator[tuple[Document, Answer | errors.SimhashError]]:
        """Query documents that were read; an error in place of an answer is of that document alone."""
        return self._streamed("/v1/queries", documents, _answer, self._parameters(**search))

    def query_simhash(self, simhash: int, **search: Unpack[SearchOptions]) -> Answer:
        """Find the documents near a ready fingerprint; see `Index.query_simhash`."""
        document = Document("", None, check_simhash(simhash), None, None, NOWHERE, None)
        return self._one("/v1/queries", document, _answer, self._parameters(**search))

    def query_id(self, document_id: str, **search: Unpack[SearchOptions]) -> Answer | None:
        """Find the near-duplicates of a stored document; see `Index.query_id`."""
        parameters = self._parameters(**search)
        try:
            record = self._service.request("POST", "/v1/queries", parameters, body=_line(document_id))
        except errors.DocumentMissing:
            return None
        return self._checked(document_id, record, _answer)

    def get_many(self, ids: Sequence[str]) -> list[Stored | None]:
        """Read what the index holds of ids; see `Index.get_many`."""
        stored: list[Stored | None] = []
        for _, outcome in self._streamed("/v1/lookups", checked_ids(ids), _stored):
            if isinstance(outcome, errors.SimhashError) and not isinstance(outcome, errors.DocumentMissing):
                raise outcome
            stored.append(outcome if isinstance(outcome, Stored) else None)
        return stored

    def copies(self, document_id: str) -> Copies | None:
        """List what was decided a duplicate of an original; see `Index.copies`."""
        id_digest(document_id)
        try:
            record = self._service.get("/v1/documents/copies", id=exact(document_id))
        except errors.DocumentMissing:
            return None
        return self._checked(document_id, record, _copies)

    def stats(self, *, exact: bool = False, watch: ProgressCallback | None = None) -> Stats:
        """Count documents, rows and bytes, as the service does: by a sample where the index is large.

        Raises
        ------
        Unsupported
            When `exact` is asked of a large index.
        """
        figures = self._http.checked(_stats, self._service.get("/v1/stats"))
        if exact and not figures.exact:
            raise errors.Unsupported(f"{self.address}: a service counts a large index by a sample")
        return figures

    def expiry_warning(self) -> str | None:
        """Return None: a service goes by its own clock."""
        return None

    def deduplicator(self, *, scratch: Store | None = None, judge: TextJudge | None = None) -> Deduplicator:
        """Raise `Unsupported`: claims decide through a service."""
        raise errors.Unsupported(
            f"{self._service.url} is a service, which decides documents by claim; dedup needs the address of the index "
            "itself, such as file: or hbase://"
        )

    def claim_entries(self, entries: Entries, *, deadline_s: float | None = None) -> list[Claimed]:
        """Raise `Unsupported`: the service takes documents, see `claim_documents`."""
        raise errors.Unsupported(f"{self._service.url} is a service, which analyses documents itself")

    def _check_deadline(self, deadline_s: float | None) -> None:
        waited_s = LEASES * self.profile.lease_s
        if deadline_s is not None and deadline_s < waited_s:
            raise errors.InvalidArgument(
                f"{self.address}: a service waits for {waited_s:g} s for other writers, not less"
            )

    def _parameters(
        self, *, rule: MatchRule | None = None, limit: int | None = None, since: Since | None = None
    ) -> Parameters:
        """Return the parameters of a query."""
        if limit is not None and not (isinstance(limit, int) and 1 <= limit <= MOST_MATCHES):
            raise errors.InvalidArgument(f"limit {limit!r}: a service answers with 1 to {MOST_MATCHES:,} matches")
        parameters: dict[str, str | int | float] = {"limit": MOST_MATCHES if limit is None else limit}
        if since is not None:
            moment = parse_since(since, now_ms()).astimezone(UTC)
            parameters["since"] = moment.isoformat().replace("+00:00", "Z")
        if rule is not None and rule != self.profile.rule:
            parameters |= {"match": rule.match, "distance": rule.distance}
            if rule.match == "verified":
                parameters["similarity"] = rule.similarity
            similarity = rule.similarity if rule.match == "verified" else None
            if self.rule(match=rule.match, distance=rule.distance, similarity=similarity) != rule:
                raise errors.Unsupported(f"{self.address}: a service takes rules that Index.rule makes")
        return parameters

    def _one(
        self, path: str, document: Document, decode: Callable[[JsonObject], A], parameters: Parameters | None = None
    ) -> A:
        """Send one document, which must have words."""
        if _is_blank(document):
            raise errors.EmptyDocument(errors.no_words(document.id))
        try:
            record = self._service.request("POST", path, parameters, body=_line(document))
        except errors.EmptyDocument as error:
            raise errors.EmptyDocument(errors.no_words(document.id)) from error
        return self._checked(document.id, record, decode)

    def _streamed(
        self, path: str, items: Iterable[T], decode: Callable[[JsonObject], A], parameters: Parameters | None = None
    ) -> Iterator[tuple[T, A | errors.SimhashError]]:
        """Send a stream piece by piece, and yield what was sent with its outcome."""
        for piece in _pieces((item, _line(item)) for item in items):
            answers = self._service.stream(path, parameters or {}, [line for _, line in piece])
            for (item, _), record in zip(piece, answers, strict=True):
                yield item, self._outcome(_id(item), record, decode)

    def _outcome(self, name: str, record: JsonObject, decode: Callable[[JsonObject], A]) -> A | errors.SimhashError:
        """Read the line that answers for an id; a refusal may leave the id out."""
        error = self._http.line_error(record)
        if error is None:
            return self._checked(name, record, decode)
        if record.get("id", name) != name:
            raise self._http.no_answer(OTHER)
        return error

    def _checked(self, name: str, record: JsonObject, decode: Callable[[JsonObject], A]) -> A:
        """Read the answer for an id."""
        answered = record.get("query" if decode is _answer else "id")
        if answered != (name or None):
            raise self._http.no_answer(OTHER)
        return self._http.checked(decode, record)


def _pieces(lines: Iterable[tuple[T, bytes]]) -> Iterator[list[tuple[T, bytes]]]:
    """Cut a stream into lists of few lines and bytes; a longer line is alone.

    No id is twice in a list: when the answer to it is lost, the list is sent again, and the earlier one of two texts
    would then be compared with what the later one has changed.
    """
    piece: list[tuple[T, bytes]] = []
    size = 0
    names: set[str] = set()
    for item, line in lines:
        if piece and (len(piece) == PIECE_LINES or size + len(line) > PIECE_BYTES or _id(item) in names):
            yield piece
            piece, size, names = [], 0, set()
        piece.append((item, line))
        size += len(line)
        if _id(item):
            names.add(_id(item))
    if piece:
        yield piece


def _id(item: Document | str) -> str:
    return item if isinstance(item, str) else item.id


def _documents(documents: Iterable[GivenDocument], *, stored: bool = True) -> Iterator[Document]:
    """Make documents of what a caller passes, checked as `Index` does."""
    for number, given in enumerate(documents, 1):
        name, text, metadata = checked_document(number, given)
        id_digest(name)
        if stored:
            check_id(name)
            if problem := metadata_problem(metadata or {}):
                raise errors.InvalidArgument(f"the metadata of {name!r} {problem}")
        yield Document(name, text, None, None, dict(metadata) if metadata and stored else None, NOWHERE, None)


def _line(item: Document | str) -> bytes:
    """Write a document, or the id of one, as the service reads it."""
    record: JsonObject
    if isinstance(item, str):
        id_digest(item)
        record = {"id": exact(item)}
    else:
        contents = {
            "id": item.id or None,
            "text": item.text,
            "features": item.features,
            "metadata": item.metadata or None,
        }
        record = {name: value for name, value in contents.items() if value is not None}
        if item.simhash is not None:
            record["simhash"] = hex_simhash(item.simhash)
    try:
        return msgspec.json.encode(record) + b"\n"
    except UnicodeEncodeError as error:
        raise errors.InvalidArgument(
            f"the text of {record.get('id', '')!r} is not Unicode text: {error.reason}"
        ) from error


def _result(document: Document, outcome: A | errors.SimhashError) -> A | None:
    """Return the result of a text, or None if it has no usable words; raise any other error."""
    if not isinstance(outcome, errors.SimhashError):
        return outcome
    # The service calls a blank text no document.
    if isinstance(outcome, errors.EmptyDocument) or _is_blank(document):
        return None
    raise outcome


def _is_blank(document: Document) -> bool:
    return document.text is not None and not document.text.strip()


def _simhash(record: JsonObject) -> int:
    if not re.fullmatch("[0-9a-f]{16}", record["simhash"]):
        raise ValueError("no fingerprint")
    return int(record["simhash"], 16)


def _removed(record: JsonObject) -> bool:
    return msgspec.convert(record["removed"], bool)


def _stored(record: JsonObject) -> Stored:
    return msgspec.convert({**record, "simhash": _simhash(record)}, Stored)


def _copies(record: JsonObject) -> Copies:
    return msgspec.convert(record, Copies)


def _stats(record: JsonObject) -> Stats:
    return msgspec.convert(record, Stats, str_keys=True)


def _decision(record: JsonObject) -> Decision:
    status = msgspec.convert(record["status"], Literal["original", "duplicate"])
    decision = msgspec.convert({**record, "is_original": status == "original"}, Decision)
    if decision.is_original != (decision.of is None):
        raise ValueError("an original of another document")
    return decision


def _answer(record: JsonObject) -> Answer:
    answer = msgspec.convert(record, Answer)
    # Similarities are sent with four decimals; they are multiples of this share.
    matches = [
        match
        if match.similarity is None
        else replace(match, similarity=round(match.similarity * SKETCH_SCALE) / SKETCH_SCALE)
        for match in answer.matches
    ]
    return replace(answer, matches=matches)
