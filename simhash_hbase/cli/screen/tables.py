"""Tables for people: lists of results, one result with its fields below each other, two documents side by side."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Column, Table
from rich.text import Text

from simhash_hbase.cli.screen.terminal import erase_starting, harmless
from simhash_hbase.profile.defaults import LEAST_PASSAGES
from simhash_hbase.rows.layout import SIMHASH_BITS

if TYPE_CHECKING:
    from simhash_hbase.profile import Profile
    from simhash_hbase.report.explain import ComparedDocument

CELL_CHARACTERS = 100
ESTIMATED_DIGITS = 3
WHOLE_CHARACTERS = 32
PIPE_COLUMNS = 160
AGREES, DIFFERS = "green", "bold red"
LABEL = 3
FEATURES = 8
TABLES = 10


def rows_table(rows: Sequence[Mapping[str, object]]) -> Table:
    """Return a table for the terminal with a row for each result; its columns are the keys of the mappings."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = Table()
    for column in columns:
        values = [row.get(column) for row in rows]
        # Lines that may not be broken, whatever the width: those of a cell with a figure and little else.
        lines = [line for value in values for line in shown(value).splitlines()]
        whole = [cell_len(line) for line in lines if len(line) <= WHOLE_CHARACTERS and any(map(str.isdigit, line))]
        numbers = all(isinstance(value, int | float | None) and not isinstance(value, bool) for value in values)
        # Folded where there is no room: an ellipsis could cut off the end of a number.
        table.add_column(
            column, overflow="fold", min_width=max(whole, default=None), justify="right" if numbers else "left"
        )
    for row in rows:
        table.add_row(*(Text(shown(row.get(column))) for column in columns))
    return table


def record_table(record: Mapping[str, object], about: Collection[str] = ()) -> Table:
    """Return a table for the terminal with a row for each field of one result, and for each item of a mapping.

    Numbers of the fields that `about` names are estimates, and shown as such.
    """
    table = Table("field", "value")
    for name, value in record.items():
        label = name.replace("_", " ")
        rows = {label: value}
        if isinstance(value, Mapping):
            rows = {f"{label}: {inner}": item for inner, item in value.items()}
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            rows = {f"{label}: {number}": item for number, item in enumerate(value, 1)}
        for row, item in rows.items():
            table.add_row(Text(row), Text(shown(item, estimate=name in about), overflow="fold"))
    return table


def print_wide(draw: Callable[[int], Iterable[RenderableType]]) -> None:
    """Print the tables and texts that `draw` returns for a width, in columns: the terminal's, or 160 for a pipe."""
    erase_starting()
    console = Console(file=sys.stdout)
    if not console.is_terminal:
        console.width = max(console.width, PIPE_COLUMNS)
    for part in draw(console.width):
        # Lines that may not be broken can be wider than all that: the terminal then breaks the line, not a cell.
        console.print(part, crop=False, soft_wrap=False)


def shown(value: object, *, estimate: bool = False) -> str:
    """Return a value of a result as a text for people; numbers of an `estimate` are rounded to three digits.

    Examples
    --------
    >>> shown([["CEO", 11.95123], ["teller", 2.0]])
    'CEO 11.9512, teller 2'
    >>> shown({"table": 3, "rows": 1200})
    'table 3, rows 1,200'
    >>> shown({"date": "2026-11-21", "documents": 276_416}, estimate=True)
    'date 2026-11-21, documents about 276,000'
    """
    text = harmless(_written(value, estimate=estimate))
    return text if len(text) <= CELL_CHARACTERS else text[: CELL_CHARACTERS - 1] + "…"


def _written(value: object, *, estimate: bool) -> str:
    match value:
        case None | bool():
            text = {None: "", True: "yes", False: "no"}[value]
        case int() | float():
            digits = ESTIMATED_DIGITS - len(str(value)) if estimate and isinstance(value, int) else 4
            text = f"{'about ' if estimate else ''}{round(value, digits):,}".removesuffix(".0")
        case str():
            text = value
        case Mapping():
            text = ", ".join(f"{key} {_written(item, estimate=estimate)}" for key, item in value.items())
        case [str() as name, int() | float() as weight]:
            text = f"{name} {_written(weight, estimate=estimate)}"
        case Iterable():
            text = ", ".join(_written(item, estimate=estimate) for item in value)
        case _:
            text = str(value)
    return text


class ComparedPair(NamedTuple):
    """The result of ``explain`` for two documents, a and b, which it draws for the terminal.

    Nothing is shown by colour alone: ``=`` marks a block that agrees, ``^`` a bit that differs.
    """

    a: ComparedDocument
    b: ComparedDocument
    record: Mapping[str, Any]
    profile: Profile

    def drawn(self, width: int) -> Iterator[RenderableType]:
        """Yield all parts of the comparison, tables and lines, for a terminal of `width` columns."""
        record = self.record
        named = Column(no_wrap=True, overflow="ellipsis")
        heads = Table.grid(Column(), Column(no_wrap=True), named, padding=(0, 1))
        for label, side in (("a", self.a), ("b", self.b)):
            heads.add_row(Text(label, style="bold"), f"{side.simhash:016x}", Text(shown(side.name)))
        yield heads
        similarity = "unknown" if record["similarity"] is None else f"{record['similarity']:.2f}"
        measures = [f"distance {record['distance']} of {SIMHASH_BITS} bits", f"similarity {similarity}"]
        if "cosine" in record:
            measures.append(f"cosine {record['cosine']:.2f}")
        if "word_cosine" in record:
            measures.append(f"{record['word_cosine']:.2f} of unweighted words")
        yield Text(", ".join(measures), style="bold")
        yield Text("")
        yield from self.bits(width)
        yield from self.passages()
        yield from self.judgement()
        yield Text("")
        if "pulls" in record:
            yield from self.features()
        else:
            yield Text("The index keeps no texts: name files of texts instead to see what pulls them apart.")

    def bits(self, width: int) -> Iterator[Text]:
        """Yield lines that show the bits of both fingerprints, cut into the blocks of the scheme, side by side."""
        widths, rows = self.profile.blocks.widths, [[0]]
        for block, bits in enumerate(widths[1:], 1):
            if sum(widths[at] + 1 for at in rows[-1]) + bits > width - LABEL:
                rows.append([])
            rows[-1].append(block)
        for row in rows:
            lines = [Text(" " * LABEL), Text("a".ljust(LABEL)), Text("b".ljust(LABEL)), Text(" " * LABEL)]
            for block in row:
                for line, part in zip(lines, self.block(block), strict=True):
                    line.append_text(part).append(" ")
            for line in lines:
                line.rstrip()
                yield line

    def block(self, block: int) -> list[Text]:
        """Return four lines that show the block with this number, from 0: a name, its bits in a and in b, and marks."""
        a, b, scheme = self.a.simhash, self.b.simhash, self.profile.blocks
        agrees = block not in scheme.differing_blocks(a, b)
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

    def judgement(self) -> Iterator[Text]:
        """Yield lines about whether the index takes the two for near copies.

        They say what was decided about each, which tables and bands have a row of both, and whether a query for one
        finds the other.
        """
        record, profile, scheme = self.record, self.profile, self.profile.blocks
        for label, side in (("a", self.a), ("b", self.b)):
            if side.decision is not None:
                similarity = side.decision["similarity"]
                estimate = "" if similarity is None else f", similarity {similarity:.2f}"
                of, distance = shown(side.decision["of"]), side.decision["distance"]
                yield Text(f"{label} was decided a duplicate of {of} (distance {distance}{estimate}).")
        if flags := record["tables"]:
            tables = [table for table in scheme.tables if table.flag in flags]
            blocks = {table.flag: "+".join(str(at + 1) for at in table.blocks) for table in tables[:TABLES]}
            named = ", ".join(f"{flag} (blocks {joined})" for flag, joined in blocks.items())
            more = ", …" if len(tables) > TABLES else ""
            yield Text(f"Joined by {len(tables)} of {len(scheme.tables)} tables: {named}{more}.")
        else:
            yield Text(f"No table joins them: {scheme.choose} blocks have to agree in all their bits.")
        if record.get("bands"):
            joining = ", ".join(map(str, record["bands"]))
            yield Text(f"Joined by {len(record['bands'])} of {profile.bands} bands: {joining}.")
        elif record.get("bands") == []:
            yield Text(f"No band joins them: {profile.band_bins} minima of their sketches have to be the same.")
        if record["found"]:
            yield Text("A query for one finds the other.", style=AGREES)
        elif record["found"] is None:
            yield Text(f"Whether a query for one finds the other is not known: a copy keeps no {self.lacking}.")
        else:
            yield Text(f"A query for one does not find the other: {', '.join(self.reasons())}.", style=DIFFERS)
        presets = record.get("found_near", {})
        if len(set(presets.values()) | {record["found"]}) > 1:
            names = " or ".join(near for near, is_found in presets.items() if is_found)
            yield Text(f"An index that is made with --near {names} joins them." if names else "No --near joins them.")

    @property
    def lacking(self) -> str:
        """The name of what the match rule compares and the index does not keep of a duplicate: passages or sketch."""
        return "passages" if self.profile.match == "copied" else "sketch"

    def passages(self) -> Iterator[Text]:
        """Yield a line with the numbers of all, shared and rare passages of both texts, under the rule ``copied``."""
        if counts := self.record.get("passages"):
            yield Text(
                f"Passages: {counts['a']} and {counts['b']}, {counts['shared']} in both. Rare ones: "
                f"{counts['rare_a']} and {counts['rare_b']}, {counts['counted']} in both."
            )

    def reasons(self) -> Iterator[str]:
        """Yield the reasons why a query for one document does not find the other, as parts of a sentence."""
        record, rule, unknown = self.record, self.profile.rule, self.a.misses_sketches(self.b)
        if record.get("agrees") is False:
            yield f"they do not agree about {self.profile.agree!r}"
        if (passages := record.get("passages")) and passages["is_copied"] is not None:
            if not passages["is_copied"]:
                few = f"fewer than {LEAST_PASSAGES} rare passages"
                yield f"{few}, or less than {rule.share:g} of those of either, are in both"
            return
        distance, similarity, bands = record["distance"], record["similarity"], record.get("bands", ())
        by_sketch = rule.match != "distance" and (unknown or similarity is not None)
        reads_bands = by_sketch and rule.band_distance is not None and "bands" in record
        # Bands that are not known may all join them.
        banded = reads_bands and bands != []
        if not record["tables"] and not banded:
            yield "no table joins them" + (", no band either" if reads_bands else "")
        # The kind of rows that reaches farther says which distance is too far.
        limits = rule.band_distance if banded and rule.band_distance else ()
        reach = max((rule.radius if by_sketch else rule.distance, *limits[: None if bands is None else len(bands)]))
        if distance > reach:
            wanted = next((f", for which {bands} bands have to join them" for bands, bits in enumerate(limits, 1)
                           if distance <= bits), "")  # fmt: skip
            yield f"more than {reach} bits differ{wanted}"
        asked = min(1.0, rule.similarity + float(rule.more_asked(distance)))
        if by_sketch and similarity is not None and similarity < asked:
            yield f"the similarity is below {asked:.4g}"

    def features(self) -> Iterator[RenderableType]:
        """Yield lines with the numbers of features of a and b, and a table of those that set the fingerprints apart."""
        record, counts = self.record, self.record["features"]
        yield Text(
            f"Features: {counts['shared']:,} in both, {counts['only_a']:,} only in a, {counts['only_b']:,} only in b."
        )
        for name, heaviest in (("a", record["only_a"]), ("b", record["only_b"])):
            if heaviest:
                yield Text(f"Heaviest only in {name}: {shown(heaviest[:FEATURES])}")
        if record["pulls"]:
            yield Text("")
            table = Table(title="What pulls them apart", title_justify="left", title_style="bold")
            table.add_column("feature", overflow="fold")
            for name in ("weight in a", "in b", "share of the gap"):
                table.add_column(name, justify="right", no_wrap=True)
            for feature, *weights, share in record["pulls"][:FEATURES]:
                figures = (f"{weight:,.2f}" if weight else "" for weight in weights)
                table.add_row(Text(shown(feature)), *figures, f"{share:.1%}")
            yield table
