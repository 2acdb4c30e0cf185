"""A model of `claim` on a store without transactions: every interleaving of two or three writers.

Writers claim, add, move and remove a few documents, one access to the store a step; between two steps of a writer the
others may do any number of theirs. Leases may run out at any moment, also those of writers that are alive. A change of
the own cell may get no answer and be done at any later moment, at once (a lost reply), or never; one of an addition or
a removal may also be answered and be done once more at any later moment. Members and block rows carry timestamps of
their writer, so writing or deleting them once more or late is the same as doing it twice at once. Asked is, of every
state that can be reached and of every change of a document cell:

* No two documents within reach of each other are originals by claim: they share a block row or a sketch row and are
  verified, which depends on the two alone and is symmetric. Any such relation will do: a setting gives it as a table.
  Where a query of one side misses the other, the search finds two originals. Only claims are arbitrated: a pair of
  which one came from ``add`` may stand, but not when the ``add`` was acknowledged before the claim began.
* A duplicate names an original within its reach that is decided and in force; or that was, and has been removed, moved
  to another text or expired since it was looked at.
* What is decided for an id and its text never changes, but for a removal, an ``add``, a claim of that id with another
  text once that is decided, and expiry. What a duplicate has just named does not expire.
* No late request of an addition or a removal changes a cell once that was acknowledged, and what is acknowledged as
  added has stood in its cell.
* Whatever counts as an original or as added is found: its member and block rows are there, and no delete hides them.
* Every writer can come to its end by itself, with an answer or a typed error, whatever the others have left behind.

The last line makes crashes free: a crashed writer is one that takes no step any more, so any number of them may crash
anywhere. Bounded are attempts (two a claim), late requests (one a run, without claims up to two, of three claims in
some orders only) and renewals (one a run, of two writers): a violation that needs more of them is not found. Neither is
one that needs more than three writers, vacuum, a query that sees rows at different moments, or clocks that differ by
more than most of the time to live.
"""
