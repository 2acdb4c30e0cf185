"""An index of an earlier format opens, answers as it did, and takes documents; its format stays what it was."""

import gzip
import json
from pathlib import Path

import pytest

from simhash_hbase.errors import CorruptIndex, ProfileMismatch
from simhash_hbase.opening import create_index, open_index
from simhash_hbase.profile import Profile
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FLAG_MEMBERS

FOLDER = Path(__file__).parent / "formats"
OPTIONS = {"analyzer": "shingle"}
# They hold the band distance as a number, for any number of shared rows.
LIMITS = {1: {}, 2: {"band_distance": [16]}}


@pytest.fixture(params=[1, 2])
def number(request):
    """Return the number of an earlier format."""
    return request.param


@pytest.fixture
def known(number):
    """Return what the index held and answered when it was made."""
    return json.loads((FOLDER / f"format-{number}.json").read_text(encoding="utf-8"))


@pytest.fixture
def url(number, tmp_path):
    """Return the address of a copy of the index."""
    folder = tmp_path / "early.index"
    folder.mkdir()
    (folder / "data.mdb").write_bytes(gzip.decompress((FOLDER / f"format-{number}.mdb.gz").read_bytes()))
    return f"file:{folder}"


def members(index):
    pages = index.store.scan_cells(FAMILY_DOCUMENTS, b"", None, page=100)
    return {cell.qualifier[:16]: cell.value for page in pages for cell in page if cell.row[4] == FLAG_MEMBERS}


def answers(index, known):
    return {
        name: [[m.id, m.distance, m.similarity, m.exact] for m in index.query(text).matches]
        for name, text in known["documents"]
    }


def test_an_index_of_an_earlier_format_answers_as_before(url, known, number):
    with open_index(url) as index:
        stored = [[s.id, f"{s.simhash:016x}", s.state, s.of, s.distance, s.similarity] for s in index.export()]

        assert index.profile.format == number
        assert Profile.decode(json.dumps(known["profile"]).encode()) == index.profile
        assert json.loads(index.profile.encode()) == known["profile"] | LIMITS[number]
        assert stored == known["stored"]
        assert answers(index, known) == known["answers"]
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


@pytest.mark.parametrize(
    ("number", "asked", "told"),
    [
        (1, {"bands": 6}, "made with bands=0; asked for was bands=6$"),
        (2, {"bands": 7}, "bands=6, band_bins=6, band_distance=\\(16,\\), free_distance=None; asked for was bands=7, "),
        (2, {"band_bins": 6, "band_distance": 16}, "made with free_distance=None; asked for was free_distance=10$"),
    ],
    indirect=["number"],
)
def test_it_is_the_index_that_is_asked_for_without_a_word_about_bands(url, asked, told):
    create_index(url, if_not_exists=True, **OPTIONS).close()

    with pytest.raises(ProfileMismatch, match=told):
        create_index(url, if_not_exists=True, **asked, **OPTIONS)


@pytest.mark.parametrize("number", [2], indirect=True)
def test_a_pair_that_the_second_format_takes_asks_for_more_in_a_new_index(tmp_path, known):
    texts = dict(known["documents"])
    with create_index(f"file:{tmp_path}/new.index", **OPTIONS) as index:
        index.add("shuffled", texts["shuffled"])
        answer = index.query(texts["shuffled again"])

    [[name, distance, similarity, _]] = known["answers"]["shuffled again"]
    assert (name, distance, similarity) == ("shuffled", 14, 1 - 55 / 256)
    assert answer.matches == []


@pytest.mark.parametrize("number", [1], indirect=True)
def test_an_index_without_bands_is_of_the_first_format(tmp_path, known):
    with create_index(f"file:{tmp_path}/none.index", bands=0, **OPTIONS) as index:
        made = json.loads(index.profile.encode())
        index.add_many(known["documents"])

    assert made.keys() == known["profile"].keys()
    assert made["format"] == 1


def test_a_new_index_is_of_a_format_that_earlier_releases_refuse(tmp_path):
    with create_index(f"file:{tmp_path}/new.index", **OPTIONS) as index:
        made = json.loads(index.profile.encode())

    assert (made["format"], made["bands"], made["band_bins"], made["band_distance"]) == (3, 6, 4, [16, 22, 32])
    assert made["free_distance"] == 10


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": 1},
        {"format": 2},
        {"format": 4},
        {"bands": 0},
        {"band_bins": None},
        {"band_distance": None},
        {"band_distance": []},
        {"free_distance": None},
        {"band_bins": 100},
    ],
)
def test_a_profile_whose_format_and_bands_disagree_is_refused(wrong):
    fields = json.loads(Profile.resolve(**OPTIONS).encode())

    with pytest.raises(CorruptIndex):
        Profile.decode(json.dumps({**fields, **wrong}).encode())
