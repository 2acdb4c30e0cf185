"""What keeps one client from taking all: shares of places, bytes and processes."""

import asyncio
from threading import Event

from simhash_hbase.service.engine import SHARED_BATCHES, Engine
from simhash_hbase.service.limits import Limits, Shares


def test_a_client_gets_three_quarters_and_another_one_the_rest():
    shares = Shares(8)

    assert [shares.take("a") for _ in range(7)] == [True] * 6 + [False]
    assert [shares.take("b") for _ in range(3)] == [True, True, False]
    shares.give_back("a")
    assert shares.take("b")


def test_a_single_place_is_anybodys():
    shares = Shares(1)

    assert shares.take("a")
    assert not shares.take("b")
    shares.give_back("a")
    assert shares.take("b")


def test_who_waits_is_served_in_order_and_whoever_waits_for_its_own_share_holds_up_nobody():
    async def waiting():
        shares = Shares(4)
        tickets = [shares.ask(client, 2) for client in ("a", "a", "b", "c")]
        before = [ticket.served.is_set() for ticket in tickets]
        tickets[2].close()
        after = [ticket.served.is_set() for ticket in tickets]
        tickets[0].close()
        return before, after, [ticket.served.is_set() for ticket in tickets]

    assert asyncio.run(waiting()) == ([True, False, True, False], [True, False, True, True], [True, True, True, True])


def test_batches_of_queries_of_one_key_leave_room_for_another_key_s():
    async def working():
        engine, ends, begun = Engine(None, threads=8, workers=1), Event(), []

        def work(name):
            begun.append(name)
            ends.wait()
            return name

        calls = [asyncio.create_task(engine.run_shared("a", lambda _, n=n: work(n))) for n in range(SHARED_BATCHES + 2)]
        other = asyncio.create_task(engine.run_shared("b", lambda _: work("other")))
        while len(begun) < SHARED_BATCHES:
            await asyncio.sleep(0.01)
        before = list(begun)
        calls[0].cancel()
        await asyncio.sleep(0)
        after = list(begun)
        ends.set()
        answers = await asyncio.gather(*calls[1:], other)
        engine.close()
        return sorted(n for n in before if n != "other"), after == before, answers

    most = SHARED_BATCHES * 3 // 4
    answers = [*range(1, SHARED_BATCHES + 2), "other"]
    assert asyncio.run(working()) == (list(range(most)), True, answers)


def test_a_large_amount_that_waits_for_its_client_s_own_share_holds_up_nobody():
    shares = Shares(16)
    assert shares.take("a", 12)
    assert shares.take("b", 2)
    large = shares.ask("a", 4)

    assert shares.ask("c", 1).served.is_set()
    assert not large.served.is_set()


def test_a_large_amount_is_served_before_small_ones_that_came_later():
    async def waiting():
        shares = Shares(4)
        first, large, small = (shares.ask(client, amount) for client, amount in (("a", 2), ("b", 4), ("c", 1)))
        before = large.served.is_set(), small.served.is_set()
        first.close()
        between = large.served.is_set(), small.served.is_set()
        large.close()
        large.close()
        return before, between, small.served.is_set()

    assert asyncio.run(waiting()) == ((False, False), (True, False), True)


def test_who_waits_no_more_is_forgotten():
    async def waiting():
        shares = Shares(2)
        first, left, last = (shares.ask(client, 2) for client in "abc")
        left.close()
        first.close()
        return last.served.is_set(), shares.take("d")

    assert asyncio.run(waiting()) == (True, False)


def test_the_limits_of_several_processes_add_up():
    limits = Limits(requests=64, body_bytes=4, bytes_in_flight=16)

    parts = [limits.part(processes) for processes in (1, 2, 3, 100)]

    assert [part.requests for part in parts] == [64, 32, 22, 1]
    # Each process must take one body of the greatest size.
    assert [part.bytes_in_flight for part in parts] == [16, 8, 5, 4]
    assert {part.body_bytes for part in parts} == {4}
