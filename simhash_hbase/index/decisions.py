"""Decisions about many documents, kept as columns to save memory: most say only that a document is an original."""

from collections.abc import Iterable, Mapping, Sequence
from typing import SupportsIndex, overload

import msgspec

from simhash_hbase.index.answers import Decision, as_given
from simhash_hbase.index.jsonforms import DECISION, plain_line
from simhash_hbase.rows.collections import MARK, own_id


class Decisions(Sequence[Decision]):
    """The decisions about a batch, in the order of its documents; a `Decision` is made when an item is read.

    Parameters
    ----------
    ids, shorts : sequence
        The id of each document, and whether its text is short, as in its `Decision`.
    others : mapping
        The decisions that say more than that a document is an original, by the document's position.
    """

    def __init__(self, ids: Sequence[str], shorts: Sequence[bool], others: Mapping[int, Decision]) -> None:
        self.ids = ids
        self.shorts = shorts
        self.others = others

    @classmethod
    def of(cls, decisions: Iterable[Decision]) -> "Decisions":
        """Return `Decisions` with the given decisions, in their order."""
        some = list(decisions)
        return cls([each.id for each in some], [each.short for each in some], dict(enumerate(some)))

    @property
    def originals(self) -> list[int]:
        """The positions of the originals in the batch."""
        duplicates = {at for at, decision in self.others.items() if not decision.is_original}
        return [at for at in range(len(self)) if at not in duplicates] if duplicates else list(range(len(self)))

    def given(self) -> "Decisions":
        """Return the decisions with ids as callers gave them; inside the index an id may contain its collection."""
        if MARK not in {name[:1] for name in self.ids}:
            return self
        return Decisions(
            list(map(own_id, self.ids)), self.shorts, {at: as_given(decision) for at, decision in self.others.items()}
        )

    def lines(self) -> list[bytes]:
        """Return each decision as a line of JSON."""
        around = map(_LINES.__getitem__, self.shorts)
        ids = map(msgspec.json.encode, self.ids)
        lines = [start + name + end for name, (start, end) in zip(ids, around, strict=True)]
        for at, decision in self.others.items():
            lines[at] = plain_line(DECISION.write(decision))
        return lines

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: SupportsIndex) -> Decision: ...

    @overload
    def __getitem__(self, at: slice) -> list[Decision]: ...

    def __getitem__(self, at: SupportsIndex | slice) -> Decision | list[Decision]:
        if isinstance(at, slice):
            return [self[each] for each in range(len(self))[at]]
        number = range(len(self))[at]
        return self.others.get(number) or Decision(self.ids[number], True, short=self.shorts[number])

    def __eq__(self, other: object) -> bool:
        """Return whether another sequence has equal decisions in the same order."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # As for lists.


def _around_id(*, short: bool) -> tuple[bytes, bytes]:
    """Return the JSON line of an original in two parts: before its id, and after it."""
    start, _, end = plain_line(DECISION.write(Decision("", True, short=short))).partition(b'""')
    return start, end


_LINES = {short: _around_id(short=short) for short in (False, True)}
