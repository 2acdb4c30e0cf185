"""An index in one database of a Redis server: the storage of the first write-ups of this method.

Importing it needs the client library ``redis``, an extra of this package.
"""

from simhash_hbase.errors import missing_extra

try:
    import redis as _client  # noqa: F401
except ImportError as error:
    raise missing_extra("redis:// needs the Redis client", "redis") from error

from simhash_hbase.stores.redis.connection import RedisOptions, parse_url
from simhash_hbase.stores.redis.store import RedisStore

__all__ = ["RedisOptions", "RedisStore", "parse_url"]
