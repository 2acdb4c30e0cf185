"""The search: one index after the other, in each of them rounds of claims until there were enough."""

import math
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from claim_search.checks import Judge
from claim_search.crew import Crew
from claim_search.faults import Trouble
from claim_search.mutations import TRANSACTION
from claim_search.places import make_place
from claim_search.plan import Document, make_round
from simhash_hbase.profile import Profile

CLUSTERS = 100
"""Groups of near copies in a round."""
PART_CLAIMS = 3_000
"""Contested claims of one index; the next index has other rules."""
# Of a writer that was killed it is known after so long. Writers that only slept are taken for dead now and then.
LEASE_S = 1.0


class Search(NamedTuple):
    """What is searched, and how."""

    url: str
    """See `make_place`."""
    seed: int
    writers: int
    mutation: str | None
    """The part of the protocol that is taken out."""
    protocol: bool
    """Whether claims compare and set though the store has transactions."""


@dataclass
class Part:
    """What happened in one index."""

    contested: int = 0
    kills: int = 0
    undecided: int = 0
    answers: Counter = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        said = ", ".join(f"{count:,} {name}" for name, count in sorted(self.answers.items()))
        undecided = f", {self.undecided} documents undecided" if self.undecided else ""
        return (
            f"{self.contested:,} contested claims: {said}{undecided}; writers killed {self.kills} times;"
            f" {self.seconds:.1f} s"
        )


def search(wanted: Search, claims: int, seconds: float = math.inf) -> Iterator[Part]:
    """Search one index after the other; end with the first in which something is wrong.

    Parameters
    ----------
    wanted : Search
        What, and how.
    claims : int
        Contested claims after which the search ends.
    seconds : float
        The same: rounds begin for so long.
    """
    number, end = 0, time.monotonic() + seconds
    while claims > 0 and time.monotonic() < end:
        part = search_index(wanted, min(claims, PART_CLAIMS), end, number)
        yield part
        if part.wrong:
            return
        claims -= part.contested
        number += 1


def search_index(wanted: Search, claims: int, end: float, number: int) -> Part:
    """Search one index, round by round."""
    part, began = Part(), time.monotonic()
    profile, seed = _profile(number), f"{wanted.seed}/{number}"
    with make_place(wanted.url, profile) as place, _crew(wanted, place, seed) as crew:
        judge = Judge(place.index)
        rounds = 0
        while part.contested < claims and not part.wrong and time.monotonic() < end:
            earlier: list[Document] = list(judge.documents.values())
            sketched = profile.match == "verified"
            made = make_round(f"{seed}/{rounds}", wanted.writers, CLUSTERS, earlier, sketched=sketched)
            answers = crew.claim(made.tasks)
            part.wrong += judge.wrong_round(made.documents, answers)
            part.contested += made.contested
            part.answers.update(answer.said for answer in answers)
            rounds += 1
        part.wrong += [] if part.wrong else judge.wrong_index()
        part.kills, part.undecided = crew.kills, judge.undecided
    part.seconds = time.monotonic() - began
    return part


def _crew(wanted: Search, place, seed: str) -> Crew:
    mutated = wanted.mutation not in (None, TRANSACTION)
    return Crew(
        open_store=place.open_store,
        seed=seed,
        writers=wanted.writers,
        trouble=Trouble(),
        are_threads=place.is_shared,
        hides_transactions=place.is_shared or wanted.protocol or mutated,
        mutation=wanted.mutation,
    )


def _profile(number: int) -> Profile:
    """Take the rules in turn: by distance or by sketch, and with first cells that are put or compared and set."""
    return Profile.resolve(
        analyzer="shingle",
        match=("distance", "verified")[number % 2],
        lease_s=LEASE_S,
        ttl_days=1 if number % 3 == 1 else None,
    )
