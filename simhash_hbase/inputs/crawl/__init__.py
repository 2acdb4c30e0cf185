"""Crawl archives: WARC and WET files, their records and the codings of those."""
