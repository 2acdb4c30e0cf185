"""What keeps one client from taking all: shares, connections that make room, and stretches of what arrives."""

import asyncio
from threading import Event

from simhash_hbase.service.connections import Connections
from simhash_hbase.service.engine import SHARED_BATCHES, Engine
from simhash_hbase.service.intake import STRETCH_LINES, Intake, Turns
from simhash_hbase.service.shares import Shares


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


class Line:
    """A connection."""

    def __init__(self, address, *, idle=True):
        self.address = address
        self.is_idle = idle
        self.is_dropped = False

    def drop(self):
        self.is_dropped = True


def test_the_oldest_stranger_of_the_address_that_has_most_goes():
    connections = Connections(4)
    lines = [Line(address) for address in ("a", "b", "b", "c", "d")]

    assert all(connections.admit(line) for line in lines)

    assert [line.is_dropped for line in lines] == [False, True, False, False, False]


def test_a_stranger_goes_before_one_that_is_known():
    connections = Connections(3)
    lines = [Line("a") for _ in range(4)]
    for line in lines[:3]:
        connections.admit(line)
    connections.vouch(lines[0], is_known=True)

    assert connections.admit(lines[3])

    assert [line.is_dropped for line in lines] == [False, True, False, False]


def test_of_known_ones_an_idle_one_goes_and_where_all_work_the_newcomer():
    connections = Connections(2)
    busy, idle, first, second = Line("a", idle=False), Line("a"), Line("b", idle=False), Line("c")
    for line in (busy, idle):
        connections.admit(line)
        connections.vouch(line, is_known=True)

    assert connections.admit(first)
    assert idle.is_dropped
    connections.vouch(first, is_known=True)
    assert not connections.admit(second)
    assert not busy.is_dropped

    connections.forget(busy)
    assert connections.admit(second)


def test_a_key_that_is_not_known_any_more_makes_a_stranger_and_a_dropped_connection_stays_forgotten():
    connections = Connections(1)
    first, second, third = Line("a", idle=False), Line("a"), Line("a")
    connections.admit(first)
    connections.vouch(first, is_known=True)
    assert not connections.admit(second)
    connections.vouch(first, is_known=False)
    assert connections.admit(second)
    connections.vouch(first, is_known=True)
    connections.forget(first)

    assert connections.admit(third)
    assert second.is_dropped


class Transport:
    """What an intake asks of one."""

    def __init__(self):
        self.is_reading = True

    def pause_reading(self):
        self.is_reading = False

    def resume_reading(self):
        self.is_reading = True

    def is_closing(self):
        return False


def taken(*arrivals, pause_at=None):
    """Let data arrive on connections; return what each was fed, by rounds of the event loop."""

    async def run():
        turns, rounds, fed = Turns(), 0, []
        intakes = []

        def feeder(number):
            def feed(data):
                fed.append((rounds, number, data))
                if len(fed) == pause_at:
                    intakes[number].pause_reading()

            return feed

        intakes += [Intake(Transport(), turns, feeder(number)) for number in range(len(arrivals))]
        for intake, data in zip(intakes, arrivals, strict=True):
            intake.take(data)
        idle = 0
        while idle < 5:
            before = len(fed)
            await asyncio.sleep(0)
            rounds += 1
            idle = 0 if len(fed) > before else idle + 1
            if idle == 4 and intakes[0].read_paused:
                intakes[0].resume_reading()
                idle = 0
        return fed, [intake._transport.is_reading for intake in intakes]

    return asyncio.run(run())


TINY = b"1\r\nx\r\n" * 40_000


def test_tiny_chunks_are_handed_on_in_stretches_and_others_go_on_between_them():
    fed, reading = taken(TINY)

    assert b"".join(data for _, _, data in fed) == TINY
    assert max(data.count(b"\r\n") for _, _, data in fed) == STRETCH_LINES
    assert len({turn for turn, _, _ in fed}) == len(fed)
    assert reading == [True]


def test_connections_take_turns_and_all_together_have_one_stretch_in_a_round():
    fed, _ = taken(TINY, TINY[:60_000], b"GET / HTTP/1.1\r\n\r\n")

    for number, sent in ((0, TINY), (1, TINY[:60_000])):
        assert b"".join(data for _, of, data in fed if of == number) == sent
    assert [of for _, of, _ in fed[:6]] == [0, 1, 2, 0, 1, 0]
    assert len({turn for turn, _, _ in fed}) == len(fed)


def test_what_is_little_is_handed_on_at_once():
    assert taken(b"x" * 60_000) == ([(0, 0, b"x" * 60_000)], [True])


def test_while_nobody_reads_nothing_is_handed_on():
    fed, reading = taken(TINY, pause_at=3)

    turns = [turn for turn, _, _ in fed]
    assert turns[3] - turns[2] > 3
    assert b"".join(data for _, _, data in fed) == TINY
    assert reading == [True]
