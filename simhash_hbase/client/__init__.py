"""Clients of the HTTP service: its index is opened by its address and used like one in a folder or in HBase.

`RemoteIndex` is for threads, `AsyncIndex` for an event loop.
"""

from simhash_hbase.client.index import RemoteIndex
from simhash_hbase.lazy import handing_on

# As of typing, which takes longer to import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from simhash_hbase.client.async_index import AsyncIndex

__all__ = ["AsyncIndex", "RemoteIndex"]

__getattr__ = handing_on(__name__, {"async_index": ["AsyncIndex"]})
