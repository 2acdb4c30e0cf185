"""HBase's own RPC: its servers, the regions of a table, and calls of the servers without a gateway."""
