"""What a store needs to talk to gateways: a pool, an exchange, and the driver of their Thrift version."""

from simhash_hbase.errors import StoreUnavailable
from simhash_hbase.stores.hbase.options import HBaseOptions
from simhash_hbase.stores.hbase.thrift.detect import ask_version
from simhash_hbase.stores.hbase.thrift.driver import Driver
from simhash_hbase.stores.hbase.thrift.exchange import Exchange
from simhash_hbase.stores.hbase.thrift.pool import Pool
from simhash_hbase.stores.hbase.thrift.thrift1 import Thrift1
from simhash_hbase.stores.hbase.thrift.thrift2 import Thrift2
from simhash_hbase.stores.hbase.thrift.wire import Connection


class Gateways:
    """Connects to the first gateway that answers and asks for its Thrift version."""

    def __init__(self, options: HBaseOptions) -> None:
        self.options = options
        self._version = options.version
        self._pool = Pool(options, self._greet)
        # Not repeated, so that a mistyped port is reported at once.
        with self._pool.lend(1):
            pass
        self.driver: Driver = (
            Thrift1(options.table)
            if self._version == 1
            else Thrift2(options.table, framed=options.transport == "framed")
        )
        self.exchange = Exchange(self._pool, options, self.driver.is_disabled)

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def _greet(self, connection: Connection, options: HBaseOptions, *, known: bool) -> None:
        if options.http and options.version:
            # The gateways of some clouds do not know the calls by which the versions are told apart.
            return
        found = ask_version(connection, options, explain=not known)
        if self._version is None:
            self._version = found
        if found != self._version:
            wanted = "the address says" if self.options.version else "another gateway of the address speaks"
            raise StoreUnavailable(f"{connection.gateway} speaks Thrift {found}, {wanted} Thrift {self._version}")
