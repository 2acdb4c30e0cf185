"""The search: all states that a setting can come to, each once, the nearest first."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from claim_model.cells import Place, is_covered
from claim_model.checks import lost_decisions, wrong_acknowledgement, wrong_change, wrong_late_change, wrong_state
from claim_model.steps import Codes, State, Steps
from claim_model.store import ACKNOWLEDGED, COUNTED, GONE


class Found(NamedTuple):
    """What a search came upon."""

    problem: str | None
    """What is wrong, or None."""
    trace: list[str]
    """The steps that lead there; each begins with the number of its writer."""
    states: int
    """States that were looked at."""


class Flight(NamedTuple):
    """A change of a document cell that was sent and is not done yet, in codes."""

    number: int
    local: int
    index: int
    expected: int
    value: int
    is_blind: bool


class Wrong(Exception):
    """A state, or a change made in it, that must not be."""


def explore(setting) -> Found:
    """Search a setting; end at the first thing that is wrong.

    Parameters
    ----------
    setting : Setting
        The writers, and what the store holds when they begin.

    Returns
    -------
    Found
    """
    return _Search(setting).run()


class _Search:
    def __init__(self, setting) -> None:
        self._writers = setting.writers
        self._near = setting.near
        self._bytes_repeat = setting.bytes_repeat
        self._codes = Codes()
        self._steps = Steps(setting.writers, list(setting.slots), self._codes)
        self._count = len(setting.writers)
        self._stop = self._count + len(setting.slots)
        self._cells = {self._steps.index(slot) for slot in setting.slots if isinstance(slot, int)}
        self._parents: dict[State, tuple[State, str] | None] = {}
        self._sound: set[State] = set()
        self._gone: dict[tuple, int] = {}
        local = [self._codes.of(writer.begin()) for writer in setting.writers]
        store = [self._codes.of(value) for value in setting.slots.values()]
        # Behind the store: how many requests may be late, how many renewals are left, and the request that is late.
        self._begin: State = (*local, *store, setting.late, setting.renewals, 0)

    def run(self) -> Found:
        try:
            self._explore()
            self._check_ends()
        except Wrong as wrong:
            problem, state, *last = wrong.args
            return Found(problem, [*self._trace(state), *last], len(self._parents))
        return Found(None, [], len(self._parents))

    def _explore(self) -> None:
        queue = deque([self._begin])
        self._parents[self._begin] = None
        while queue:
            state = queue.popleft()
            for after, said in self._successors(state):
                if after not in self._parents:
                    self._parents[after] = (state, said)
                    self._check_state(after)
                    queue.append(after)

    def _successors(self, state: State) -> Iterator[tuple[State, str]]:
        late, renewals, flight = state[self._stop :]
        for number in range(self._count):
            for step in self._steps.of(number, state):
                is_late = step.costs in ("late", "twice")
                if (is_late and not late) or (step.costs == "renewal" and not renewals):
                    continue
                new = list(state)
                new[number] = step.after
                if is_late:
                    [(index, value)] = step.writes
                    sent = Flight(number, state[number], index, state[index], value, step.is_blind)
                    new[-3:] = [late - 1, renewals, self._codes.of(sent)]
                if step.costs != "late":
                    new[-2] -= step.costs == "renewal"
                    self._write(new, state, number, state[number], step.writes, step.said)
                self._forget(new, flight)
                yield tuple(new), step.said
        if flight:
            yield self._land(state, flight)

    def _land(self, state: State, flight: int) -> tuple[State, str]:
        """Do the request that is late."""
        late = self._codes.values[flight]
        said = f"{late.number}'s late request is done"
        new = [*state[:-1], 0]
        if self._can_be_done(state[late.index], late):
            now = self._codes.values[state[late.number]]
            if state[late.index] != late.value and (wrong := wrong_late_change(self._writers[late.number], now)):
                raise Wrong(wrong, state, said)
            self._write(new, state, late.number, late.local, ((late.index, late.value),), said)
        return tuple(new), said

    def _forget(self, new: list[int], flight: int) -> None:
        """Drop a late request that will be refused for good, since what it expects never stands there again."""
        if flight and not self._bytes_repeat:
            late = self._codes.values[flight]
            if not self._can_be_done(new[late.index], late):
                new[-1] = 0

    def _can_be_done(self, here: int, late: Flight) -> bool:
        rank = self._codes.values[late.value].rank
        return late.is_blind or (not is_covered(self._codes.values[here], rank) if rank else here == late.expected)

    def _write(self, new: list[int], state: State, number: int, local: int, writes, said: str) -> None:
        for index, value in writes:
            new[index] = value
            if index in self._cells:
                new[self._steps.index(GONE)] = self._check_change(state, number, local, index, value, said)
                self._count_in(new, number)
            elif self._steps.slot(index) == ACKNOWLEDGED:
                self._check_acknowledgement(state, number, said)

    def _count_in(self, new: list[int], number: int) -> None:
        """Note whose addition stands."""
        if not self._writers[number].claims:
            counted = self._steps.index(COUNTED)
            new[counted] = self._codes.of(self._codes.values[new[counted]] | {number})

    # -- what must hold

    def _check_state(self, state: State) -> None:
        key = state[self._count : self._stop]
        if key not in self._sound:
            if problem := wrong_state(self._near, self._steps.store(state)):
                raise Wrong(problem, state)
            self._sound.add(key)

    def _check_change(self, state: State, number: int, local: int, index: int, value: int, said: str) -> int:
        """Check a change of a document cell; return what has gone by then."""
        key = (number, local, index, value, state[self._count : self._stop])
        gone = self._gone.get(key)
        if gone is None:
            store, name = self._steps.store(state), self._steps.slot(index)
            local, after = self._codes.values[local], self._codes.values[value]
            if problem := wrong_change(self._writers[number], local, name, after, self._near, store):
                raise Wrong(problem, state, said)
            lost = {Place(name, each.text) for each in lost_decisions(store[name], after)}
            gone = self._gone[key] = self._codes.of(store[GONE] | lost)
        return gone

    def _check_acknowledgement(self, state: State, number: int, said: str) -> None:
        if problem := wrong_acknowledgement(number, self._steps.store(state)):
            raise Wrong(problem, state, said)

    def _check_ends(self) -> None:
        """Ask of every writer in every state whether it comes to its end by itself."""
        for number in range(self._count):
            ending: set[State] = set()
            for state in self._parents:
                begin = self._alone(number, state)
                if begin not in ending and not self._comes_to_an_end(number, begin, ending):
                    raise Wrong(f"no way out for writer {number}", state)

    def _comes_to_an_end(self, number: int, begin: State, ending: set[State]) -> bool:
        """Follow a writer's own steps; ``ending`` holds what it sees of states from which it comes to its end."""
        parents: dict[State, State | None] = {begin: None}
        queue = [begin]
        while queue:
            here: State | None = queue.pop()
            if here in ending or self._writers[number].is_done(self._codes.values[here[number]]):
                while here is not None:
                    ending.add(here)
                    here = parents[here]
                return True
            for after in self._own_steps(number, here):
                if after not in parents:
                    parents[after] = here
                    queue.append(after)
        return False

    def _alone(self, number: int, state: State) -> State:
        """Leave of a state what one writer sees of it."""
        before, behind = (0,) * number, (0,) * (self._count - number - 1)
        return before + state[number : number + 1] + behind + state[self._count : self._stop]

    def _own_steps(self, number: int, state: State) -> Iterator[State]:
        for step in self._steps.of(number, state):
            if not step.costs:
                new = list(state)
                new[number] = step.after
                for index, value in step.writes:
                    new[index] = value
                yield tuple(new)

    def _trace(self, state: State) -> list[str]:
        said = []
        while (parent := self._parents[state]) is not None:
            state = parent[0]
            said.append(parent[1])
        return said[::-1]
