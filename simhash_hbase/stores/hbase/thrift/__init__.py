"""Thrift gateways: the calls of both versions, connections, and the choice of a gateway."""
