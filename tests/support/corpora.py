"""The shared evaluation documents, where they are at hand."""

from itertools import islice

import pytest

from support.labelled import documents_file, folder, read_documents

STEP = 40


def sample(name, count):
    """Read some texts of a set, spread over its first part; skip the test where there is none."""
    return first_texts(name, count * STEP)[::STEP]


def first_texts(name, count):
    """Read the first texts of a set; skip the test where there is none."""
    need(name)
    return [document["text"] for document in islice(read_documents(name), count)]


def need(name):
    """Skip the test where a set is absent."""
    if not documents_file(name).exists():
        pytest.skip(f"The shared documents are not at {folder()}; SIMHASH_HBASE_DATA names their folder.")
