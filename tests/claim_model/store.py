"""The modelled store as a writer sees it, and what a step of a writer is."""

from collections.abc import Hashable, Mapping
from typing import NamedTuple

from claim_model.cells import Cell, Member, Place

# Slots of the store are ids (their document cells), places (their members), and three that no writer acts on.
ACKNOWLEDGED = "acknowledged"
"""What was added, and the caller of ``add`` knows it."""
COUNTED = "counted"
"""The writers whose addition has stood in its cell."""
GONE = "gone"
"""What counted as an original once and was removed, moved or expired."""


class Move(NamedTuple):
    """One step that a writer may take."""

    said: str
    """For the trace."""
    after: Hashable
    """The writer's local state behind it."""
    writes: tuple[tuple[Hashable, Hashable], ...] = ()
    """Slots of the store and what they hold behind it."""
    costs: str = ""
    """``late``: the write is done at any later moment, or never; ``twice``: it is done, and at any later moment once
    more; ``renewal``: all are bounded."""
    is_blind: bool = False
    """The write is done whatever stands there then; else it is a compare-and-set, or a put with a rank."""


class View:
    """The store in one state; notes what is read of it."""

    def __init__(self, slots: Mapping[Hashable, Hashable]) -> None:
        self._slots = slots
        self.read: set[Hashable] = set()

    def cell(self, name: int) -> Cell | None:
        """Read a document cell."""
        return self._get(name)

    def member(self, place: Place) -> Member:
        """Read a member."""
        return self._get(place)

    @property
    def acknowledged(self) -> frozenset[Place]:
        """See what was added by now."""
        return self._get(ACKNOWLEDGED)

    @property
    def counted(self) -> frozenset[int]:
        """See which writers' additions have stood by now."""
        return self._get(COUNTED)

    def _get(self, slot):
        self.read.add(slot)
        return self._slots[slot]
