"""What the modelled store holds: document cells, and members that say whether a query finds a document."""

from collections.abc import Iterator
from typing import NamedTuple, Optional

FOUND = ("added", "original")
DECIDED = (*FOUND, "duplicate")
UNDECIDED = ("pending", "yielded")


class Place(NamedTuple):
    """A document under one of its texts; a text stands for its fingerprint."""

    id: int
    text: int

    def __str__(self) -> str:
        return f"document {self.id} text {self.text}"


class Cell(NamedTuple):
    """A document cell; a compare-and-set compares all of it."""

    state: str
    text: int
    token: tuple[int, int] | None = None
    """The writer and its attempt."""
    order: int = 0
    count: int = 0
    """What makes a cell that is pending once more differ from the one before."""
    of: Place | None = None
    seen: int = 1
    """0: so long ago that a refresh is due, and that it has expired for a writer whose clock runs ahead."""
    stamp: int = 0
    """The highest timestamp of the id's members."""
    rank: float = 0
    """0 for what a compare-and-set wrote. The first cell of a new id is put below all of these, at a timestamp of its
    own: of several such puts the highest rank stands."""
    previous: Optional["Cell"] = None


class Member(NamedTuple):
    """A member with its block rows: the timestamps of its last write and of its last delete."""

    written: int = 0
    deleted: int = 0

    @property
    def is_found(self) -> bool:
        """Whether a query comes upon it."""
        return self.written > self.deleted

    def write(self, stamp: int) -> "Member":
        """Write it at a timestamp."""
        return self._replace(written=max(self.written, stamp))

    def delete(self, stamp: int) -> "Member":
        """Delete it up to a timestamp: what is written at or below stays hidden, as in HBase."""
        return self._replace(deleted=max(self.deleted, stamp))


def is_covered(cell: Cell | None, rank: float) -> bool:
    """Tell whether a cell stands above one that is put with a rank."""
    return cell is not None and not 0 < cell.rank < rank


def standing(cell: Cell | None, text: int) -> Cell | None:
    """Return what a cell says of one text of its id: a claim under way, or a decision."""
    named = (cell, cell.previous) if cell else ()
    return next((each for each in named if each is not None and each.text == text), None)


def decisions(cell: Cell | None) -> Iterator[Cell]:
    """Go through the decisions that a cell holds: its own, or the one before the claim under way."""
    if cell is not None and cell.state in UNDECIDED:
        cell = cell.previous
    if cell is not None and cell.state in DECIDED:
        yield cell


def originals(cell: Cell | None) -> Iterator[Cell]:
    """Go through the decisions that let a text count as an original."""
    return (each for each in decisions(cell) if each.state in FOUND)
