"""Near fingerprints in HBase: one query and batches, by all clients in turns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.hbase_clients import IN_FLIGHT, Client, Java, Ours, Simhashes, clients_of
from bench.hbase_instance import Instance
from bench.machine import processor_seconds
from bench.queries import Planted
from bench.sizes import Sizes
from bench.tables import Table, count, microseconds, rate, times
from bench.timing import percentile
from simhash_hbase.errors import SimhashError

__all__ = ["check_clients", "query_tables"]


def query_tables(instance: Instance, table: str, planted: Planted, sizes: Sizes) -> list[Table]:
    """Check that all clients agree with a comparison with all fingerprints, and time them."""
    with clients_of(instance, table) as clients:
        check_clients(clients, planted, sizes)
        baseline, singles = _singles(instance, clients, planted, sizes)
        _, _, one, two, _, java = clients
        return [*singles, _batches(one, two, java, baseline, planted, sizes)]


def check_clients(clients: Sequence[Client], planted: Planted, sizes: Sizes) -> None:
    """Refuse answers that are not those of a comparison with every fingerprint.

    Raises
    ------
    SimhashError
        It names who answers something else.
    """
    few = planted.queries[: sizes.flat_queries]
    wanted = planted.answer(few, sizes.fingerprints)
    for client in clients:
        answers = [client.one_by_one(few)[1]]
        if isinstance(client, Ours | Java):
            answers.append(client.batch(few)[1])
        if any(answer != wanted for answer in answers):
            raise SimhashError(f"{client.name} does not answer what comparing with all of them does")


def _singles(
    instance: Instance, clients: Sequence[Client], planted: Planted, sizes: Sizes
) -> tuple[float, list[Table]]:
    """Give the baseline's seconds a query, and the tables."""
    for client in clients:
        client.one_by_one(planted.queries[-sizes.hbase_warm :])
    queries = planted.queries[: sizes.hbase_singles]
    rounds: list[list[_Round]] = [[] for _ in clients]
    for _ in range(sizes.hbase_rounds):
        answers = []
        for client, mine in zip(clients, rounds, strict=True):
            done, pairs = _round(instance, client, queries)
            mine.append(done)
            answers.append(pairs)
        if any(pairs != answers[0] for pairs in answers):
            raise SimhashError("the answers of two clients differ")
    typical = [sorted(mine, key=lambda done: done.mean)[len(mine) // 2] for mine in rounds]
    names = [client.name for client in clients]
    return typical[0].mean, [_times(names, typical, sizes), _processors(names, rounds)]


@dataclass(frozen=True, kw_only=True)
class _Round:
    """Some queries of one client, one after the other."""

    seconds: list[float]
    """Of each query, ascending."""
    processors: Sequence[float]
    """Seconds of server, gateways and client, for all queries."""

    @property
    def mean(self) -> float:
        return sum(self.seconds) / len(self.seconds)


def _round(instance: Instance, client: Client, queries: Simhashes) -> tuple[_Round, set[tuple[int, int]]]:
    before = _processor_seconds(instance, client)
    seconds, pairs = client.one_by_one(queries)
    after = _processor_seconds(instance, client)
    used = [end - start for start, end in zip(before, after, strict=True)]
    return _Round(seconds=sorted(seconds), processors=used), pairs


def _processor_seconds(instance: Instance, client: Client) -> list[float]:
    pids = instance.pids
    gateways = processor_seconds(pids["thrift1"]) + processor_seconds(pids["thrift2"])
    return [processor_seconds(pids["master"]), gateways, processor_seconds(client.process)]


def _times(names: Sequence[str], typical: Sequence[_Round], sizes: Sizes) -> Table:
    first = typical[0]
    rows = [
        [
            name,
            microseconds(percentile(done.seconds, 0.5)),
            microseconds(percentile(done.seconds, 0.99)),
            rate(1, done.mean),
            times(done.mean, first.mean),
            times(percentile(done.seconds, 0.5), percentile(first.seconds, 0.5)),
        ]
        for name, done in zip(names, typical, strict=True)
    ]
    return Table(
        title=f"One query at a time in HBase, within 3 bits among {count(sizes.fingerprints)} fingerprints",
        columns=["client", "median", "99 %", "queries /s", "as fast as the first", "by the medians"],
        rows=rows,
        notes=[
            "Uniform fingerprints. Half of the queries have a neighbour at 0 to 3 bits. For each query, every client "
            "scans the same ten prefixes of family `b` and keeps the near fingerprints. No documents are read. All "
            f"answers to {count(sizes.flat_queries)} queries equal a comparison with all fingerprints. The answers of "
            "all clients to the timed queries are equal.",
            f"{count(len(first.seconds))} queries; the median of {sizes.hbase_rounds} rounds in turns. Before, each "
            f"client answers {count(sizes.hbase_warm)} queries that are not timed. One node with its gateways on this "
            "machine; a table of four regions, FAST_DIFF, no codec. Java uses no gateway, and its prefixes are "
            "computed before its clock starts. Completing scans in the client's own threads is for callers that never "
            "block there.",
        ],
    )


def _processors(names: Sequence[str], rounds: Sequence[Sequence[_Round]]) -> Table:
    """Show where the time of a query goes: the mean of all rounds."""
    rows = []
    for name, mine in zip(names, rounds, strict=True):
        queries = sum(len(done.seconds) for done in mine)
        parts = [sum(part) / queries * 1e3 for part in zip(*(done.processors for done in mine), strict=True)]
        rows.append([name, *(f"{part:.2f} ms" for part in (*parts, sum(parts)))])
    return Table(
        title="Processor time of the same queries, each",
        columns=["client", "server", "gateway", "client", "in all"],
        rows=rows,
        notes=["User and system time of the processes. The server is master and region server."],
    )


def _batches(one: Ours, two: Ours, java: Java, baseline: float, planted: Planted, sizes: Sizes) -> Table:
    small, middle, large = (max(1, sizes.queries // share) for share in (100, 10, 1))
    plan: list[tuple[str, Callable[..., tuple[float, set[tuple[int, int]]]], int]] = [
        (f"Java `AsyncConnection`, {IN_FLIGHT} queries in flight", java.batch, small),
        (one.name, one.batch, small),
        (two.name, two.batch, small),
        (two.name, two.batch, middle),
        (two.name, two.batch, large),
    ]
    best = [float("inf")] * len(plan)
    for _ in range(sizes.repeats):
        answers = [batch(planted.queries[:number]) for _, batch, number in plan]
        best = [min(before, seconds) for before, (seconds, _) in zip(best, answers, strict=True)]
        if any(pairs != answers[0][1] for _, pairs in answers[1:3]):
            raise SimhashError("the answers of two clients to a batch differ")
    rows = [
        [name, count(number), rate(number, seconds), microseconds(seconds / number), times(seconds / number, baseline)]
        for (name, _, number), seconds in zip(plan, best, strict=True)
    ]
    return Table(
        title="Batches of queries in HBase, the same table",
        columns=["client", "queries", "queries /s", "a query", "as fast as happybase, one at a time"],
        rows=rows,
        notes=[
            f"The best of {sizes.repeats} rounds in turns. Over Thrift 2 one call has thousands of prefixes, by "
            "HBase's `MultiRowRangeFilter`. Over Thrift 1 each prefix is a scan, with many in flight."
        ],
    )
