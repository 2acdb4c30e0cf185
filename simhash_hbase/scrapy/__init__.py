"""Scrapy: an item pipeline that drops or marks near-duplicates while a crawl runs."""

from simhash_hbase.errors import missing_extra

try:
    import scrapy  # noqa: F401 - so that its absence is reported here
except ImportError as error:
    raise missing_extra("the Scrapy pipeline needs scrapy", "scrapy") from error

from simhash_hbase.scrapy.pipeline import NearDuplicatesPipeline

__all__ = ["NearDuplicatesPipeline"]
