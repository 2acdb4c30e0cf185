"""A real HBase for development and tests: one node with both Thrift gateways, from package registries alone.

This package is what ``scripts/hbase`` runs. It needs Python and nothing else: all but the fetching
of jars is the standard library, and it does not import :mod:`simhash_hbase`. A test suite imports
:func:`provision.server.start`.
"""
