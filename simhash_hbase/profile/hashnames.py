"""Names of the hashes of features, for whoever does not hash."""

from typing import Literal

HashName = Literal["murmur3", "times33", "jenkins", "md5", "none"]
"""How a feature becomes 64 bits; see `simhash_hbase.features.hashes.HASHES`."""
