"""The steps of writers as numbers: each is worked out once and looked up from then on."""

from collections.abc import Hashable
from typing import NamedTuple

from claim_model.store import View

State = tuple[int, ...]
"""The local states of the writers, the slots of the store, and what `explore` keeps behind them: all codes."""


class Codes:
    """Numbers for values, the same for equal ones; 0 is None."""

    def __init__(self) -> None:
        self.values: list[Hashable] = [None]
        self._codes: dict[Hashable, int] = {None: 0}

    def of(self, value: Hashable) -> int:
        """Return the number of a value."""
        code = self._codes.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code


class Step(NamedTuple):
    """A move of a writer, in codes."""

    said: str
    after: int
    writes: tuple[tuple[int, int], ...]
    """Positions in the state, and the codes that they take."""
    costs: str
    is_blind: bool


class Steps:
    """What writers may do.

    A step depends on the writer's local state and on the few slots that are read in it, so it is kept for all states
    that agree in these.
    """

    def __init__(self, writers, slots: list[Hashable], codes: Codes) -> None:
        self._writers = writers
        self._slots = slots
        self._codes = codes
        self._index = {slot: len(writers) + i for i, slot in enumerate(slots)}
        self._read: dict[tuple[int, int], list[int]] = {}
        self._known: dict[tuple[int, ...], list[Step]] = {}

    def index(self, slot: Hashable) -> int:
        """Return the position of a slot in a state."""
        return self._index[slot]

    def slot(self, index: int) -> Hashable:
        """Return the slot at a position."""
        return self._slots[index - len(self._writers)]

    def store(self, state: State) -> dict[Hashable, Hashable]:
        """Decode what the store holds."""
        return {slot: self._codes.values[state[index]] for slot, index in self._index.items()}

    def of(self, number: int, state: State) -> list[Step]:
        """List what a writer may do next."""
        local = state[number]
        read = self._read.get((number, local), ())
        known = self._known.get((number, local, *[state[index] for index in read]))
        return self._work_out(number, state) if known is None else known

    def _work_out(self, number: int, state: State) -> list[Step]:
        writer, local = self._writers[number], self._codes.values[state[number]]
        view = View(self.store(state))
        moves = () if writer.is_done(local) else writer.steps(local, view)
        steps = [self._encode(number, move) for move in moves]
        # What is read may depend on what was read before it: whatever is ever read is compared.
        known = self._read.get((number, state[number]), ())
        read = sorted({*known, *(self._index[slot] for slot in view.read)})
        self._read[number, state[number]] = read
        self._known[(number, state[number], *[state[index] for index in read])] = steps
        return steps

    def _encode(self, number: int, move) -> Step:
        writes = tuple((self._index[slot], self._codes.of(value)) for slot, value in move.writes)
        return Step(f"{number} {move.said}", self._codes.of(move.after), writes, move.costs, move.is_blind)
