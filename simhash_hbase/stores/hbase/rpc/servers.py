"""HBase's own servers, called without a gateway: what a store needs of them, as `Gateways` has it for gateways."""

from simhash_hbase.errors import Retryable, StoreUnavailable
from simhash_hbase.stores.hbase.exchange import Conversation
from simhash_hbase.stores.hbase.options import HBaseOptions
from simhash_hbase.stores.hbase.rpc.driver import RpcDriver
from simhash_hbase.stores.hbase.rpc.exchange import RpcExchange
from simhash_hbase.stores.hbase.rpc.regions import Locator


class Servers:
    """HBase's own servers, as an address names some of them: connects to the first one that answers."""

    def __init__(self, options: HBaseOptions) -> None:
        self.options = options
        locator = Locator(options)
        self.driver = RpcDriver(options.table, locator, deadline_s=options.deadline_s)
        self.exchange = RpcExchange(options, locator)

        def greet() -> Conversation[None]:
            try:
                yield from locator.find_meta()
            except Retryable as error:
                raise StoreUnavailable(str(error)) from error

        try:
            # Not repeated, so that a mistyped port is reported at once.
            self.exchange.one(greet, repeat=False)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close all connections."""
        self.exchange.close()
