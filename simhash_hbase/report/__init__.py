"""Texts side by side: `explain`, and the report of a corpus, an HTML file that loads nothing from elsewhere."""
