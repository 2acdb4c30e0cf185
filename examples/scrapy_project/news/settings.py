"""Settings of the project: the last four let the pipeline drop articles that were seen before."""

import os

BOT_NAME = "news"
SPIDER_MODULES = ["news.spiders"]
ROBOTSTXT_OBEY = True

ITEM_PIPELINES = {"simhash_hbase.scrapy.NearDuplicatesPipeline": 300}
# Made before by: simhash-hbase create URL; a hbase:// address serves many crawlers.
SIMHASH_HBASE_URL = os.environ.get("NEWS_INDEX", "file:news.index")
SIMHASH_HBASE_FIELD = "html"
SIMHASH_HBASE_HTML = True
