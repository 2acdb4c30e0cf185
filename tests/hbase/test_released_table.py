"""HFiles that a release left of a table: an HBase takes them over, and the index is asked, claimed into, verified."""

import gzip
import json
from pathlib import Path

import pytest
from support.hbase_server import address, hbase_options, tables
from support.released import FORMATS
from support.released_table import keep_table, take_over

from simhash_hbase.stores.hbase import HBaseStore
from simhash_hbase.stores.hbase.table import TableSchema

pytestmark = [pytest.mark.hbase, pytest.mark.slow]
RELEASED = sorted(FORMATS.glob("*/hbase"))
HERE = "of this version"


@pytest.fixture(params=[*RELEASED, HERE], ids=lambda folder: Path(folder).parent.name or HERE)
def kept(request, tmp_path):
    """Return the folder of a release; that of this version is written first, as the script does at the next release."""
    if request.param != HERE:
        return request.param
    keep_table(tmp_path / HERE, tables().name())
    return tmp_path / HERE


def test_hfiles_of_a_release_become_a_table_that_works(kept, tmp_path, cli):
    table = tables().name()
    HBaseStore.create(hbase_options(2, table), TableSchema()).close()
    url, documents = f"hbase://{address(2)}/{table}", kept / "documents.jsonl"
    exported, answers = (gzip.decompress((kept / f"{name}.jsonl.gz").read_bytes()) for name in ("export", "answers"))
    texts = {record["id"]: record["text"] for record in map(json.loads, documents.read_text("utf-8").splitlines())}

    take_over(kept, table, tmp_path)

    assert cli("export", url).out == exported
    assert cli("query", url, documents, "--id-field", "asked").out == answers
    assert cli("verify", url).code == 0
    stored = {record["id"]: record for record in map(json.loads, exported.splitlines())}
    claimed = {record["id"]: record for record in cli("claim", url, documents).records}
    assert claimed.keys() == texts.keys()
    for name, record in claimed.items():
        assert record.get("of") == stored[name].get("of")
    copied = tmp_path / "copied.jsonl"
    originals = [name for name, record in claimed.items() if record["status"] == "original"]
    copied.write_text("".join(json.dumps({"id": f"copy of {name}", "text": texts[name]}) + "\n" for name in originals))
    copies = cli("claim", url, copied).records
    assert [(record["status"], record["of"]) for record in copies] == [("duplicate", name) for name in originals]
    assert cli("verify", url).code == 0
