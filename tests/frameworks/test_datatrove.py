"""The filter for datatrove, in pipelines that its own executor runs."""

import json

import pytest
from datatrove.data import Document
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from support.corpus import near_copies, write_jsonl

from simhash_hbase import EmptyDocument, InvalidArgument, create_index, open_index
from simhash_hbase.tables.datatrove import NearDuplicatesFilter

GROUPS = 30


def run(folder, url, out, *, tasks, **options):
    """Read every file by a task of its own and filter; return what goes on and what does not."""
    dropped = JsonlWriter(str(folder / f"{out} dropped"), compression=None)
    pipeline = [
        JsonlReader(str(folder / "in"), glob_pattern="*.jsonl"),
        NearDuplicatesFilter(url, exclusion_writer=dropped, batch_size=7, **options),
        JsonlWriter(str(folder / out), compression=None),
    ]
    logs = str(folder / f"{out} logs")
    # Processes of a server that an earlier test started would have its environment, without the key.
    LocalPipelineExecutor(pipeline, tasks=tasks, workers=tasks, logging_dir=logs, start_method="spawn").run()
    return written(folder / out), written(folder / f"{out} dropped")


def written(folder):
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]
    return {document["id"]: document for document in map(json.loads, lines)}


def write(folder, *parts):
    (folder / "in").mkdir()
    for number, part in enumerate(parts):
        write_jsonl(folder / "in" / f"{number}.jsonl", part)


def test_two_tasks_on_one_index_keep_one_of_each_group(tmp_path, address):
    copies = near_copies(GROUPS, 4)
    write(tmp_path, copies[0::2], copies[1::2])

    kept, dropped = run(tmp_path, address, "kept", tasks=2)

    assert set(kept) | set(dropped) == {record["id"] for record in copies}
    assert set(kept) & set(dropped) == set()
    assert sorted(name.rpartition(" copy ")[0] for name in kept) == sorted(f"group {at}" for at in range(GROUPS))
    assert {document["metadata"]["duplicate_of"] for document in dropped.values()} <= set(kept)
    # A second run of the same tasks lets the same documents go on.
    assert set(run(tmp_path, address, "again", tasks=2)[0]) == set(kept)


def test_asking_writes_nothing(tmp_path, url):
    copies = near_copies(4, 2)
    with open_index(url) as index:
        for record in copies[:2]:
            index.add(f"known {record['id']}", record["text"])
    write(tmp_path, [*copies, {"id": "no words", "text": "…!"}])

    kept, dropped = run(tmp_path, url, "kept", tasks=1, action="ask", unreadable="drop")

    assert set(kept) == {record["id"] for record in copies[2:]}
    assert {name: document["metadata"].get("filter_reason") for name, document in dropped.items()} == {
        copies[0]["id"]: "near_duplicate", copies[1]["id"]: "near_duplicate", "no words": "no_words"
    }  # fmt: skip
    with open_index(url, readonly=True) as index:
        assert index.get(copies[2]["id"]) is None


@pytest.mark.parametrize("action", ["claim", "ask"])
def test_no_document_is_dropped_unasked(url, action):
    [document] = near_copies(1, 1)
    batch = [Document(text=words, id=name) for name, words in ((document["id"], document["text"]), ("empty", "…!"))]
    raises, keeps, drops = (
        NearDuplicatesFilter(url, action=action, unreadable=choice) for choice in ("raise", "keep", "drop")
    )

    with open_index(url) as index:
        raises._index = keeps._index = drops._index = index
        with pytest.raises(EmptyDocument, match=r"^the text of 'empty' has no usable words.*; unreadable='keep'"):
            raises.filter_batch(batch)
        assert keeps.filter_batch(batch) == [True, True]
        assert drops.filter_batch(batch) == [True, (False, "no_words")]

    with pytest.raises(InvalidArgument, match=r"^unreadable is 'skip': wanted 'raise', 'keep' or 'drop'$"):
        NearDuplicatesFilter(url, unreadable="skip")
    with pytest.raises(InvalidArgument, match=r"^action is 'drop': wanted 'claim' or 'ask'$"):
        NearDuplicatesFilter(url, action="drop")


def test_documents_of_a_batch_agree_about_the_field_of_the_index(tmp_path):
    url = f"file:{tmp_path / 'some.index'}"
    create_index(url, analyzer="shingle", agree="site").close()
    [record] = near_copies(1, 1)
    batch = [Document(record["text"], str(at), metadata={"site": site}) for at, site in enumerate(["a", "a", "b"])]
    claims, asks = NearDuplicatesFilter(url, batch="monday"), NearDuplicatesFilter(url, action="ask")

    with open_index(url) as claims._index:
        verdicts = claims.filter_batch(batch)
        counts = [(each.batch, each.documents) for each in claims._index.batches()]
        asks._index = claims._index
        of_others = asks.filter_batch([Document(record["text"], "new", metadata={"site": site}) for site in "bc"])

    assert verdicts == [True, (False, "near_duplicate"), True]
    assert counts == [("monday", 3)]
    assert of_others == [(False, "near_duplicate"), True]
    with pytest.raises(InvalidArgument, match="batch='monday' goes with action='claim'"):
        NearDuplicatesFilter(url, action="ask", batch="monday")


def test_documents_are_claimed_in_the_collection_that_is_named(tmp_path):
    url = f"file:{tmp_path / 'some.index'}"
    [record] = near_copies(1, 1)
    with create_index(url, analyzer="shingle") as index:
        index.add("a", record["text"])

    kept = list(NearDuplicatesFilter(url, collection="zh").run([Document(record["text"], "b")]))

    assert [document.id for document in kept] == ["b"]
    with open_index(url) as index:
        assert ("b" in index, "b" in index.in_collection("zh")) == (False, True)
