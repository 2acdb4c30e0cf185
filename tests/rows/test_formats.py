"""An index of each released format opens, answers as it did, and takes documents; its format stays what it was."""

import gzip
import json
from pathlib import Path

import pytest
from support.released import answers_of, batches_of, documents, kinds, stored_of, write_kind

from simhash_hbase import Profile, create_index, open_index
from simhash_hbase.profile.matching import rounded
from simhash_hbase.profile.profile import LATER_FIELDS
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FLAG_MEMBERS

FOLDER = Path(__file__).parent / "formats"
OPTIONS = {"analyzer": "shingle"}
RELEASED = sorted(str(file.relative_to(FOLDER)).removesuffix(".json") for file in FOLDER.glob("*/*.json"))
HERE = "of this version/"


def read_known(name, folder=FOLDER):
    """Return what an index held and answered when it was made."""
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def unpacked(name, folder, source=FOLDER):
    """Unpack an index into a folder and return its address."""
    folder.mkdir()
    (folder / "data.mdb").write_bytes(gzip.decompress((source / f"{name}.mdb.gz").read_bytes()))
    return f"file:{folder}"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write the indexes of this version, as the script does at the next release."""
    folder = tmp_path_factory.mktemp("formats")
    for name, options in kinds(list(documents().values())).items():
        write_kind(folder, name, options)
    return folder


@pytest.fixture(params=[*RELEASED, *(HERE + name for name in kinds([]))])
def released(request, tmp_path):
    """Return what the index of a release held, and its address; those of this version are written first."""
    name = request.param.removeprefix(HERE)
    folder = FOLDER if name == request.param else request.getfixturevalue("written")
    return read_known(name, folder), unpacked(name, tmp_path / "released.index", folder)


@pytest.fixture(params=[4])
def known(request):
    return read_known(f"format-{request.param}")


@pytest.fixture
def url(known, tmp_path):
    return unpacked(f"format-{known['profile']['format']}", tmp_path / "released.index")


def members(index):
    pages = index.store.scan_cells(FAMILY_DOCUMENTS, b"", None, page=100)
    return {cell.qualifier[:16]: cell.value for page in pages for cell in page if cell.row[4] == FLAG_MEMBERS}


def test_an_index_of_a_released_format_answers_as_before(url, known):
    with open_index(url) as index:
        stored = [
            [s.id, f"{s.simhash:016x}", s.state, s.of, s.distance, s.similarity, s.containment] for s in index.export()
        ]
        assert Profile.decode(json.dumps(known["profile"]).encode()) == index.profile
        assert json.loads(index.profile.encode()) == known["profile"]
        # Answers of 1.0.0 had similarities as they were estimated.
        assert stored == [[*one[:5], rounded(one[5]), one[6]] for one in known["stored"]]
        for name, text in known["documents"]:
            found = [[m.id, m.distance, m.similarity, m.containment, m.exact] for m in index.query(text).matches]
            assert found == [[*one[:2], rounded(one[2]), *one[3:]] for one in known["answers"][name]]
        assert index.stats(exact=True).rows == known["rows"]


def test_it_is_written_as_before(url, known):
    with open_index(url) as index:
        before = members(index)
        texts = dict(known["documents"])
        for name in ("a", "c"):
            index.add(name, texts[name], metadata={"n": name})
        index.add("new", texts["gone"])
        verified = index.verify(repair=True)
        after = members(index)

        assert {qualifier: after[qualifier] for qualifier in before} == before
        assert (verified.wrong, verified.repaired, verified.incomplete) == (0, 0, 0)
        # The rows of what was removed wait for vacuum: they are those of the document that came back.
        assert index.stats(exact=True).rows == known["rows"]
        assert [match.id for match in index.query(texts["gone"]).matches] == ["new"]


def test_a_new_index_is_of_the_last_format(tmp_path, known):
    with create_index(f"file:{tmp_path}/new.index", **OPTIONS) as index:
        made = json.loads(index.profile.encode())
    assert made.keys() - set(LATER_FIELDS) == known["profile"].keys()
    assert made["format"] == known["profile"]["format"]


def test_an_index_of_a_release_answers_as_that_release_did(released):
    known, url = released
    texts = dict(known["documents"])

    with open_index(url) as index:
        stored, answers = stored_of(index), answers_of(index, texts)
        shelf = answers_of(index.in_collection("shelf"), {"traditional": texts["traditional"]})
        again = {
            document: f"{index.analysis.texts([document], [text], [None]).entries.simhashes[0]:016x}"
            for document, text in texts.items()
        }
        verified = index.verify()

        assert (stored, answers, shelf) == (known["stored"], known["answers"], known["shelf"])
        assert {row[0]: row[1] for row in stored if row[0] in texts} == again
        assert (verified.wrong, verified.incomplete) == (0, 0)
        assert index.stats(exact=True).rows == known["rows"]
        # An index of 1.0.0 had no batches.
        assert sorted(batches_of(index), key=str) == known.get("batches", batches_of(index))
        assert index.profile.encode() == json.dumps(known["profile"], sort_keys=True, separators=(",", ":")).encode()


def test_an_index_of_a_release_takes_claims_and_new_documents(released):
    known, url = released
    texts = dict(known["documents"])

    with open_index(url) as index:
        for document, text in texts.items():
            index.claim(document, text)
        index.add("new", "吊民伐罪，周发殷汤。坐朝问道，垂拱平章。爱育黎首，臣伏戎羌。")

        assert {row[0]: row[1:] for row in stored_of(index) if row[0] != "new"} == {
            row[0]: row[1:] for row in known["stored"]
        }
        assert (index.verify().wrong, index.verify().incomplete) == (0, 0)


def exported(name):
    """Return the export of an index that a release made and exported."""
    return gzip.decompress((FOLDER / f"{name}.export.jsonl.gz").read_bytes())


@pytest.mark.parametrize("name", RELEASED)
def test_an_index_of_a_release_is_exported_as_that_release_did(name, tmp_path, cli):
    assert cli("export", unpacked(name, tmp_path / "released.index")).out == exported(name)


@pytest.mark.parametrize("name", [name for name in RELEASED if name.endswith("/learned")])
def test_an_export_of_a_release_becomes_an_index(name, tmp_path, cli):
    export, url = tmp_path / "export.jsonl", f"file:{tmp_path}/new.index"
    export.write_bytes(exported(name))
    records = [json.loads(line) for line in exported(name).splitlines()]
    cli("create", url, "--match", "distance", "--analyzer", "shingle")

    added = cli("add", url, export, "--simhash-field", "simhash")
    answers = cli("query", url, export, "--simhash-field", "simhash", "--distance", 0).records
    claimed = cli("claim", url, export, "--simhash-field", "simhash", "--id-prefix", "file").records

    assert (added.code, cli("verify", url).code) == (0, 0)
    assert len(answers) == len(records)
    equal = {}
    for record in records:
        equal.setdefault(record["simhash"], set()).add(record["id"])
    found = {answer["query"]: {match["id"] for match in answer["matches"]} for answer in answers}
    assert found == {record["id"]: equal[record["simhash"]] - {record["id"]} for record in records}
    assert {line["distance"] for line in claimed} == {0}
