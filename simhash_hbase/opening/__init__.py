"""Opening: an address becomes a store and an index, which is there, made, or made for one run."""

from simhash_hbase.opening.indexes import create_index, open_index, resolve_profile, temporary_index
from simhash_hbase.opening.stores import (
    create_store,
    folder_of,
    holds_index,
    is_address,
    is_service,
    looks_like_address,
    open_store,
    table_of,
)

__all__ = [
    "create_index",
    "create_store",
    "folder_of",
    "holds_index",
    "is_address",
    "is_service",
    "looks_like_address",
    "open_index",
    "open_store",
    "resolve_profile",
    "table_of",
    "temporary_index",
]
