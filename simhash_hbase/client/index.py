"""An index behind the HTTP service: the methods of `Index`, carried out by requests to the service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING, Self, TypeVar, Unpack

import msgspec

from simhash_hbase import errors
from simhash_hbase.client.http import DocumentTooLong, HttpClient, JsonObject, Parameters, ServiceTransport
from simhash_hbase.index.agree import agreed_metadata
from simhash_hbase.index.answers import (
    Added,
    Answer,
    BatchCounts,
    BatchRemoval,
    ClueAnswer,
    Decision,
    DocumentBatch,
    ItemCounts,
    ItemsAnswer,
    PassagesAnswer,
    Stored,
)
from simhash_hbase.index.arguments import LEASES, MOST_MATCHES, PassageSearch, Search, SearchOptions, checked_ids
from simhash_hbase.index.batches import merged
from simhash_hbase.index.copies import Copies
from simhash_hbase.index.index import Index
from simhash_hbase.index.jsonforms import hex_simhash
from simhash_hbase.index.operations import (
    ADD,
    BATCHES,
    CLAIM,
    COPIES,
    FIND,
    GET,
    ITEMS,
    PASSAGES,
    QUERY,
    REMOVE,
    REMOVE_BATCH,
    Operation,
)
from simhash_hbase.index.passages import check_kept
from simhash_hbase.index.upkeep.stats import Stats
from simhash_hbase.index.upkeep.walk import ProgressCallback
from simhash_hbase.inputs import Document, Place
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import check_id, metadata_problem
from simhash_hbase.rows.clock import now_ms, parse_since
from simhash_hbase.rows.collections import Collection
from simhash_hbase.rows.keys import ALL_PREFIXES, check_simhash, id_digest, row_prefix
from simhash_hbase.rows.names import checked_batch, exact
from simhash_hbase.stores.addresses import Address, address_of

if TYPE_CHECKING:
    from simhash_hbase.features.chunks import Chunk

T = TypeVar("T", bound=Document | str)
A = TypeVar("A")
P = TypeVar("P", BatchCounts, BatchRemoval)


PATIENCE_S = 180.0
OPENING_S = 3.0  # For the first request: a wrong address is reported soon.
# A body that a gateway takes: nginx's limit is 1 MB unless it is set up otherwise.
PIECE_BYTES = 512 << 10
PIECE_LINES = 1_000
NOWHERE = Place("", 0)
OTHER = "an answer is for another document"
OF_ONE_DOCUMENT = (errors.ClaimContended, errors.EmptyDocument, errors.InvalidArgument, errors.InvalidInput)


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
    transport : type, optional
        The class that sends the requests, a `ServiceTransport`; by default `ThreadConnections`.

    Raises
    ------
    NotAnIndex
        When something else answers at the address.
    StoreRefused
        When the key is not known, or does not allow the request.
    StoreUnavailable, StoreTimeout
        When the service does not answer.

    Notes
    -----
    Texts are sent, and the service analyses them. Answers are those of the index behind it. An answer has at most 1,000
    matches; if there are more, it is ``truncated``. The methods with ``_many`` in their names read 1,000 documents, or
    fewer long ones, send them as a stream, and yield in the order of the input. While the service does not answer,
    unanswered lines are sent again: a claim gets the answer that it would have got. A removal that was sent again may
    report that the document was not there, and the removal of a batch may leave an id out: the first try removed it.
    The methods that need the rows are in `LocalIndex` only. Threads may share an index.
    """

    _batch_documents = PIECE_LINES

    def __init__(
        self,
        url: Address,
        *,
        key: str | None = None,
        patience_s: float = PATIENCE_S,
        transport: type[ServiceTransport] | None = None,
    ) -> None:
        url = address_of(url)
        if transport is None:
            from simhash_hbase.client.connections import ThreadConnections  # noqa: PLC0415 - an extra

            transport = ThreadConnections
        self._http = HttpClient(url, key=key, patience_s=patience_s, transport=transport)
        try:
            shown = self._http.get("/v1/profile", patience_s=min(OPENING_S, patience_s))
            profile = self._http.checked(lambda record: Profile.decode(msgspec.json.encode(record)), shown)
        except errors.SimhashError:
            self._http.close()
            raise
        super().__init__(profile)

    @property
    def address(self) -> str:
        """The address of the service; for a view of one collection, with the collection's name."""
        name = self.collection.name
        return self._http.url if name is None else f"{self._http.url} (collection {name})"

    @property
    def analysis(self) -> None:
        """None in place of the analysis of texts, since the service analyses them."""

    @property
    def _service(self) -> HttpClient:
        self._check_open()
        return self._http

    def in_collection(self, name: str | None) -> Self:
        """Return a view of one collection; see `Index.in_collection`."""
        view = copy(self)
        # The service masks fingerprints that it stores.
        view.collection = Collection(name)
        view._http = self._http.in_collection(name)
        return view

    def close(self) -> None:
        """Close the connections; see `Index.close`."""
        self._closed.set()
        self._http.close()

    def added(
        self, chunk: Chunk, *, batch: str | None = None
    ) -> Iterator[tuple[Document, Added | errors.SimhashError]]:
        """Add the documents of a chunk, and yield each with its outcome; see `Index.added`."""
        return self._sent(ADD, _storable(chunk.kept), _in_batch(batch))

    def claimed(
        self, chunk: Chunk, *, deadline_s: float | None = None, batch: str | None = None
    ) -> Iterator[tuple[Document, Decision | errors.SimhashError]]:
        """Claim the documents of a chunk, and yield each with its decision or error; see `Index.claimed`.

        The service waits for other writers for two leases, after which the claim of a crashed writer has ended; so
        `deadline_s` may not be less.
        """
        self._check_deadline(deadline_s)
        return self._sent(CLAIM, _storable(chunk.kept), _in_batch(batch))

    def answered(self, chunk: Chunk, search: Search) -> Iterator[tuple[Document, Answer | errors.SimhashError]]:
        """Yield each document of a chunk with its near-duplicates, or an error; see `Index.answered`."""
        # One field of a query's metadata counts at most, and a service refuses metadata that it could not keep.
        asked = [replace(each, metadata=agreed_metadata(each.metadata, self.profile.agree)) for each in chunk.kept]
        return self._sent(QUERY, asked, self._parameters(search))

    def found(
        self, chunk: Chunk, *, limit: int | None = None
    ) -> Iterator[tuple[Document, ClueAnswer | errors.SimhashError]]:
        """Yield each clue of a chunk with the documents that hold it, or an error; see `Index.found`."""
        return self._sent(FIND, [replace(document, metadata=None) for document in chunk.kept], _limited(limit))

    def repeated(
        self, chunk: Chunk, search: PassageSearch
    ) -> Iterator[tuple[Document, PassagesAnswer | errors.SimhashError]]:
        """Yield each text of a chunk with its passages that stand in other documents; see `Index.repeated`."""
        parameters: dict[str, str | int | float] = {"at_least": search.at_least}
        if search.same is not None:
            parameters["same"] = search.same
        return self._sent(PASSAGES, list(chunk.kept), parameters)

    def held(self, chunk: Chunk, *, at_share: float) -> Iterator[tuple[Document, ItemsAnswer | errors.SimhashError]]:
        """Yield each text of a chunk with the documents that stand in it, or an error; see `Index.held`."""
        texts = [replace(document, metadata=None) for document in chunk.kept]
        return self._sent(ITEMS, texts, {"at_share": at_share})

    def count_items(self, watch: ProgressCallback | None = None) -> ItemCounts:
        """Return how many documents can be found inside texts, and how many cannot; see `Index.count_items`.

        A service counts originals as the former and duplicates as the latter: it does not look for passages.
        """
        check_kept(self.profile)
        batches = self.batches(watch=watch)
        originals, duplicates = sum(each.originals for each in batches), sum(each.duplicates for each in batches)
        return ItemCounts(originals, duplicates, has_seen_passages=False)

    def query_simhash(self, simhash: int, **search: Unpack[SearchOptions]) -> Answer:
        """Return the documents near a fingerprint that was computed elsewhere; see `Index.query_simhash`."""
        document = Document("", None, check_simhash(simhash), None, None, NOWHERE, None)
        return self._single(QUERY, document, self._parameters(Search(**search)))

    def query_id(self, document_id: str, **search: Unpack[SearchOptions]) -> Answer | None:
        """Return the near-duplicates of a stored document, None if it is not stored; see `Index.query_id`."""
        parameters = self._parameters(Search(**search))
        try:
            return self._single(QUERY, document_id, parameters)
        except errors.DocumentMissing:
            return None

    def remove_many(self, ids: Iterable[str]) -> Iterator[tuple[str, bool]]:
        """Remove documents, and yield each id with whether its document was there; see `Index.remove_many`."""
        for name, outcome in self._streamed(REMOVE, checked_ids(ids)):
            if isinstance(outcome, errors.SimhashError):
                raise outcome
            yield name, outcome.removed

    def batches(self, *, watch: ProgressCallback | None = None) -> list[DocumentBatch]:
        """Return the batches with their numbers of documents; see `Index.batches`.

        A request is sent for one part of the index after the other.
        """
        return merged(batch for part in self._parts(BATCHES, "GET", {}, watch) for batch in part.batches)

    def _removed_of_batch(self, name: str, watch: ProgressCallback | None) -> Iterator[str]:
        for part in self._parts(REMOVE_BATCH, "POST", {"batch": name}, watch):
            yield from part.removed

    def _parts(
        self, operation: Operation[P], method: str, parameters: Parameters, watch: ProgressCallback | None
    ) -> Iterator[P]:
        """Send a request for one part of the index after the other, and yield the answers.

        A part is a range of rows that the service reads in one request; its answer says where the next part begins.
        """
        after, count = "", 0
        while True:
            asked = {**parameters, **({"after": after} if after else {})}
            record = self._service.request(method, operation.path, asked)
            part = self._http.checked(operation.form.read, record)
            yield part
            if part.after is None:
                return
            if part.after <= after:
                raise self._http.no_answer("parts of the index come twice")
            after, count = part.after, count + 1
            if watch is not None:
                watch(count, self._http.checked(_share_before, after))

    def get_many(self, ids: Sequence[str]) -> list[Stored | None]:
        """Return the stored records of ids, None for an id that is not in the index; see `Index.get_many`."""
        stored: list[Stored | None] = []
        for _, outcome in self._streamed(GET, checked_ids(ids)):
            if isinstance(outcome, errors.SimhashError) and not isinstance(outcome, errors.DocumentMissing):
                raise outcome
            stored.append(outcome if isinstance(outcome, Stored) else None)
        return stored

    def copies(self, document_id: str) -> Copies | None:
        """Return the duplicates of an original, None for an id that is not stored; see `Index.copies`."""
        id_digest(document_id)
        try:
            record = self._service.get(COPIES.path, id=exact(document_id))
        except errors.DocumentMissing:
            return None
        return self._checked(COPIES, document_id, record)

    def stats(self, *, exact: bool = False, watch: ProgressCallback | None = None) -> Stats:
        """Return the numbers of documents, rows and bytes, as the service counts: by a sample of a large index.

        Raises
        ------
        Unsupported
            When `exact` is asked of a large index.
        """
        figures = self._http.checked(_stats, self._service.get("/v1/stats"))
        if exact and not figures.exact:
            raise errors.Unsupported(f"{self.address}: a service counts a large index by a sample")
        return figures

    def _check_deadline(self, deadline_s: float | None) -> None:
        super()._check_deadline(deadline_s)
        waited_s = LEASES * self.profile.lease_s
        if deadline_s is not None and deadline_s < waited_s:
            raise errors.InvalidArgument(
                f"{self.address}: a service waits for {waited_s:g} s for other writers, not less"
            )

    def _check_search(self, search: Search) -> None:
        self._parameters(search)

    def _parameters(self, search: Search) -> Parameters:
        """Return the URL parameters for the rule, limit and time of a query.

        Raises `InvalidArgument` or `Unsupported` for a limit or a rule that a service does not take.
        """
        rule, parameters = search.rule, _limited(search.limit)
        if search.since is not None:
            moment = parse_since(search.since, now_ms()).astimezone(UTC)
            parameters["since"] = moment.isoformat().replace("+00:00", "Z")
        if rule is not None and rule != self.profile.rule:
            parameters |= {"match": rule.match, "distance": rule.distance}
            if rule.match != "distance":
                parameters["similarity"] = rule.similarity
            similarity = rule.similarity if rule.match != "distance" else None
            if self.rule(match=rule.match, distance=rule.distance, similarity=similarity) != rule:
                raise errors.Unsupported(f"{self.address}: a service takes rules that Index.rule makes")
        return parameters

    def _sent(
        self, operation: Operation[A], documents: list[Document], parameters: Parameters | None = None
    ) -> Iterator[tuple[Document, A | errors.SimhashError]]:
        """Send documents to the service, and yield each with its answer or error.

        Several documents are sent as a stream of lines, a single one as a request of its own: the service joins such
        requests of several clients to a batch.
        """
        # A document that may be too large for a body is refused by itself in a stream.
        if len(documents) != 1 or len(documents[0].text or "") > PIECE_BYTES:
            yield from self._streamed(operation, documents, parameters)
            return
        [document] = documents
        try:
            yield document, self._single(operation, document, parameters)
        except OF_ONE_DOCUMENT as error:
            yield document, error

    def _single(self, operation: Operation[A], item: Document | str, parameters: Parameters | None = None) -> A:
        """Return the answer for one document or id, sent as a request of its own."""
        if _is_blank(item):
            raise errors.EmptyDocument(operation.lack(_id(item)))
        try:
            record = self._service.request("POST", operation.path, parameters, body=_line(item))
        except errors.EmptyDocument as error:
            raise errors.EmptyDocument(operation.lack(_id(item))) from error
        except errors.InvalidInput as error:
            if (named := self._naming(_id(item), error)) is error:
                raise
            raise named from error
        return self._checked(operation, _id(item), record)

    def _streamed(
        self, operation: Operation[A], items: Iterable[T], parameters: Parameters | None = None
    ) -> Iterator[tuple[T, A | errors.SimhashError]]:
        """Send documents or ids in requests with up to 1,000 lines, and yield each with its answer or error."""
        for piece in _pieces((item, _line(item)) for item in items):
            answers = self._service.stream(operation.path, parameters or {}, [line for _, line in piece])
            for (item, _), record in zip(piece, answers, strict=True):
                outcome = self._outcome(operation, item, record)
                yield item, outcome

    def _outcome(self, operation: Operation[A], item: Document | str, record: JsonObject) -> A | errors.SimhashError:
        """Return the answer or the error for an item, read from the JSON object that the service sent for it.

        `NotAnIndex` is raised if the object is about another id; an error may lack the id.
        """
        name, error = _id(item), self._http.line_error(record)
        if error is None:
            return self._checked(operation, name, record)
        if record.get("id", name) != name:
            raise self._http.no_answer(OTHER)
        # The service calls a blank text no document.
        return errors.EmptyDocument(operation.lack(name)) if _is_blank(item) else self._naming(name, error)

    def _naming(self, name: str, error: errors.SimhashError) -> errors.SimhashError:
        """Return the error about the document `name`; if the document is too long, with the id in the message."""
        if not name or not isinstance(error, DocumentTooLong):
            return error
        return errors.InvalidInput(f"the document {name!r} is too long for the service: {error.sentence}")

    def _checked(self, operation: Operation[A], name: str, record: JsonObject) -> A:
        """Return the answer in a JSON object; raise `NotAnIndex` if the object is about another id."""
        if record.get(operation.form.id_field) != (name or None):
            raise self._http.no_answer(OTHER)
        return self._http.checked(operation.form.read, record)


def _in_batch(name: str | None) -> Parameters:
    """Return the URL parameter that names the batch in which documents come; an empty mapping without a batch."""
    return {} if name is None else {"batch": checked_batch(name)}


def _share_before(after: str) -> float:
    """Return the share of the index, from 0 to 1, that lies before a row key, given in hex, as rows spread evenly."""
    return row_prefix(bytes.fromhex(after)) / ALL_PREFIXES


def _limited(limit: int | None) -> dict[str, str | int | float]:
    """Return the URL parameter for the most matches of an answer; None: the service's own limit, 1,000."""
    if limit is not None and limit > MOST_MATCHES:
        raise errors.InvalidArgument(
            f"limit is {limit!r}: a service answers with 1 to {MOST_MATCHES:,} matches", parameter="limit"
        )
    return {"limit": MOST_MATCHES if limit is None else limit}


def _pieces(lines: Iterable[tuple[T, bytes]]) -> Iterator[list[tuple[T, bytes]]]:
    """Yield the items with their JSON lines in lists that fit into one request; a line that is too long is alone.

    No id is twice in a list. If the answer is lost, the list is sent again, and the earlier of two texts of an id would
    then be compared with the decision that the later one has changed.
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


def _storable(documents: Sequence[Document]) -> list[Document]:
    """Return documents as a list; raise an error for an id or metadata that cannot be stored, as `LocalIndex` does."""
    for document in documents:
        check_id(document.id)
        if problem := metadata_problem(document.metadata or {}):
            raise errors.InvalidArgument(f"the metadata of {document.id!r} {problem}")
    return list(documents)


def _line(item: Document | str) -> bytes:
    """Return the JSON line that sends a document, or an id of a stored document, to the service."""
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


def _is_blank(item: Document | str) -> bool:
    return isinstance(item, Document) and item.text is not None and not item.text.strip()


def _stats(record: JsonObject) -> Stats:
    return msgspec.convert(record, Stats, str_keys=True)
