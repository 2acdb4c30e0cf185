"""Compare near copies by their whole texts: by their exact Jaccard similarity, in place of its estimate by sketches."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import zstandard
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.files.local import RecordFile
from simhash_hbase.kernel.shingles import SHINGLE
from simhash_hbase.kernel.texts import batches
from simhash_hbase.profile import Profile
from simhash_hbase.profile.defaults import checked_share
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.documentcells import Text

MARGIN = 0.1
"""Candidates are pairs whose estimate is at most this much below the threshold: four times its standard error."""
_NUMBERS = 1 << 64
_NO_CHARACTER = 0x110000


class Shingles:
    """The distinct 5-character runs (shingles) of a normalised text, as sorted numbers that can be compared.

    A text of less than five characters is one shingle. Two shingles never share a number, so all counts are exact. With
    an alphabet of n characters in the text, a shingle is a number of five digits in base n + 1; digit 0 stands for any
    character that only other texts have. Up to 7,130 different characters it fits into 64 bits; shingles of texts with
    more are kept as strings.

    Examples
    --------
    >>> shingles = Shingles("abcdef")
    >>> len(shingles), shingles.count_in("abcde and more"), shingles.count_in("abc")
    (2, 1, 0)
    """

    def __init__(self, normal: str) -> None:
        characters = _characters(normal)
        alphabet = _distinct(characters)
        self._base = len(alphabet) + 1
        # A table is looked up 25 times as fast as a sorted alphabet is searched; only its used pages take memory.
        self._digits = np.zeros(_NO_CHARACTER + 1, np.uint32)
        self._digits[alphabet] = np.arange(1, self._base)
        self._numbers = _distinct(self._numbered(characters))

    def __len__(self) -> int:
        return len(self._numbers)

    def count_in(self, normal: str) -> int:
        """Return how many of these shingles also occur in another normalised text."""
        others = _distinct(self._numbered(_characters(normal)))
        return len(np.intersect1d(self._numbers, others, assume_unique=True))

    def _numbered(self, characters: NDArray[np.uint32]) -> NDArray[Any]:
        """Return the number of the shingle that begins at each code point, or its string where 64 bits are too few."""
        if self._base**SHINGLE > _NUMBERS:
            return np.ascontiguousarray(sliding_window_view(characters, SHINGLE)).view(f"U{SHINGLE}").ravel()
        digits = self._digits[characters]
        numbers = np.zeros(len(characters) - SHINGLE + 1, np.uint64)
        for at in range(SHINGLE):
            numbers *= np.uint64(self._base)
            numbers += digits[at : at + len(numbers)]
        return numbers


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return the values sorted and without repeats; `numpy.unique` of numpy 2.3 and later takes 40 times as long."""
    values = np.sort(values)
    is_new = np.ones(len(values), np.bool_)
    is_new[1:] = values[1:] != values[:-1]
    return values[is_new]


def _characters(normal: str) -> NDArray[np.uint32]:
    """Return the code points of a text, padded to the length of a shingle, five, by a number that is no character."""
    points = np.frombuffer(normal.encode("utf-32-le", "surrogatepass"), "<u4")
    return np.append(points, np.full(max(0, SHINGLE - len(points)), _NO_CHARACTER, np.uint32))


class TextVerdict(NamedTuple):
    """The result of comparing a document with an original: similarity, containment, and whether each is enough.

    Containment is the share of the document's shingles that the original has.
    """

    is_similar: bool  # Whether the texts are similar enough for a near copy.
    is_contained: bool  # Whether the original holds enough of the document.
    similarity: float | None
    containment: float | None


class TextJudge:
    """Compares documents of one corpus with originals by their whole texts, to decide whether they are near copies.

    Parameters
    ----------
    profile : Profile
        Has the threshold that the similarity of two texts must reach.
    contained : float, optional
        Share of a document's shingles that the original must hold for the document to be dropped; by default any.

    Notes
    -----
    Texts of kept documents are compressed in a temporary file. In memory are their digests, 24 bytes each, and for
    texts that were compared how many shingles they have. Comparing two texts takes 8 bytes for each shingle, and up to
    40 for each character for a moment. An original that only the index holds has no text: it is compared by the
    estimates of the sketches and the index's own rule.
    """

    def __init__(self, profile: Profile, *, contained: float | None = None) -> None:
        if contained is not None:
            checked_share("contained", contained)
        check_judged(profile)
        self.candidates = profile.replace(similarity=max(0.0, profile.similarity - MARGIN))
        """The profile by which candidates are searched: the index's, with a similarity lower by `MARGIN`."""
        self._own = profile.rule
        self._contained = contained
        self._file = RecordFile()
        self._places: dict[Text, int] = {}
        self._pack, self._unpack = zstandard.ZstdCompressor(level=1).compress, zstandard.ZstdDecompressor().decompress
        self._normals: dict[Text, str] = {}
        self._own_shingles: tuple[Text, Shingles] | None = None
        self._sizes: dict[Text, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def begin(self, entries: Entries, texts: Sequence[str]) -> None:
        """Set the texts of the next batch, one for each document; call it before `keep` and `judge`.

        Raises
        ------
        InvalidArgument
            When there is not one text for each document.
        """
        if len(texts) != len(entries):
            raise InvalidArgument("texts are judged: give one for each document, to dedup_entries")
        normals = chain.from_iterable(batch.normal_forms() for batch in batches(texts, self.candidates.form))
        self._normals = dict(zip(entries.texts, normals, strict=True))

    def keep(self, text: Text) -> None:
        """Store the text of a document of this batch that became an original, to compare later documents with it."""
        if text in self._places:
            return
        self._places[text] = len(self._file)
        self._file.append(self._pack(self._normals[text].encode()))

    def judge(
        self, text: Text, original: Text, distance: int, similarity: float | None, containment: float | None
    ) -> TextVerdict:
        """Return the comparison of a document of this batch with an original.

        If the text of the original is not stored, the given estimates `similarity` and `containment` are used in its
        place; None stands for an unknown one, which counts as enough.
        """
        least = self._own.similarity
        place = self._places.get(original)
        if place is None:
            least = min(1.0, least + float(self._own.more_asked(distance)))
        else:
            if self._own_shingles is None or self._own_shingles[0] != text:
                self._own_shingles = text, Shingles(self._normals[text])
            own, normal = self._own_shingles[1], self._normals.get(original)
            if normal is None:
                normal = self._unpack(self._file.read(place)).decode()
            if original not in self._sizes:
                self._sizes[original] = len(Shingles(normal))
            shared = own.count_in(normal)
            similarity, containment = shared / (len(own) + self._sizes[original] - shared), shared / len(own)
        # An unknown containment is enough.
        is_contained = similarity is None or containment is None or containment >= (self._contained or 0)
        return TextVerdict(similarity is None or similarity >= least, is_contained, similarity, containment)


def check_judged(profile: Profile) -> None:
    """Raise `InvalidArgument` unless the index has match rule ``verified``, the only one that goes by similarity."""
    if profile.match != "verified":
        raise InvalidArgument(
            f"texts are judged by similarity, as rule verified does, and this index has rule {profile.match}"
        )


def judging(profile: Profile, *, exact: bool, contained: float | None) -> AbstractContextManager[TextJudge | None]:
    """Return a context manager for a `TextJudge`; its value is None if neither `exact` nor `contained` asks for one."""
    return TextJudge(profile, contained=contained) if exact or contained is not None else nullcontext()
