"""Two documents side by side for people: their bits, the tables that join them, and what pulls them apart."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypedDict, cast

from rich.console import RenderableType
from rich.table import Table as Grid
from rich.text import Text

from simhash_hbase.cli.screen.tables import shown
from simhash_hbase.compare.explain import Side
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import MatchRule
from simhash_hbase.rows.blocks import Scheme, Table
from simhash_hbase.rows.layout import SIMHASH_BITS

AGREES, DIFFERS = "green", "bold red"
LABEL = 3
FEATURES = 8
TABLES = 10


class _Compared(TypedDict, total=False):
    distance: int
    similarity: float | None
    tables: list[int]
    bands: list[int]
    found: bool
    cosine: float
    word_cosine: float
    features: dict[str, int]
    only_a: list[list[object]]
    only_b: list[list[object]]
    pulls: list[tuple[str, float, float, float]]


def comparison(
    a: Side, b: Side, compared: Mapping[str, object], profile: Profile, width: int
) -> Iterator[RenderableType]:
    """Draw what `simhash_hbase.compare.explain.compare` found.

    Nothing is shown by colour alone: ``=`` marks a block that agrees, ``^`` a bit that differs.
    """
    record = cast("_Compared", compared)
    yield _heads(a, b)
    yield Text(_measures(record), style="bold")
    yield Text("")
    yield from _bits(a.simhash, b.simhash, profile.blocks, width)
    yield Text(_joined(record["tables"], profile.blocks))
    if "bands" in record:
        yield Text(_banded(record["bands"], profile))
    yield _verdict(record, profile.rule)
    yield Text("")
    if "pulls" in record:
        yield from _features(record)
    else:
        yield Text("The index keeps no texts: name files of texts instead to see what pulls them apart.")


def _heads(a: Side, b: Side) -> Grid:
    grid = Grid.grid(padding=(0, 1))
    grid.add_column()
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis")
    for label, side in (("a", a), ("b", b)):
        grid.add_row(Text(label, style="bold"), f"{side.simhash:016x}", Text(shown(side.name)))
    return grid


def _measures(record: _Compared) -> str:
    similarity = "unknown" if record["similarity"] is None else f"{record['similarity']:.2f}"
    words = [f"distance {record['distance']} of {SIMHASH_BITS} bits", f"similarity {similarity}"]
    if "cosine" in record:
        words.append(f"cosine {record['cosine']:.2f}")
    if "word_cosine" in record:
        words.append(f"{record['word_cosine']:.2f} of unweighted words")
    return ", ".join(words)


def _bits(a: int, b: int, scheme: Scheme, width: int) -> Iterator[Text]:
    """Draw the blocks, as many beside each other as there is room for."""
    differing = scheme.differing_blocks(a, b)
    for blocks in _rows(scheme.widths, width - LABEL):
        lines = [Text(" " * LABEL), Text("a".ljust(LABEL)), Text("b".ljust(LABEL)), Text(" " * LABEL)]
        for block in blocks:
            for line, part in zip(lines, _block(a, b, scheme, block, agrees=block not in differing), strict=True):
                line.append_text(part).append(" ")
        for line in lines:
            line.rstrip()
            yield line


def _rows(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    row: list[int] = []
    for block, bits in enumerate(widths):
        if row and sum(widths[at] + 1 for at in row) + bits > room:
            yield row
            row = []
        row.append(block)
    yield row


def _block(a: int, b: int, scheme: Scheme, block: int, *, agrees: bool) -> list[Text]:
    """Draw one block: its number, its bits in both, and where they differ."""
    bits, style = scheme.widths[block], AGREES if agrees else ""
    shift = SIMHASH_BITS - sum(scheme.widths[: block + 1])
    left, right = (f"{value >> shift & (1 << bits) - 1:0{bits}b}" for value in (a, b))
    marks = "".join("^" if x != y else "=" if agrees else " " for x, y in zip(left, right, strict=True))
    head = f"block {block + 1}"
    rows = [Text(line, style=style) for line in (left, right, marks)]
    for at, mark in enumerate(marks):
        if mark == "^":
            for row in rows:
                row.stylize(DIFFERS, at, at + 1)
    number = head if len(head) <= bits else str(block + 1)
    return [Text(number.ljust(bits)[:bits], style=style), *rows]


def _joined(flags: Sequence[int], scheme: Scheme) -> str:
    if not flags:
        return f"No table joins them: {scheme.choose} blocks have to agree in all their bits."
    tables = [table for table in scheme.tables if table.flag in flags]
    named = ", ".join(_named(table) for table in tables[:TABLES]) + (", …" if len(tables) > TABLES else "")
    return f"Joined by {len(tables)} of {len(scheme.tables)} tables: {named}."


def _banded(flags: Sequence[int], profile: Profile) -> str:
    if not flags:
        return f"No band joins them: {profile.band_bins} minima of their sketches have to be the same."
    return f"Joined by {len(flags)} of {profile.bands} bands: {', '.join(map(str, flags))}."


def _named(table: Table) -> str:
    return f"{table.flag} (blocks {'+'.join(str(block + 1) for block in table.blocks)})"


def _verdict(record: _Compared, rule: MatchRule) -> Text:
    """Say whether a query for one finds the other, and why."""
    if record["found"]:
        return Text("A query for one finds the other.", style=AGREES)
    return Text(f"A query for one does not find the other: {', '.join(_reasons(record, rule))}.", style=DIFFERS)


def _reasons(record: _Compared, rule: MatchRule) -> Iterator[str]:
    distance, similarity = record["distance"], record["similarity"]
    by_sketch = rule.match == "verified" and similarity is not None
    reads_bands = by_sketch and rule.band_distance is not None and "bands" in record
    banded = reads_bands and bool(record["bands"])
    if not record["tables"] and not banded:
        yield "no table joins them" + (", no band either" if reads_bands else "")
    # Of two kinds of rows the one that reaches farther says what is too far.
    limits = rule.band_distance if banded and rule.band_distance else ()
    reach = max((rule.radius if by_sketch else rule.distance, *limits[: len(record.get("bands", ()))]))
    if distance > reach:
        wanted = next((f", for which {bands} bands have to join them" for bands, bits in enumerate(limits, 1)
                       if distance <= bits), "")  # fmt: skip
        yield f"more than {reach} bits differ{wanted}"
    more = float(rule.more_asked(distance))
    if by_sketch and similarity is not None and similarity - more < rule.similarity:
        yield f"the similarity is below {rule.similarity + more:.4g}"


def _features(record: _Compared) -> Iterator[RenderableType]:
    counts = record["features"]
    yield Text(
        f"Features: {counts['shared']:,} in both, {counts['only_a']:,} only in a, {counts['only_b']:,} only in b."
    )
    for name, heaviest in (("a", record["only_a"]), ("b", record["only_b"])):
        if heaviest:
            yield Text(f"Heaviest only in {name}: {shown(heaviest[:FEATURES])}")
    if record["pulls"]:
        yield Text("")
        yield _pulls(record["pulls"][:FEATURES])


def _pulls(pulls: Sequence[tuple[str, float, float, float]]) -> Grid:
    table = Grid(title="What pulls them apart", title_justify="left", title_style="bold")
    table.add_column("feature", overflow="fold")
    for name in ("weight in a", "in b", "share of the gap"):
        table.add_column(name, justify="right", no_wrap=True)
    for feature, *weights, share in pulls:
        table.add_row(Text(shown(feature)), *(f"{weight:,.2f}" if weight else "" for weight in weights), f"{share:.1%}")
    return table
