"""The routes, a router a subject; a new one is added to `ROUTERS`."""

from simhash_hbase.service.routes import documents, health, queries, stats

__all__ = ["ROUTERS"]

ROUTERS = (documents.router, queries.router, stats.router, health.router)
