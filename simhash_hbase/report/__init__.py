"""The report of a de-duplicated corpus: one HTML file for people, which loads nothing from elsewhere."""

from simhash_hbase.report.page import comparison_page, stats_page
from simhash_hbase.report.pairs import DecidedCorpus
from simhash_hbase.report.write import ReportRun, write_report

__all__ = ["DecidedCorpus", "ReportRun", "comparison_page", "stats_page", "write_report"]
