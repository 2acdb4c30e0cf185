"""An index in one database of a Redis server: the storage of the first write-ups of this method.

Importing it needs the client library ``redis``, an extra of this package.
"""

from simhash_hbase.errors import MissingExtra

try:
    import redis as _client  # noqa: F401
except ImportError as error:
    raise MissingExtra("redis:// needs the Redis client: pip install 'simhash-hbase[redis]'") from error

from simhash_hbase.stores.redis.options import RedisOptions, parse_url
from simhash_hbase.stores.redis.store import RedisStore

__all__ = ["RedisOptions", "RedisStore", "parse_url"]
