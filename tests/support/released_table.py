"""The table of an index in HBase as a version leaves it: its HFiles, its export and its answers.

``./scripts/released`` keeps them at a release, and `hbase/test_released_table.py` has an HBase take the HFiles over.
They are written by commands that 1.0.0 has, too.
"""

import gzip
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from simhash_hbase import __version__
from simhash_hbase.bulk.places import Tools
from simhash_hbase.stores.hbase.launcher import Downloads, cache_folder
from simhash_hbase.stores.hbase.table import TableSchema
from support.corpus import write_jsonl
from support.hbase_server import address, drop_tables, tables
from support.own_hbase import server_status
from support.released import FORMATS, SPECIAL, documents

# HBase's own program for files that others made, in the place of the one that makes them.
TAKER = "org.apache.hadoop.hbase.tool.BulkLoadHFilesTool"
LOADED = 20  # So many documents are loaded as HFiles, and the others are claimed.


def write_index(url, folder):
    """Write an index of documents that were loaded, claimed, added anew with another text, removed, in a collection."""
    records = [{"id": name, "text": text, "title": name} for name, text in documents().items()]
    first = records[0]["text"]
    copies = [{"id": f"copy {number}", "text": f"{first} {number}", "title": "copy"} for number in range(3)]
    given = {
        "loaded": records[:LOADED],
        "claimed": [*records[LOADED:], *copies],
        "moved": [{"id": "copy 1", "text": SPECIAL["traditional"] * 2}],
        "shelf": [{"id": "in a collection", "text": SPECIAL["traditional"]}],
    }
    files = {name: write_jsonl(folder / f"{name}.jsonl", some) for name, some in given.items()}
    conf, work = server_status()["conf"], folder / "work"
    run("create", url, "--analyzer", "shingle", "--regions", 1)
    loaded = run("load", url, files["loaded"], "--metadata-field", "title", "--hbase-conf", conf, "--work", work)
    assert json.loads(loaded)["way"] == "HFiles"
    run("claim", url, files["claimed"], "--metadata-field", "title")
    run("add", url, files["moved"])
    run("remove", url, "copy 2")
    run("add", url, files["shelf"], "--collection", "shelf")


def run(*words):
    """Run a command in a process of its own, and return its output."""
    program = [sys.executable, "-m", "simhash_hbase", *map(str, words)]
    return subprocess.run(program, stdout=subprocess.PIPE, check=True).stdout


def keep_table(folder, table):
    """Make a table, write an index into it, and keep in a folder what is left of both."""
    folder.mkdir(parents=True)
    url = f"hbase://{address(2)}/{table}"
    with tempfile.TemporaryDirectory() as place:
        write_index(url, Path(place))
        # Asked by its own id a document is not among its matches.
        records = [{"id": name, "asked": f"like {name}", "text": text} for name, text in documents().items()]
        asked = write_jsonl(folder / "documents.jsonl", records)
        for name, words in (("export", ["export", url]), ("answers", ["query", url, asked, "--id-field", "asked"])):
            (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(run(*words), mtime=0))
    # A table that is closed has all of its cells in HFiles.
    tables().administrate(table, "disableTable")
    with tarfile.open(folder / "hfiles.tar.gz", "w:gz") as archive:
        for path in Path(server_status()["folder"]).glob(f"**/data/default/{table}/*/[bdm]/[!.]*"):
            archive.add(path, f"{path.parent.name}/{path.name}")
    tables().administrate(table, "enableTable")


def take_over(folder, table, place):
    """Have the region servers take HFiles that were kept over into an empty table, by way of another folder."""
    with tarfile.open(folder / "hfiles.tar.gz") as archive:
        archive.extractall(place / "hfiles", filter="data")
    status = server_status()
    java = Downloads(cache_folder(), say=lambda _: None).java()
    *program, _ = Tools(java=java, jars=Path(status["jars"]), classes=place).program(Path(status["conf"]))
    # The program makes two files of one that two regions share, and looks for settings of its family only here.
    settings = [f"-D{name}={value}" for each in TableSchema().families for name, value in each.configuration.items()]
    words = [*program, TAKER, *settings, str(place / "hfiles"), table]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    try:
        keep_table(FORMATS / __version__ / "hbase", tables().name())
    finally:
        drop_tables()
