"""Claims: of near copies offered at the same time by many writers exactly one becomes the original.

Where the store has transactions, query, decision and writes are one transaction. Elsewhere each claim is a small state
machine over its own document cell, which changes by compare-and-set only: no lock, no leader.
"""

from simhash_hbase.index.claim.machine import Claimed
from simhash_hbase.index.claim.protocol import claim_by_protocol, claim_in_transaction

__all__ = ["Claimed", "claim_by_protocol", "claim_in_transaction"]
