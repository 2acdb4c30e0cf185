"""A filter for datatrove's pipelines: of near copies one document goes on, in whichever task it is."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal

from simhash_hbase.api import open_index
from simhash_hbase.errors import ClaimContended, EmptyDocument, InvalidArgument, missing_extra, no_words
from simhash_hbase.index.agree import agreed_metadata
from simhash_hbase.index.answers import Decision
from simhash_hbase.rows.names import checked_batch
from simhash_hbase.stores.addresses import Address, address_of
from simhash_hbase.tables.dedup import Unreadable, check_unreadable

try:
    from datatrove.pipeline.filters.base_filter import BaseFilter
except ImportError as error:
    raise missing_extra("this filter needs datatrove", "datatrove") from error

__all__ = ["NearDuplicatesFilter"]

FilterResult = bool | tuple[bool, str]


class NearDuplicatesFilter(BaseFilter):  # type: ignore[misc]  # datatrove has no types
    """Drop documents that are near copies of others, by an index that all tasks share.

    Parameters
    ----------
    url : str or path
        Address of an index that is there, such as ``file:FOLDER`` or ``hbase://HOST:PORT/TABLE``.
    action : {"claim", "ask"}
        Claim each document, so that of near copies in any task exactly one goes on; or only ask whether the index has a
        near copy, and write nothing.
    exclusion_writer : DiskWriter, optional
        Takes the dropped documents; the original's id is in their metadata as ``duplicate_of``.
    batch_size : int
        Documents that are decided at once.
    unreadable : {"raise", "keep", "drop"}
        The treatment of documents without usable words.
    collection : str, optional
        The collection within the index; see `Index.in_collection`.
    batch : str, optional
        With ``claim``, the name of what the documents come in, such as a crawl; see `Index.batches`.

    Raises
    ------
    InvalidArgument
        When the action or the choice is another one, or a batch is named that nothing is written in.
    EmptyDocument
        While it runs, at a document without usable words, if `unreadable` is ``raise``.
    ClaimContended
        While it runs, when other tasks keep a document undecided.

    Notes
    -----
    Documents are told apart by their ids, which must be unique among all tasks. A task that is run again claims again,
    and the same documents go on.
    """

    name = "near-duplicates"

    def __init__(  # noqa: PLR0913 - one choice each
        self,
        url: Address,
        *,
        action: Literal["claim", "ask"] = "claim",
        exclusion_writer: Any = None,  # noqa: ANN401 - datatrove has no types
        batch_size: int = 1_000,
        unreadable: Unreadable = "raise",
        collection: str | None = None,
        batch: str | None = None,
    ) -> None:
        if action not in ("claim", "ask"):
            raise InvalidArgument(f"action is {action!r}: wanted 'claim' or 'ask'")
        check_unreadable(unreadable)
        if checked_batch(batch) is not None and action == "ask":
            raise InvalidArgument(f"batch={batch!r} goes with action='claim': 'ask' writes nothing")
        super().__init__(exclusion_writer, batch_size)
        self._url = address_of(url)
        self._action = action
        self._unreadable = unreadable
        self._collection = collection
        self._batch = batch

    def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Iterator[Any]:  # noqa: ANN401 - no types
        """Yield the documents of a task that go on in the pipeline; the index is open meanwhile."""
        readonly = self._action == "ask"
        with open_index(self._url, collection=self._collection, readonly=readonly) as self._index:
            yield from super().run(data, rank, world_size)
        del self._index

    def filter(self, doc: Any) -> FilterResult:  # noqa: ANN401 - datatrove has no types
        """Return True for a document that goes on in the pipeline, or False with the reason why not."""
        [verdict] = self.filter_batch([doc])
        return verdict

    def filter_batch(self, batch: Sequence[Any]) -> list[FilterResult]:
        """Return for each document of a batch True if it goes on in the pipeline, or False with the reason why not."""
        agree = self._index.profile.agree
        given = ((doc.id, doc.text, agreed_metadata(doc.metadata, agree)) for doc in batch)
        claim = partial(self._index.claim_many, batch=self._batch)
        many = claim if self._action == "claim" else self._index.query_many
        verdicts: list[FilterResult] = []
        for doc, (_, answer) in zip(batch, many(given), strict=True):
            if answer is None:
                if self._unreadable == "raise":
                    raise EmptyDocument(
                        f"{no_words(doc.id)}; unreadable='keep' lets such documents go on, 'drop' drops them"
                    )
                verdicts.append(True if self._unreadable == "keep" else (False, "no_words"))
                continue
            if isinstance(answer, ClaimContended):
                raise answer
            of = answer.of if isinstance(answer, Decision) else next((match.id for match in answer.matches), None)
            if of is not None:
                doc.metadata["duplicate_of"] = of
            verdicts.append(True if of is None else (False, "near_duplicate"))
        return verdicts
