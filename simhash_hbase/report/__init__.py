"""Documents beside each other: `explain`, and the report of a de-duplicated corpus, an HTML file that loads nothing."""
