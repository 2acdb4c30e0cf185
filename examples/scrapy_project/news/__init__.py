"""A Scrapy project whose pipeline drops near copies of articles."""
