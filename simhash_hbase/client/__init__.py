"""An index behind the HTTP service, used by its address like one in a folder or in HBase."""

from simhash_hbase.client.index import RemoteIndex

__all__ = ["RemoteIndex"]
