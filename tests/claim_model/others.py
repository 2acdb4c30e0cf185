"""Writers that do not claim: one that adds a document, one that removes it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from claim_model.cells import FOUND, Cell, Place
from claim_model.store import ACKNOWLEDGED, Move, View


class Local(NamedTuple):
    """Where it stands."""

    at: str = "read"
    old: Cell | None = None
    """The cell as it was read."""
    acknowledged: frozenset[Place] = frozenset()


class _Writer:
    """Reads a cell, changes it, and looks again when another writer was faster."""

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


@dataclass(frozen=True)
class Add(_Writer):
    """Adds a document: member and block rows, then the cell; one that was not there by a plain put."""

    writer: int
    place: Place
    clock: int = 1

    def _read(self, local: Local, view: View) -> Iterator[Move]:
        cell = view.cell(self.place.id)
        if cell is not None and cell.state in FOUND and cell.text == self.place.text:
            yield Move("is there already", Local("acknowledge"))
        else:
            yield Move("reads the cell", Local("write", cell))

    def _write(self, local: Local, view: View) -> Iterator[Move]:
        written = view.member(self.place).write(self._stamp(local))
        yield Move("writes member and rows", local._replace(at="commit"), ((self.place, written),))

    def _commit(self, local: Local, view: View) -> Iterator[Move]:
        added = Cell("added", self.place.text, stamp=self._stamp(local))
        if local.old is None or view.cell(self.place.id) == local.old:
            yield Move("adds", local._replace(at="tidy"), ((self.place.id, added),))
        else:
            yield Move("is refused", Local())

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

    def _read(self, _: Local, view: View) -> Iterator[Move]:
        cell = view.cell(self.place.id)
        if cell is None or cell.state == "removed":
            yield Move("finds nothing", Local("done"))
        else:
            yield Move("reads the cell", Local("commit", cell))

    def _commit(self, local: Local, view: View) -> Iterator[Move]:
        if view.cell(self.place.id) == local.old:
            gone = Cell("removed", local.old.text, stamp=local.old.stamp)
            yield Move("removes", local._replace(at="tidy"), ((self.place.id, gone),))
        else:
            yield Move("is refused", Local())

    def _tidy(self, local: Local, view: View) -> Iterator[Move]:
        place = Place(self.place.id, local.old.text)
        deleted = view.member(place).delete(local.old.stamp)
        yield Move("deletes the member", Local("done"), ((place, deleted),))
