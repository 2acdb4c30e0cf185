"""Keeping sources apart: only documents with the same value in a field of their metadata count as near copies.

The profile's option ``agree`` names the field, such as a site. Universities that fill in one form, and branches of a
bank, write pages that are near copies by every measure of the text. A document without the field may be a copy of any
document.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.inputs.records import source_of
from simhash_hbase.rows.analysed import Metadata


def agreed_value(metadata: Metadata | None, name: str) -> str:
    """Return the source that a field of the metadata names: its value, or of a URL the host; ``""`` if it has none."""
    value = (metadata or {}).get(name)
    if value is not None and not isinstance(value, str | int | float | bytes):
        # A stored time is in UTC, for example, and is compared with given ones in any zone.
        with suppress(OverflowError):
            value = msgspec.msgpack.decode(msgspec.msgpack.encode(value, enc_hook=str))
    return source_of(value)


def agreed_metadata(fields: Mapping[str, Any] | None, name: str | None) -> dict[str, object] | None:
    """Return a mapping with only the field `name`, about which near copies must agree; None if that has no value.

    `name` is None in an index without the option ``agree``: None is returned then, too.

    Examples
    --------
    >>> agreed_metadata({"site": "a.example", "title": "A"}, "site"), agreed_metadata({"site": ""}, "site")
    ({'site': 'a.example'}, None)
    """
    return {name: fields[name]} if fields is not None and name is not None and agreed_value(fields, name) else None


class Agreement:
    """Decides which documents may be near copies of each other: those with equal values in a field, or with no value.

    Of a URL, in whichever field, only the host counts. Blank text, NaN and an empty list are no value.

    Parameters
    ----------
    name : str
        The field of the metadata.
    metadata : sequence of mapping or None
        The metadata of each document of a search.

    Examples
    --------
    >>> agreement = Agreement("site", [{"site": "https://a.example/1"}, {"site": "b.example"}, None])
    >>> [agreement.joins(at, {"site": "https://a.example/2"}) for at in range(3)]
    [True, False, True]
    """

    def __init__(self, name: str, metadata: Sequence[Metadata | None]) -> None:
        self._name = name
        self._values = [agreed_value(fields, name) for fields in metadata]
        numbers = {"": 0}
        self._numbers = np.array([numbers.setdefault(value, len(numbers)) for value in self._values], np.intp)

    def joins(self, at: int, other: Metadata | None) -> bool:
        """Return whether the document at position `at` may be a near copy of one with the metadata `other`."""
        value = agreed_value(other, self._name)
        return not value or self._values[at] in ("", value)

    def among(self, at: int, others: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return a mask of the documents at positions `others` that the document at `at` may be a near copy of."""
        own, theirs = self._numbers[at], self._numbers[others]
        return np.asarray((theirs == own) | (theirs == 0) | (own == 0))
