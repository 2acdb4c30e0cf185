"""Figures of the index: a count may read a million rows, so it is made once for all who wait for it."""

import asyncio
import threading

import pytest
from fastapi.testclient import TestClient
from support.patience import END_S
from support.serving import wait_for

from simhash_hbase import create_index
from simhash_hbase.service import create_app, engine as engines
from simhash_hbase.service.engine import Engine


@pytest.mark.anyio
async def test_who_asks_while_a_count_is_under_way_gets_that_one(monkeypatch):
    counted, goes_on = [], threading.Event()
    index = create_index("memory:", analyzer="shingle")
    count = index.stats

    def stats():
        counted.append(goes_on.wait(END_S))
        return count()

    monkeypatch.setattr(index, "stats", stats)
    engine = Engine(index, threads=1, workers=1)
    asking = [asyncio.create_task(engine.stats()) for _ in range(3)]
    await asyncio.sleep(0)
    # Who gives up does not end it for the others.
    asking[0].cancel()
    await asyncio.sleep(0)
    asking.append(asyncio.create_task(engine.stats()))
    await asyncio.sleep(0)
    goes_on.set()
    gave_up, *told = await asyncio.gather(*asking, return_exceptions=True)
    told.append(await engine.stats())
    engine.close()

    assert isinstance(gave_up, asyncio.CancelledError)
    assert [figures.documents for figures in told] == [0] * 4
    assert counted == [True, True]


def test_a_store_that_does_not_tell_of_backups_keeps_no_other_metric_back(monkeypatch):
    goes_on = threading.Event()
    index = create_index("memory:", analyzer="shingle")
    monkeypatch.setattr(engines, "METRIC_S", 0.01)
    monkeypatch.setattr(engines, "read_last_backup", lambda store: goes_on.wait(END_S) and 1_500)
    with TestClient(create_app(index, keys=None), base_url="http://127.0.0.1") as client:
        silent = client.get("/metrics").text
        goes_on.set()
        wait_for(lambda: "simhash_last_backup_timestamp_seconds 1.5\n" in client.get("/metrics").text)

    assert "simhash_queries_total 0.0\n" in silent
    assert "simhash_last_backup_timestamp_seconds" not in silent
