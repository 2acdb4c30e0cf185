"""An index of each released format opens, answers as it did, and takes documents; its format stays what it was."""

import gzip
import json
from pathlib import Path

import pytest

from simhash_hbase import Profile, create_index, open_index
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FLAG_MEMBERS

FOLDER = Path(__file__).parent / "formats"
OPTIONS = {"analyzer": "shingle"}
SINCE = {"text_form": 1}  # Fields of profiles that came later, as an older index has them.


@pytest.fixture(params=[4])
def known(request):
    """Return what an index of this format held and answered when it was made."""
    return json.loads((FOLDER / f"format-{request.param}.json").read_text(encoding="utf-8"))


@pytest.fixture
def url(known, tmp_path):
    folder = tmp_path / "released.index"
    folder.mkdir()
    packed = FOLDER / f"format-{known['profile']['format']}.mdb.gz"
    (folder / "data.mdb").write_bytes(gzip.decompress(packed.read_bytes()))
    return f"file:{folder}"


def members(index):
    pages = index.store.scan_cells(FAMILY_DOCUMENTS, b"", None, page=100)
    return {cell.qualifier[:16]: cell.value for page in pages for cell in page if cell.row[4] == FLAG_MEMBERS}


def test_an_index_of_a_released_format_answers_as_before(url, known):
    with open_index(url) as index:
        stored = [
            [s.id, f"{s.simhash:016x}", s.state, s.of, s.distance, s.similarity, s.containment] for s in index.export()
        ]
        assert Profile.decode(json.dumps(known["profile"]).encode()) == index.profile
        assert json.loads(index.profile.encode()) == {**SINCE, **known["profile"]}
        assert stored == known["stored"]
        for name, text in known["documents"]:
            found = [[m.id, m.distance, m.similarity, m.containment, m.exact] for m in index.query(text).matches]
            assert found == known["answers"][name]
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
    assert made.keys() == {*SINCE, *known["profile"]}
    assert made["format"] == known["profile"]["format"]
