"""An HBase of one's own on this machine, from package registries alone: Java, jars, processes or a container.

Only the standard library and `simhash_hbase.errors` are imported, so ``scripts/hbase`` runs without an installation.
"""

from simhash_hbase.stores.hbase.launcher.commands import ACTIONS, KINDS, carry_out
from simhash_hbase.stores.hbase.launcher.downloads import Downloads
from simhash_hbase.stores.hbase.launcher.home import cache_folder, home_folder

__all__ = ["ACTIONS", "KINDS", "Downloads", "cache_folder", "carry_out", "home_folder"]
