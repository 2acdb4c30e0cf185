"""What a writer that claims does, one access to the store a step."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from claim_model.cells import DECIDED, FOUND, UNDECIDED, Cell, Place, decisions, is_covered, standing
from claim_model.rules import Rules
from claim_model.store import Move, View

ATTEMPTS = 2
"""Attempts after which a claim ends as contended."""
HOLDS_CELL = ("write", "query", "look", "wait", "name")


class Local(NamedTuple):
    """Where a claim stands."""

    at: str
    attempt: int = 0
    own: Cell | None = None
    """The own cell as this writer believes it to be."""
    left: frozenset[Place] = frozenset()
    """Neighbours that are not looked at yet."""
    about: Place | None = None
    """The neighbour that is waited for, or that is to be named."""
    late: int = 0
    """1 once a request of this attempt may be late. Only then cells have to differ, which keeps the states few."""
    acknowledged: frozenset[Place] = frozenset()
    """What had been added when the claim began."""
    buried: tuple[Place, int] | None = None
    """An expired original that it has just removed: its member, and up to which timestamp that is to be deleted."""


@dataclass(frozen=True)
class Claim:
    """A writer that claims a document."""

    writer: int
    place: Place
    near: tuple[Place, ...]
    """Places of other ids within its reach."""
    order: int
    rules: Rules
    rank: int
    """That of its first cell, if its id is new; 0 where cells expire by their timestamp: then it compares and sets."""
    clock: int = 1
    is_fast: bool = False
    """Its clock runs ahead: what was not seen for long has expired for it."""
    claims = True

    def begin(self) -> Local:
        """Return the local state before the first step."""
        return Local("begin")

    def is_done(self, local: Local) -> bool:
        """Tell whether it has an answer or a typed error."""
        return local.at in ("answered", "contended")

    def steps(self, local: Local, view: View) -> Iterator[Move]:
        """List what it may do next."""
        if local.buried is not None:
            yield self._sweep(local, view, *local.buried)
            return
        yield from getattr(self, f"_{local.at}")(local, view)
        own = local.own
        if local.at in HOLDS_CELL and own and own.state in UNDECIDED and view.cell(self.place.id) == own:
            renewed = own._replace(count=own.count + 1, rank=0)
            yield Move("renews", local._replace(own=renewed), ((self.place.id, renewed),), "renewal")

    # -- the own cell, and a first query: it saves work, nothing rests on it

    def _begin(self, local: Local, view: View) -> Iterator[Move]:
        yield from self._own(local._replace(at="own", acknowledged=view.acknowledged), view)

    def _own(self, local: Local, view: View) -> Iterator[Move]:
        cell = view.cell(self.place.id)
        if cell is not None and cell.state in UNDECIDED:
            yield _change(local, self.place.id, _given_up(cell), "gives up another claim of its id")
        elif cell is None or cell.state not in DECIDED or cell.text != self.place.text or self._is_expired(cell):
            yield Move("reads its cell", local._replace(at="ask", own=cell))
        elif cell.seen:
            yield Move(f"is answered {cell.state}", Local("answered"))
        else:
            yield _change(local, self.place.id, cell._replace(seen=1), "refreshes its cell")

    def _ask(self, local: Local, view: View) -> Iterator[Move]:
        near = [(place, named) for place in self._found(view) if (named := self._original(view, place))]
        for place, named in near:
            due = named.seen == 0 and self.rules.refresh
            yield Move(f"finds original {place}", local._replace(at="settle" if due else "name", about=place))
        if not near:
            yield Move("finds no original", local._replace(at="mark"))

    def _settle(self, local: Local, view: View) -> Iterator[Move]:
        if named := self._original(view, local.about):
            yield self._take_original(local, view, local.about, named)
        else:
            yield Move("asks again", local._replace(at="ask", about=None))

    # -- pending; member and rows; the second query

    def _mark(self, local: Local, view: View) -> Iterator[Move]:
        old = local.own
        pending = Cell(
            "pending",
            self.place.text,
            (self.writer, local.attempt),
            self.order,
            stamp=max(self.clock, old.stamp + 1) if old and self.rules.stamps else self.clock,
            previous=self._stays(old) if self.rules.previous else None,
        )
        if old is None and self.rank and not local.attempt:
            yield from self._put(local, view, pending._replace(rank=self.rank))
        else:
            yield from self._swap(local, view, pending, local._replace(at="write", own=pending), "pending")

    def _put(self, local: Local, view: View, pending: Cell) -> Iterator[Move]:
        """Put the first cell of a new id. Real writers read it back, which saves work if it does not stand."""
        write = ((self.place.id, pending),)
        covered = is_covered(view.cell(self.place.id), self.rank) and self.rules.below
        yield Move("pending", local._replace(at="write", own=pending), () if covered else write)
        yield Move("pending, without an answer", self._doubtful(local), write, "late")

    def _write(self, local: Local, view: View) -> Iterator[Move]:
        written = view.member(self.place).write(local.own.stamp)
        after = "query" if self.rules.second_query else "look"
        yield Move("writes member and rows", local._replace(at=after), ((self.place, written),))

    def _query(self, local: Local, view: View) -> Iterator[Move]:
        left = frozenset(self._found(view))
        said = f"finds {', '.join(map(str, sorted(left))) or 'nobody'}"
        yield Move(said, local._replace(at="look", left=left))

    # -- each neighbour, in any order

    def _look(self, local: Local, view: View) -> Iterator[Move]:
        if not local.left:
            yield from self._decide(local, view, "original", None)
        for place in local.left:
            yield from self._look_at(local, view, place)

    def _look_at(self, local: Local, view: View, place: Place) -> Iterator[Move]:
        there = view.cell(place.id)
        named = standing(there, place.text)
        if named is None or named.state not in (*FOUND, "pending") or self._passes_expired(named):
            yield Move(f"passes {place}", local._replace(left=local.left - {place}))
        elif named.state in FOUND:
            yield self._take_original(local, view, place, named)
        elif named.order > self.order:
            yield _change(local, place.id, _given_up(there), f"gives up {place}")
        elif self.rules.yielding:
            yielded = self._next(local, "yielded")
            after = local._replace(at="wait", own=yielded, left=frozenset(), about=place)
            yield from self._swap(local, view, yielded, after, f"yielded to {place}")
        else:
            yield Move(f"takes {place} for its original", local._replace(at="name", left=frozenset(), about=place))

    def _wait(self, local: Local, view: View) -> Iterator[Move]:
        place = local.about
        there = view.cell(place.id)
        named = standing(there, place.text) if self.rules.text_compared else there
        if named is not None and named.state in FOUND and not self._passes_expired(named):
            yield self._take_original(local, view, place, named)
        elif named is not None and named.state in UNDECIDED:
            yield _change(local, place.id, _given_up(there), f"gives up {place}")
        else:
            pending = self._next(local, "pending")
            after = local._replace(at="query", own=pending, about=None)
            yield from self._swap(local, view, pending, after, "pending again")

    def _take_original(self, local: Local, view: View, place: Place, named: Cell) -> Move:
        """Go on with an original within reach; it is removed if it has expired, refreshed if it may soon."""
        there = view.cell(place.id)
        if self._is_expired(named):
            gone = there._replace(previous=None) if named is there.previous else there._replace(state="removed")
            after = local._replace(buried=(place, there.stamp))
            return _change(after, place.id, gone, f"removes expired {place}")
        if named.seen == 0 and self.rules.refresh:
            fresh = named._replace(seen=1)
            refreshed = there._replace(previous=fresh) if named is there.previous else fresh
            return _change(local, place.id, refreshed, f"refreshes {place}")
        return Move(f"sees original {place}", local._replace(at="name", left=frozenset(), about=place))

    def _sweep(self, local: Local, view: View, place: Place, stamp: int) -> Move:
        deleted = view.member(place).delete(stamp)
        return Move(f"deletes the member of {place}", local._replace(buried=None), ((place, deleted),))

    # -- the end

    def _name(self, local: Local, view: View) -> Iterator[Move]:
        yield from self._decide(local, view, "duplicate", local.about)

    def _decide(self, local: Local, view: View, state: str, of: Place | None) -> Iterator[Move]:
        stamp = local.own.stamp if local.own else 0
        decided = Cell(state, self.place.text, (self.writer, local.attempt), of=of, stamp=stamp)
        said = state if of is None else f"duplicate of {of}"
        yield from self._swap(local, view, decided, self._answered(local), said)

    def _answered(self, local: Local) -> Local:
        return Local("drop", own=local.own) if self._moved_from(local.own) else Local("answered")

    def _drop(self, local: Local, view: View) -> Iterator[Move]:
        """Delete the member of the text before, up to its timestamp; that of a duplicate is left to vacuum."""
        old = self._moved_from(local.own)
        place = Place(self.place.id, old.text)
        yield Move("deletes what it leaves", Local("answered"), ((place, view.member(place).delete(old.stamp)),))

    # -- compare-and-sets

    def _swap(self, local: Local, view: View, new: Cell, after: Local, said: str) -> Iterator[Move]:
        """Change the own cell; when that is refused or not answered, look at it."""
        look = self._doubtful(local)
        if view.cell(self.place.id) != local.own:
            yield Move(f"is refused {said}", look)
        else:
            yield Move(said, after, ((self.place.id, new),))
            yield Move(f"{said}, without an answer", look, ((self.place.id, new),), "late")

    def _doubtful(self, local: Local) -> Local:
        kept = local.own if self._moved_from(local.own) else None
        return Local("recheck", local.attempt, kept, acknowledged=local.acknowledged)

    def _recheck(self, local: Local, view: View) -> Iterator[Move]:
        cell = view.cell(self.place.id)
        is_mine = cell is not None and cell.token == (self.writer, local.attempt)
        decided = [each for each in decisions(cell) if each.token == (self.writer, local.attempt)]
        if not self.rules.own_cell:
            yield self._again(local, Local("ask", own=cell))
        elif decided:
            # Perhaps another claim is about to move it already.
            yield Move(f"finds itself {decided[0].state}", self._answered(local))
        elif is_mine and cell.state == "pending":
            yield Move("finds itself pending", local._replace(at="write", own=cell, late=1))
        elif is_mine and cell.state == "yielded":
            here = local._replace(own=cell, late=1)
            pending = self._next(here, "pending")
            yield from self._swap(here, view, pending, here._replace(at="query", own=pending), "pending again")
        else:
            yield self._again(local, Local("own"))

    def _again(self, local: Local, after: Local) -> Move:
        attempt = local.attempt + 1
        if attempt == ATTEMPTS:
            return Move("is contended", Local("contended"))
        return Move("starts again", after._replace(attempt=attempt, acknowledged=local.acknowledged))

    def _next(self, local: Local, state: str) -> Cell:
        count = local.own.count + local.late * self.rules.counting
        return local.own._replace(state=state, count=count, rank=0)

    # -- what it knows

    def _found(self, view: View) -> list[Place]:
        return [place for place in self.near if view.member(place).is_found]

    def _original(self, view: View, place: Place) -> Cell | None:
        named = standing(view.cell(place.id), place.text)
        return named if named and named.state in FOUND and not self._is_expired(named) else None

    def _moved_from(self, cell: Cell | None) -> Cell | None:
        """Return the decision for another text that this claim is to replace."""
        return next((each for each in decisions(cell) if each.text != self.place.text), None)

    def _stays(self, cell: Cell | None) -> Cell | None:
        """Return what stays in force while it is replaced; a text that is offered again does not expire on the way."""
        before = self._moved_from(cell)
        return None if before is None or self._is_expired(before) else before._replace(seen=1)

    def _is_expired(self, cell: Cell) -> bool:
        return self.is_fast and cell.seen == 0

    def _passes_expired(self, cell: Cell) -> bool:
        return self._is_expired(cell) and not self.rules.expiry


def _change(local: Local, name: int, new: Cell, said: str) -> Move:
    """Change a cell that is looked at again afterwards, whatever came of it.

    Real writers read, wait for as long as they like, and compare what they read: in one step it is the same, since
    being refused changes nothing.
    """
    return Move(said, local, ((name, new),))


def _given_up(cell: Cell) -> Cell:
    """Return a cell to the decision before the claim; without one it is aborted."""
    if cell.previous is None:
        return cell._replace(state="aborted", order=0, count=0, rank=0)
    return cell.previous._replace(stamp=cell.stamp)
