"""The profile of an index, its options that never change, and the rule by which two documents match."""

from typing import TYPE_CHECKING

from simhash_hbase.lazy import handing_on

if TYPE_CHECKING:
    from simhash_hbase.profile.matching import MatchRule
    from simhash_hbase.profile.profile import Profile

__all__ = ["MatchRule", "Profile"]

# The help of a command lists hashes and needs no numpy.
__getattr__ = handing_on(__name__, {"matching": ["MatchRule"], "profile": ["Profile"]})
