"""Figures of the index: a count may read a million rows, so it is made once for all who wait for it."""

import asyncio
import threading

from support.patience import END_S

from simhash_hbase import create_index
from simhash_hbase.service.engine import Engine


def test_who_asks_while_a_count_is_under_way_gets_that_one(monkeypatch):
    counted, goes_on = [], threading.Event()
    index = create_index("memory:", analyzer="shingle")
    count = index.stats

    def stats():
        counted.append(goes_on.wait(END_S))
        return count()

    monkeypatch.setattr(index, "stats", stats)

    async def ask():
        asking = [asyncio.create_task(engine.stats()) for _ in range(3)]
        await asyncio.sleep(0)
        # Who gives up does not end it for the others.
        asking[0].cancel()
        await asyncio.sleep(0)
        asking.append(asyncio.create_task(engine.stats()))
        await asyncio.sleep(0)
        goes_on.set()
        gave_up, *told = await asyncio.gather(*asking, return_exceptions=True)
        assert isinstance(gave_up, asyncio.CancelledError)
        return [*told, await engine.stats()]

    engine = Engine(index, threads=1, workers=1)
    told = asyncio.run(ask())
    engine.close()

    assert [figures.documents for figures in told] == [0] * 4
    assert counted == [True, True]
