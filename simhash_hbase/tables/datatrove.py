"""A filter for datatrove's pipelines: of near copies one document goes on, whichever task has it."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from simhash_hbase.errors import ClaimContended, InvalidArgument, MissingExtra
from simhash_hbase.index.answers import Answer, Decision
from simhash_hbase.opening import open_index

try:
    from datatrove.pipeline.filters.base_filter import BaseFilter
except ImportError as error:
    raise MissingExtra("this filter needs datatrove: pip install 'simhash-hbase[datatrove]'") from error

__all__ = ["NearDuplicatesFilter"]

Verdict = bool | tuple[bool, str]


class NearDuplicatesFilter(BaseFilter):  # type: ignore[misc]  # datatrove has no types
    """Drop documents that are near copies of others, by an index that all tasks share.

    Parameters
    ----------
    url : str
        Address of an index that is there, such as ``file:FOLDER`` or ``hbase://HOST:PORT/TABLE``.
    action : {"claim", "ask"}
        Claim each document, so that of near copies in any task exactly one goes on; or only ask whether the index has a
        near copy, and write nothing.
    exclusion_writer : DiskWriter, optional
        Takes the dropped documents; the original's id is in their metadata as ``duplicate_of``.
    batch_size : int
        Documents that are decided at once.

    Raises
    ------
    InvalidArgument
        When the action is another one.
    ClaimContended
        While it runs, when other tasks keep a document undecided.

    Notes
    -----
    Ids decide what is the same document: they must be unique among all tasks. A task that is run again claims again,
    and the same documents go on. Documents without usable words are dropped.
    """

    name = "near-duplicates"

    def __init__(
        self,
        url: str,
        *,
        action: Literal["claim", "ask"] = "claim",
        exclusion_writer: Any = None,  # noqa: ANN401 - datatrove has no types
        batch_size: int = 1_000,
    ) -> None:
        if action not in ("claim", "ask"):
            raise InvalidArgument(f"action is {action!r}: wanted 'claim' or 'ask'")
        super().__init__(exclusion_writer, batch_size)
        self._url = url
        self._action = action

    def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Iterator[Any]:  # noqa: ANN401 - no types
        """Open the index in the process of the task, for as long as that runs."""
        with open_index(self._url, readonly=self._action == "ask") as self._index:
            yield from super().run(data, rank, world_size)
        del self._index

    def filter(self, doc: Any) -> Verdict:  # noqa: ANN401 - datatrove has no types
        """Decide one document."""
        [verdict] = self.filter_batch([doc])
        return verdict

    def filter_batch(self, batch: Sequence[Any]) -> list[Verdict]:
        """Decide documents."""
        given = ((doc.id, doc.text) for doc in batch)
        many = self._index.claim_many if self._action == "claim" else self._index.query_many
        return [_verdict(doc, found) for doc, (_, found) in zip(batch, many(given), strict=True)]


def _verdict(doc: Any, found: Decision | Answer | ClaimContended | None) -> Verdict:  # noqa: ANN401 - no types
    if found is None:
        return False, "no_words"
    if isinstance(found, ClaimContended):
        raise found
    of = found.of if isinstance(found, Decision) else next((match.id for match in found.matches), None)
    if of is None:
        return True
    doc.metadata["duplicate_of"] = of
    return False, "near_duplicate"
