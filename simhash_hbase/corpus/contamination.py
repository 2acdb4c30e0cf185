"""Decontamination: finds texts of a corpus that hold items of evaluation sets, and writes the texts that hold none.

An item is a document of an index, such as a question; a suite is the collection to which the items of one set were
added. A text holds an item if it has a given share of the item's passages; see `simhash_hbase.index.passages`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from typing import NamedTuple, Self

from simhash_hbase.corpus.documents import Documents, check_destinations, spooled
from simhash_hbase.corpus.forms import kept_form, looks_into
from simhash_hbase.corpus.options import Reading, RunListener
from simhash_hbase.corpus.writers import check_kept, open_kept
from simhash_hbase.errors import InvalidArgument, SimhashError
from simhash_hbase.features.chunks import Chunk
from simhash_hbase.index.answers import HeldItem, ItemsAnswer
from simhash_hbase.index.index import Index
from simhash_hbase.inputs import Document, Sources
from simhash_hbase.inputs.columns import DocumentColumns
from simhash_hbase.profile.defaults import ITEM_SHARE, checked_share
from simhash_hbase.rows.keys import id_digest


class SuiteCounts(NamedTuple):
    """The result for one suite, a collection of evaluation items: how many were found, and in how many texts."""

    suite: str
    items: int
    found: int
    """Items that stand in some text."""
    texts: int
    """Texts that hold an item."""


def find_in_suites(
    indexes: Sequence[Index], chunk: Chunk, *, at_share: float
) -> Iterator[tuple[Document, list[ItemsAnswer] | SimhashError]]:
    """Yield each text of a chunk with a list: for each index, one a suite, the items of that suite that it holds.

    In place of the list a text has the error that an index raised for it. `at_share` is the least share of an item's
    passages that a text must have.
    """
    found = (index.held(chunk, at_share=at_share) for index in indexes)
    for outcomes in zip(*found, strict=True):
        answers = [answer for _, answer in outcomes if isinstance(answer, ItemsAnswer)]
        errors = (answer for _, answer in outcomes if isinstance(answer, SimhashError))
        yield outcomes[0][0], next(errors, answers)


class TextItems(NamedTuple):
    """The evaluation items of all suites that one text of the corpus holds."""

    id: str
    items: list[tuple[str, HeldItem]]
    """Pairs of the suite's name and an item."""
    truncated: bool

    @classmethod
    def of(cls, document_id: str, names: Iterable[str], answers: Sequence[ItemsAnswer]) -> Self:
        """Return the items of a text, from an answer for each suite; `names` are those of the suites, in that order."""
        items = [(name, item) for name, each in zip(names, answers, strict=True) for item in each.items]
        return cls(document_id, items, any(each.truncated for each in answers))

    def record(self) -> Mapping[str, object]:
        """Return the text's line of the output, as a mapping that becomes a JSON object."""
        items = [{"suite": suite, **asdict(item)} for suite, item in self.items]
        return {"id": self.id, "items": items, "truncated": self.truncated}


class Suite:
    """A suite: one collection of evaluation items, with counts of those found in the texts read so far.

    Parameters
    ----------
    name : str
        The suite's name in results: the collection, or the address of the index.
    index : Index
        The index whose collection holds the items.
    listener : RunListener
        Gets a note about items without passages, which no text is found to hold.

    Raises
    ------
    InvalidArgument
        When the index keeps no passages, or no document of the collection has any: a name with a slip would find all
        texts clean.
    """

    def __init__(self, name: str, index: Index, listener: RunListener) -> None:
        self.name = name
        self.index = index
        self.texts = 0
        """Texts that hold an item."""
        self._found: set[bytes] = set()
        counts = index.count_items()
        if not counts.found:
            others = "no documents" if not counts.without_passages else "no documents with passages"
            raise InvalidArgument(f"`against` {name}: there are {others} to look for: add the items first")
        self.items = counts.found
        if count := counts.without_passages:
            have, them = ("has", "it: it is a duplicate") if count == 1 else ("have", "them: they are duplicates")
            listener.note(
                f"warning: {count:,} of the documents of {name} {have} no passages, so no text is found to hold {them},"
                " too short, or came without a text"
            )
        if not counts.has_seen_passages:
            listener.note(
                f"note: items of {name} that are too short to have a passage, or came without a text, count among its "
                f"{counts.found:,}, since a service does not tell them apart: no text is found to hold them"
            )

    def take(self, answer: ItemsAnswer) -> None:
        """Add the items of this suite that one text holds to the counts."""
        self.texts += bool(answer.items)
        self._found.update(id_digest(item.id) for item in answer.items)

    def counts(self) -> SuiteCounts:
        """Return how many items of the suite were found in how many texts, for the report of suites."""
        return SuiteCounts(self.name, self.items, len(self._found), self.texts)


class Decontamination:
    """A run that looks for the evaluation items of suites in the texts of an input, and writes the texts without any.

    Making it raises `InvalidArgument` if a file of the output cannot be where it was asked for.

    Parameters
    ----------
    sources : sequence of str
        Files, folders and patterns; ``"-"`` is standard input.
    output : str, optional
        File, or folder for whole files, that takes the texts without items in the input's own form; JSON lines, CSV and
        Parquet in the one that its suffix names. Refused records are not in it.
    at_share : float
        Least share of an item's passages that a text has.
    reading, listener
        As for `deduplicate`.
    beside : mapping
        Other places that the caller writes, as in `Surroundings`.
    """

    def __init__(
        self,
        sources: Sequence[str],
        output: str | None = None,
        *,
        at_share: float = ITEM_SHARE,
        reading: Reading | None = None,
        listener: RunListener | None = None,
        beside: Mapping[str, str | None] | None = None,
    ) -> None:
        self.read = 0
        """Texts that were looked at."""
        self.refused = 0
        self.kept = 0
        """Texts that hold no item."""
        self._sources = Sources(sources)
        self._output = output
        self._at_share = checked_share("at_share", at_share)
        self._reading = reading or Reading()
        self._listener = listener or RunListener()
        check_destinations(self._sources, {"`output`": output, "`rejects`": self._reading.rejects, **(beside or {})})

    def run(self, index: Index, suites: Sequence[Suite]) -> Iterator[list[tuple[Document, list[ItemsAnswer]]]]:
        """Yield lists of texts in the order of the input, each text with an answer for each suite: the items in it.

        The texts are read in the form that `index` needs. An error about one text refuses only that text. All texts
        without items are in the file of `output` after the last list was yielded.
        """
        settings = self._reading.settings
        with ExitStack() as stack:
            is_read_ahead = self._output is not None and looks_into(settings.format)
            stdin = stack.enter_context(spooled(self._sources, wanted=is_read_ahead))
            reading = replace(self._reading, settings=replace(settings, stdin=stdin))
            form = kept_form(self._sources, reading.settings, self._output) if self._output else None
            if self._output and form is not None:
                check_kept(self._output, form, resume=False)
                if form.loss is not None:
                    self._listener.note(form.loss)
            kept = stack.enter_context(open_kept(self._output, form, self._listener, keep=None, resume=False))
            takes_bytes = form is not None and form.takes_bytes
            documents = stack.enter_context(
                Documents("passages", self._sources, reading, self._listener, keep_raw=takes_bytes)
            )

            documents.joins = False
            indexes = [suite.index for suite in suites]
            held = partial(find_in_suites, indexes, at_share=self._at_share)
            for results in documents.acted(index, held, analysed=False):
                some = list(results)
                for _, answers in some:
                    for suite, answer in zip(suites, answers, strict=True):
                        suite.take(answer)
                free = [document for document, answers in some if not any(answer.items for answer in answers)]
                self.kept += len(free)
                kept.write(DocumentColumns.of(free), range(len(free)))
                kept.flush()
                kept.sync()
                self.read, self.refused = documents.read, documents.refused
                yield some
            self.read, self.refused = documents.read, documents.refused
