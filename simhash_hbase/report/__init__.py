"""HTML reports: the comparison of two documents (`explain`), and the results on a corpus; no page loads other files."""
