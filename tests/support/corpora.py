"""The shared evaluation documents, where they are at hand."""

import gzip
import json
from itertools import islice

import pytest

from support.labelled import folder

STEP = 40


def corpus_path(name):
    """Return the file of a set; skip the test where there is none."""
    path = folder() / f"docs.{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"The shared documents are not at {folder()}; SIMHASH_HBASE_DATA names their folder.")
    return path


def sample(name, count):
    """Read some texts of a set, spread over its first part; skip the test where there is none."""
    return first_texts(name, count * STEP)[::STEP]


def first_texts(name, count):
    """Read the first texts of a set; skip the test where there is none."""
    with gzip.open(corpus_path(name), "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in islice(lines, count)]
