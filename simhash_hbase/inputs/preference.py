"""The rule by which one of several near copies is kept: the first, the longest, the best score, a preferred source."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite, nan
from typing import Literal, Self

from simhash_hbase.errors import InvalidArgument, InvalidInput

FORMS = "'first', 'longest', 'best:FIELD', 'best:-FIELD' or 'rank:FIELD=A,B'"


@dataclass(frozen=True)
class Preference:
    """The rule by which one of several near copies is kept; among equals the earlier one in the input.

    Examples
    --------
    >>> Preference.parse("rank:source=news,blog").rank({"source": "blog"})
    1.0
    >>> Preference.parse("best:score").rank({"score": 7}) < Preference.parse("best:score").rank({"score": 6})
    True
    """

    by: Literal["first", "longest", "best", "rank"] = "first"
    field: str | None = None
    """Field of a record with its score or its source."""
    ascending: bool = False
    """Whether the least score is the best."""
    sources: tuple[str, ...] = ()
    """The preferred source first; sources that are not listed come last, all alike."""

    @classmethod
    def parse(cls, form: str) -> Self:
        """Return the rule that a string such as ``best:score`` names; `FORMS` lists the possible forms.

        Raises
        ------
        InvalidArgument
            When it is none of them.
        """
        kind, _, rest = form.partition(":") if isinstance(form, str) else ("", "", "")
        if form in ("first", "longest"):
            return cls("longest" if form == "longest" else "first")
        if kind == "best" and rest.removeprefix("-"):
            return cls("best", rest.removeprefix("-"), rest.startswith("-"))
        field, _, listed = rest.partition("=")
        sources = tuple(listed.split(","))
        if kind != "rank" or not field or not all(sources):
            raise InvalidArgument(f"keep is {form!r}: wanted {FORMS}", parameter="keep")
        if len(set(sources)) < len(sources):
            raise InvalidArgument(f"keep is {form!r}: a source is listed twice")
        return cls("rank", field, sources=sources)

    def rank(self, record: Mapping[str, object]) -> float:
        """Return the rank of a record by its field: of near copies the one with the lowest rank is kept.

        Raises
        ------
        InvalidInput
            When the field is missing, or holds no number where a score is needed. A score is a finite number, or a
            string that holds one, as in CSV; it is compared as a 64-bit floating point number.
        """
        name = self.field or ""
        if name not in record:
            raise InvalidInput(f"the field {name!r} is missing, which decides the original of near copies")
        value = record[name]
        if self.by == "rank":
            if not isinstance(value, str | int) or isinstance(value, bool):
                raise InvalidInput(f"the field {name!r} names no source")
            return float(self.sources.index(str(value)) if str(value) in self.sources else len(self.sources))
        score = nan
        if isinstance(value, int | float | Decimal | str) and not isinstance(value, bool):
            with suppress(ValueError, OverflowError):
                score = float(value)
        if not isfinite(score):
            raise InvalidInput(f"the field {name!r} is not a number")
        return score if self.ascending else -score
