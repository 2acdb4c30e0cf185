"""The databases of an LMDB environment."""

from typing import Any

from simhash_hbase.rows.layout import FAMILY_BLOCKS, FAMILY_DOCUMENTS, FAMILY_INDEX

# lmdb has no precise types for these.
Transaction = Any
Database = Any

HOT_PREFIXES = "h"  # The database of the prefixes with very many rows; see `stores.embedded.records`.
DATABASES = {FAMILY_BLOCKS: True, FAMILY_DOCUMENTS: False, FAMILY_INDEX: False, HOT_PREFIXES: False}
"""The name of each database, and whether its keys have many values of one size."""
