"""Claims: deciding a document while other writers decide, too; exactly one of several near copies becomes the original.

If the store has transactions, query, decision and writes of a batch are one transaction. Else each claim is a small
state machine over its own document cell, which it changes by compare-and-set: there is no lock and no leader.
"""

from simhash_hbase.index.claim.machine import Claimed
from simhash_hbase.index.claim.protocol import claim_by_protocol, claim_in_transaction

__all__ = ["Claimed", "claim_by_protocol", "claim_in_transaction"]
