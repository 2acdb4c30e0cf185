"""The pipeline: documents in, analysed batches out in the same order, by this process or by several."""
