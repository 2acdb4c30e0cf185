"""Thrift: gateways of both versions, their connections, and which of them are used."""
