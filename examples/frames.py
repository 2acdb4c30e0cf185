"""Near copies in tables of pandas, Polars and Hugging Face: ``python examples/frames.py corpus.jsonl``."""

import json
import sys
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import polars as pl

from simhash_hbase.tables import drop_near_duplicates, mark_near_duplicates


def with_pandas(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return a frame without near copies."""
    return drop_near_duplicates(pd.DataFrame(rows), id="id", text="text")


def with_polars(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return the near copies alone, each with what it is a copy of and how near it is."""
    marked: pl.DataFrame = mark_near_duplicates(pl.DataFrame(rows), id="id", text="text")
    return marked.filter(pl.col("duplicate_of").is_not_null()).select("id", "duplicate_of", "distance", "similarity")


def with_datasets(rows: list[dict[str, Any]]) -> datasets.Dataset:
    """Return a dataset without near copies, of which the longest stay."""
    return drop_near_duplicates(datasets.Dataset.from_list(rows), id="id", text="text", keep="longest")


if __name__ == "__main__":
    records = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    print(f"pandas: {len(with_pandas(records))} of {len(records)} rows are left")
    print(f"Polars: {with_polars(records).height} rows are near copies")
    print(f"datasets: {len(with_datasets(records))} of {len(records)} rows are left")
