"""The report of a de-duplicated corpus: one HTML file for people, which loads nothing from elsewhere."""

from simhash_hbase.index.decide.decided import duplicate_table
from simhash_hbase.report.comparison import comparison_page
from simhash_hbase.report.reading import Corpus
from simhash_hbase.report.stats import stats_page
from simhash_hbase.report.write import Run, write_report

__all__ = ["Corpus", "Run", "comparison_page", "duplicate_table", "stats_page", "write_report"]
