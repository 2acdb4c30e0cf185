"""The routes, a router a subject; a new one is added to `ROUTERS`."""

from simhash_hbase.service.routes import claims, comparisons, console, documents, health, queries, stats

__all__ = ["ROUTERS"]

ROUTERS = (
    claims.router,
    documents.router,
    queries.router,
    comparisons.router,
    stats.router,
    health.router,
    console.router,
)
