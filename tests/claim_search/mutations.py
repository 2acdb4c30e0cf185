"""Parts of the protocol that can be taken out, each by replacing one function of the package."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext

from simhash_hbase.index import write
from simhash_hbase.index.claim import commit as commits
from simhash_hbase.index.claim import protocol, verdict
from simhash_hbase.index.claim.state import Claim, Run, Step, as_duplicate
from simhash_hbase.index.documentrows import read_states
from simhash_hbase.index.write import Outcome
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.documents import DocumentState
from simhash_hbase.rows.keys import BlockRows, block_rows
from simhash_hbase.stores.base import Cell


def take_out(name: str) -> None:
    """Take a part out, in this process for good.

    Parameters
    ----------
    name : str
        A key of `MUTATIONS`.
    """
    module, replaced, mutant = MUTATIONS[name]
    assert hasattr(module, replaced), f"there is no {replaced} any more"
    setattr(module, replaced, mutant)


def _find_nobody(run: Run, claims: Sequence[Claim]) -> None:
    """Leave out the second query."""
    for claim in claims:
        claim.near = []
        claim.step = Step.LOOK


def _become_its_duplicate(claim: Claim, pending, to):
    """Do not yield to a claim with a smaller order and wait for what becomes of it: trust that it wins."""
    return as_duplicate(claim, Outcome("duplicate", to.id, to.distance, to.similarity, to.containment, to.text), now=0)


def _start_over_blindly(run: Run, claims: Sequence[Claim]) -> None:
    """Do not ask what the own cell says after a compare-and-set that was refused or not answered: just try again."""
    for claim, held in zip(claims, read_states(run.store, [claim.id for claim in claims]), strict=True):
        run.start_over(claim)
        claim.state, claim.value = held or (None, None)
        claim.step = Step.QUERY


def _block_rows_alone(profile: Profile, entries: Entries) -> BlockRows:
    """Leave out the rows of sketches."""
    return block_rows(profile.blocks, entries.simhashes)


def _no_entry(entries: Entries, decided: Iterable[tuple[int, DocumentState]]) -> list[Cell]:
    """Leave out the entries of copies."""
    return []


TRANSACTION = "transaction"
MUTATIONS = {
    "second-query": (protocol, "second_query", _find_nobody),
    "yielding": (verdict, "give_way", _become_its_duplicate),
    "own-cell": (commits, "look_again", _start_over_blindly),
    "sketch-rows": (write, "entry_rows", _block_rows_alone),
    "copies": (commits, "copy_cells", _no_entry),
    TRANSACTION: (protocol, "atomically", lambda store: nullcontext()),
}
