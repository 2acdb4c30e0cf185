"""Writers that do not claim: one that adds a document, one that removes it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from claim_model.cells import FOUND, Cell, Place, is_covered
from claim_model.rules import Rules
from claim_model.store import ACKNOWLEDGED, COUNTED, Move, View


class Local(NamedTuple):
    """Where it stands."""

    at: str = "read"
    old: Cell | None = None
    """The cell as it was read."""
    again: bool = False
    """An earlier attempt was refused or not answered."""
    left: Cell | None = None
    """What an earlier attempt, if it was done after all, has removed."""


class _Writer:
    """Reads a cell, changes it, and looks again when another writer was faster or no answer came."""

    claims = False

    def begin(self) -> Local:
        """Return the local state before the first step."""
        return Local()

    def is_done(self, local: Local) -> bool:
        """Tell whether it has come to its end."""
        return local.at == "done"

    def steps(self, local: Local, view: View) -> Iterator[Move]:
        """List what it may do next."""
        return getattr(self, f"_{local.at}")(local, view)

    def _swap(self, local: Local, view: View, new: Cell, said: str) -> Iterator[Move]:
        if view.cell(self.place.id) != local.old:
            yield Move("is refused", self._look_again(local))
        else:
            yield from self._sent(local, new, said, local._replace(at="tidy"))

    def _sent(self, local: Local, new: Cell, said: str, after: Local, *, is_blind: bool = False) -> Iterator[Move]:
        write = ((self.place.id, new),)
        yield Move(said, after, write)
        yield Move(f"{said}, without an answer", self._look_again(local), write, "late", is_blind)
        yield Move(f"{said}, and once more later", after, write, "twice", is_blind)

    def _look_again(self, local: Local) -> Local:
        return Local(again=True)


@dataclass(frozen=True)
class Add(_Writer):
    """Adds a document: member and block rows, then the cell; one that was not there by a put that it reads back."""

    writer: int
    place: Place
    rules: Rules
    rank: float
    """That of its first cell, if its id is new."""
    clock: int = 1

    def _read(self, local: Local, view: View) -> Iterator[Move]:
        cell = view.cell(self.place.id)
        is_there = cell is not None and cell.state in FOUND and cell.text == self.place.text
        if is_there and not local.again:
            # Real writers change the cell all the same: nothing but its times.
            counted = ((COUNTED, view.counted | {self.writer}),)
            yield Move("is there already", local._replace(at="acknowledge"), counted)
        else:
            yield Move("reads the cell", local._replace(at="write", old=cell))

    def _write(self, local: Local, view: View) -> Iterator[Move]:
        written = view.member(self.place).write(self._stamp(local))
        yield Move("writes member and rows", local._replace(at="commit"), ((self.place, written),))

    def _commit(self, local: Local, view: View) -> Iterator[Move]:
        old = local.old
        stays = old is not None and old.state in FOUND and old.text == self.place.text
        stamp = self._stamp(local) if self.rules.raising else self.clock
        added = Cell(old.state if stays else "added", self.place.text, stamp=stamp)
        if old is not None or (local.again and self.rules.placed):
            yield from self._swap(local, view, added, "adds")
        elif not self.rules.placed:
            yield from self._sent(local, added, "adds", local._replace(at="tidy"), is_blind=True)
        else:
            yield from self._place(local, view, added._replace(rank=self.rank))

    def _place(self, local: Local, view: View, placed: Cell) -> Iterator[Move]:
        after = local._replace(at="read_back" if self.rules.read_back else "tidy")
        if is_covered(view.cell(self.place.id), self.rank):
            yield Move("adds below another cell", after)
        else:
            yield from self._sent(local, placed, "adds", after)

    def _read_back(self, local: Local, view: View) -> Iterator[Move]:
        placed = Cell("added", self.place.text, stamp=self._stamp(local), rank=self.rank)
        if view.cell(self.place.id) == placed:
            yield Move("finds itself added", local._replace(at="tidy"))
        else:
            yield Move("does not find itself", self._look_again(local))

    def _tidy(self, local: Local, view: View) -> Iterator[Move]:
        old = local.old
        if old is None or old.text == self.place.text:
            yield from self._acknowledge(local, view)
        else:
            place = Place(self.place.id, old.text)
            deleted = view.member(place).delete(old.stamp)
            yield Move("deletes the old member", Local("acknowledge"), ((place, deleted),))

    def _acknowledge(self, _: Local, view: View) -> Iterator[Move]:
        yield Move("acknowledges", Local("done"), ((ACKNOWLEDGED, view.acknowledged | {self.place}),))

    def _stamp(self, local: Local) -> int:
        return self.clock if local.old is None else max(self.clock, local.old.stamp + 1)


@dataclass(frozen=True)
class Remove(_Writer):
    """Removes a document: the cell, then the member."""

    writer: int
    place: Place

    def _read(self, local: Local, view: View) -> Iterator[Move]:
        cell = view.cell(self.place.id)
        if cell is not None and cell.state != "removed":
            yield Move("reads the cell", local._replace(at="commit", old=cell))
        elif local.left is not None:
            yield Move("finds it removed", local._replace(at="tidy", old=local.left))
        else:
            yield Move("finds nothing", Local("done"))

    def _commit(self, local: Local, view: View) -> Iterator[Move]:
        gone = Cell("removed", local.old.text, stamp=local.old.stamp)
        yield from self._swap(local, view, gone, "removes")

    def _tidy(self, local: Local, view: View) -> Iterator[Move]:
        place = Place(self.place.id, local.old.text)
        deleted = view.member(place).delete(local.old.stamp)
        yield Move("deletes the member", Local("done"), ((place, deleted),))

    def _look_again(self, local: Local) -> Local:
        return Local(again=True, left=local.old)
