"""The pipeline: documents in, analysed batches out in the same order, by this process or by several."""

from simhash_hbase.pipeline.analyse import analyse
from simhash_hbase.pipeline.chunks import Chunk
from simhash_hbase.pipeline.workers import processors

__all__ = ["Chunk", "analyse", "processors"]
