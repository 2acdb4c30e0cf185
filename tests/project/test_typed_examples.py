"""Examples that users copy from the pages pass a strict type checker, as their editors would tell them."""

import inspect
import re
import subprocess
import sys
from doctest import DocTestParser
from typing import get_args, get_type_hints

import msgspec
import pytest
from support.fresh_clone import ROOT, pages

import simhash_hbase
from simhash_hbase.profile.defaults import AnalyzerName, HashName, MatchName
from simhash_hbase.profile.profile import Profile, ProfileOptions

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TAKEN = {
    *(
        "format",
        "secret",
        "text_form",
        "fold",
        "fold_table",
        "words",
        "whole",
        "dictionary",
        "idf",
        "idf_documents",
        "idf_name",
        "jieba_idf",
    ),
    *("probe", "versions", "extractor", "checksums"),
}


def sources():
    """Return the Python of each page: its sessions, which go on from each other, and each block without a prompt."""
    found = {}
    for page, text in pages().items():
        name = str(page.with_suffix("")).replace("/", "_").replace(".", "_").lower()
        session = "".join(example.source for example in DocTestParser().get_examples(text))
        blocks = [block for block in BLOCK.findall(text) if ">>>" not in block]
        found |= {f"{name}_{part}.py": code for part, code in [("session", session), *enumerate(blocks)] if code}
    return found


INDEX = "from simhash_hbase import create_index\n\n"
TABLES = """\
import polars
from simhash_hbase.tables import drop_near_duplicates, mark_near_duplicates

frame = polars.DataFrame({"text": ["one", "two"]})
kept: polars.DataFrame = drop_near_duplicates(frame, similarity=0.9, keep="longest", workers=2, unreadable="keep")
lazy: polars.LazyFrame = mark_near_duplicates(frame.lazy(), analyzer="shingle")
texts: list[str] = drop_near_duplicates(["one", "two"])
rows: list[dict[str, object]] = drop_near_duplicates([{"text": "one"}])
marked = mark_near_duplicates(["one", "two"])[0]["duplicate_of"]
"""
TOLD = {
    INDEX + 'create_index("memory:", analyser="shingle")': "call-arg",
    INDEX + 'create_index("memory:", analyzer="shingles")': "arg-type",
    INDEX + 'create_index("memory:", similarity="0.9")': "arg-type",
    INDEX + 'create_index("memory:", ttl_days=30, band_distance=16, sketch=False)': None,
    TABLES: None,
    TABLES + "wrong: polars.LazyFrame = drop_near_duplicates(frame)": "assignment",
    TABLES + "drop_near_duplicates(frame, similarty=0.9)": "call-overload",
}
"""Programs, and the error that each is told in its last line."""


def test_wrong_options_in_the_python_of_the_pages_are_type_errors(tmp_path):
    shown, programs = sources(), {f"used{number}.py": f"{code}\n" for number, code in enumerate(TOLD)}
    assert len(shown) > len(pages()) / 4
    for name, code in {**shown, **programs}.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    settings = ["--strict", "--config-file", ROOT / "pyproject.toml", "--cache-dir", ROOT / ".mypy_cache"]
    command = [sys.executable, "-m", "mypy", *settings, *shown, *programs]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    told = re.findall(r"^(\w+\.py):(\d+): error: .*\[([\w-]+)\]$", printed, re.MULTILINE)
    expected = [
        (f"used{at}.py", str(code.count("\n") + 1), error) for at, (code, error) in enumerate(TOLD.items()) if error
    ]
    assert sorted(set(told)) == expected, printed
    assert f"Found {len(told)} errors " in printed


def test_options_are_the_fields_of_a_profile_that_nobody_else_decides():
    assert ProfileOptions.__annotations__.keys() == set(Profile.__struct_fields__) - TAKEN
    choices = {"analyzer": AnalyzerName, "hash": HashName, "match": MatchName}
    fields = {field.name: field for field in msgspec.structs.fields(Profile)}
    for name, kind in choices.items():
        assert get_args(get_type_hints(ProfileOptions)[name]) == get_args(kind)
        # An index may have an analyzer of another package.
        assert fields[name].type is str if name == "analyzer" else get_args(fields[name].type) == get_args(kind)


@pytest.mark.parametrize("name", ["Match", "Answer", "Decision", "Stored", "Copy", "Copies", "Profile", "MatchRule"])
def test_every_field_of_an_answer_and_of_a_profile_is_explained(name):
    kind = getattr(simhash_hbase, name)
    source = inspect.getsource(kind)
    fields = kind.__struct_fields__ if name in ("Profile", "MatchRule") else kind.__dataclass_fields__
    explained = re.findall(r'^    (\w+): [^\n]+\n    """', source, re.MULTILINE)

    assert [field for field in fields if field not in explained] == []
