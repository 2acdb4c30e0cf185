"""An index in one folder of this machine, kept by LMDB."""

from simhash_hbase.stores.embedded.environment import EmbeddedOptions
from simhash_hbase.stores.embedded.store import EmbeddedStore

__all__ = ["EmbeddedOptions", "EmbeddedStore"]
