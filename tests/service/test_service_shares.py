"""Shares of places, bytes and processes keep one client from taking all."""

import asyncio
from threading import Event

import pytest

from simhash_hbase.service.engine import SHARED_BATCHES, Engine
from simhash_hbase.service.limits import Limits, Shares


def served(*tickets):
    return [ticket.served.is_set() for ticket in tickets]


def test_waiting_clients_are_served_in_order_past_one_above_its_share():
    shares = Shares(4)
    tickets = [shares.ask(client, 2) for client in ("a", "a", "b", "c")]
    assert served(*tickets) == [True, False, True, False]
    tickets[2].close()
    assert served(*tickets) == [True, False, True, True]
    tickets[0].close()

    assert served(*tickets) == [True] * 4


@pytest.mark.anyio
async def test_batches_of_queries_of_one_key_leave_room_for_another_key_s():
    engine, ends, begun = Engine(None, threads=8, workers=1), Event(), []

    def ask(client, name):
        def work(_):
            begun.append(name)
            ends.wait()
            return name

        return asyncio.create_task(engine.run_shared(client, work))

    calls = [ask("a", number) for number in range(SHARED_BATCHES + 2)]
    other = ask("b", "other")
    while len(begun) < SHARED_BATCHES:
        await asyncio.sleep(0.01)
    assert sorted(map(str, begun)) == [*map(str, range(SHARED_BATCHES * 3 // 4)), "other"]
    calls[0].cancel()
    await asyncio.sleep(0)
    assert len(begun) == SHARED_BATCHES
    ends.set()

    assert await asyncio.gather(*calls[1:], other) == [*range(1, SHARED_BATCHES + 2), "other"]
    engine.close()


def test_a_large_amount_is_served_before_small_ones_that_came_later():
    shares = Shares(4)
    first, large, small = (shares.ask(client, amount) for client, amount in (("a", 2), ("b", 4), ("c", 1)))
    assert served(large, small) == [False, False]
    first.close()
    assert served(large, small) == [True, False]
    large.close()
    large.close()

    assert served(small) == [True]


def test_who_waits_no_more_is_forgotten():
    shares = Shares(2)
    first, left, last = (shares.ask(client, 2) for client in "abc")
    left.close()
    first.close()

    assert served(last) == [True]
    assert not shares.take("d")


def test_the_limits_of_several_processes_add_up():
    limits = Limits(requests=64, body_bytes=4, bytes_in_flight=16)

    parts = [limits.part(processes) for processes in (1, 2, 3, 100)]

    assert [part.requests for part in parts] == [64, 32, 22, 1]
    # Each process must take one body of the greatest size.
    assert [part.bytes_in_flight for part in parts] == [16, 8, 5, 4]
    assert {part.body_bytes for part in parts} == {4}
