"""A near-duplicate index for documents, kept in HBase or in one folder."""
