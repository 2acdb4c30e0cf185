"""Chunks of documents and pages are analysed alike in one process and in several."""

from concurrent.futures import Future
from itertools import cycle, islice

import pytest
from support.sites import Site

from simhash_hbase import Profile
from simhash_hbase.features import chunks, workers
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.chunks import analyse, analyse_chunk
from simhash_hbase.inputs import Document, InputOptions, Page, Place, Reject, extract

pytestmark = pytest.mark.slow
ANALYSIS = Analysis(Profile.resolve(analyzer="shingle"))
OPTIONS = InputOptions()
BAD = [b"<html><body></body></html>", b"no page", b"<p>?</p><p>!</p>"]


@pytest.fixture(autouse=True)
def _short_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_DOCUMENTS", 50)


def page(number, *, raw=None):
    content = Site(number % 4, "en").page(f"The page of number {number} says little.", f"Page {number}").encode()
    content = BAD[number % 3] if number % 10 == 0 else content
    return Page(id=str(number), content=content, options=OPTIONS, place=Place("a.warc", number), raw=raw)


def document(number):
    text = "!?" if number % 9 == 0 else f"A text of number {number} " * 20
    return Document(str(number), text, None, None, {"n": number}, Place("a.jsonl", number), None)


def documents(count):
    return map(document, range(count))


def reject(number):
    return Reject(Place("a.warc", number), "damaged", b"raw", str(number))


def records(count):
    kinds = cycle((page, document, page, reject))
    return (kind(number) for number, kind in enumerate(islice(kinds, count)))


def told(chunks):
    """Return all that comes of chunks, without where one ends: what is kept with its entry, and what is refused."""
    kept, refused = [], []
    for chunk in chunks:
        assert len(chunk.entries) == len(chunk.kept)
        for at, found in enumerate(chunk.kept):
            entry = chunk.entries
            analysed = entry.ids[at], int(entry.simhashes[at]), entry.sketches[at].tobytes(), entry.metadata[at]
            kept.append((found, *analysed, int(entry.features[at]), int(entry.lengths[at])))
        refused += chunk.rejects
    return kept, refused


def alone(records):
    return told(analyse(records, ANALYSIS))


def test_pages_become_what_their_texts_do():
    mixed = list(records(100))
    assert alone(mixed) == alone(map(extract, mixed))


def test_refused_pages_are_in_the_order_of_the_input():
    numbers = [reject.place.line for reject in alone(records(200))[1]]
    assert numbers == sorted(numbers)
    assert {0, 3, 9, 10, 20, 45} <= set(numbers)


def test_nothing_depends_on_the_number_of_processes():
    several = list(analyse(records(300), ANALYSIS, workers=2))
    assert len(several) > 1
    assert told(several) == alone(records(300))


def test_without_an_analysis_several_processes_extract_pages(monkeypatch):
    started, made = [], workers.Workers
    monkeypatch.setattr(workers, "Workers", lambda count: started.append(count) or made(count))
    several, one = (list(analyse(records(300), None, workers=count)) for count in (2, 1))

    assert [(chunk.kept, chunk.rejects) for chunk in several] == [(chunk.kept, chunk.rejects) for chunk in one]
    assert started == [1]
    list(analyse(documents(300), None, workers=2))
    assert started == [1]


def test_a_chunk_that_is_under_way_elsewhere_is_waited_for_after_the_others(monkeypatch):
    begun, here, expected = [], [], alone(documents(800))

    class Slow:
        def begin(self, _):
            pass

        def submit(self, _, *parts):
            future = Future()
            if not begun:
                future.set_running_or_notify_cancel()
                begun.append((future, parts))
            return future

        def close(self):
            pass

    def analysed(*parts):
        here.append(1)
        if len(here) == 2:
            future, waiting = begun[0]
            future.set_result(analyse_chunk(ANALYSIS, *waiting))
        return analyse_chunk(*parts)

    monkeypatch.setattr(chunks, "analyse_chunk", analysed)

    assert told(analyse(documents(800), ANALYSIS, workers=2, pool=Slow())) == expected


def test_a_page_keeps_its_own_bytes():
    (chunk,) = analyse([page(1, raw=b"as it came"), page(10, raw=b"as it came, too")], ANALYSIS)
    assert [found.raw for found in chunk.kept] == [b"as it came"]
    assert [reject.raw for reject in chunk.rejects] == [b"as it came, too"]


def test_where_results_are_wanted_soon_the_first_chunks_are_short():
    made = list(analyse(records(400), ANALYSIS, soon=True))
    assert [chunk.records for chunk in made] == [1, 1, 1, 2, 4, 7, 13, 25, *[50] * 6, 46]
    assert told(made) == alone(records(400))


def test_short_first_chunks_are_short_in_characters(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_CHARACTERS", 256 * 400)
    sizes = [chunk.records for chunk in analyse(map(document, range(1, 9)), ANALYSIS, soon=True)]
    assert sizes == [1, 1, 1, 2, 3]


@pytest.mark.parametrize(("count", "starts"), [(54, False), (104, False), (105, True)])
def test_short_first_chunks_start_no_process(monkeypatch, count, starts):
    started = []
    monkeypatch.setattr("simhash_hbase.features.workers.Workers", lambda *_: started.append(1))
    list(analyse(documents(count), ANALYSIS, workers=2, soon=True))

    assert bool(started) == starts
