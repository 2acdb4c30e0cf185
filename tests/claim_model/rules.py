"""The parts of the protocol that the model can leave out."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """The protocol as it is; with any one of these false, the search has to find what goes wrong."""

    below: bool = True
    """What is put without comparing lies below whatever was written by comparing."""
    second_query: bool = True
    """A claim asks again once its own member and rows are written."""
    yielding: bool = True
    """A claim yields to one with a smaller order, and waits for it; else it becomes its duplicate at once."""
    own_cell: bool = True
    """What became of a compare-and-set that was refused or not answered is looked up; else the claim starts again."""
    counting: bool = True
    """A cell that is pending again differs from what it was before, so a late request is refused."""
    text_compared: bool = True
    """Whoever waits for a neighbour asks which text of it has become an original."""
    previous: bool = True
    """An earlier decision for another text stays in force while a claim is undecided."""
    stamps: bool = True
    """A member is written above the highest timestamp that was used for its id; else at the writer's own time."""
    refresh: bool = True
    """An original that was not seen for long is refreshed before a duplicate names it."""
    expiry: bool = True
    """An expired original is set to removed before it is no obstacle."""
    placed: bool = True
    """What is added to an empty cell is put below whatever is written by comparing; else it is stamped when it is done.
    """
    above_claims: bool = True
    """It is put above the first cells of claims, which decide nothing yet."""
    read_back: bool = True
    """It is acknowledged once it was read back."""
    raising: bool = True
    """A cell that is added to again has bytes that it never held, so a late request is refused."""
