"""A batch of texts in, arrays out: words with their counts, fingerprints, sketches, sketch rows, passages and digests.

The global interpreter lock is free while the kernel works, so that threads analyse beside each other. Python does the
rest, which takes more than a table: forms that depend on neighbours, words of more than 1,024 characters.
"""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Self

import mmh3
import numpy as np
from numpy.typing import ArrayLike, NDArray

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.kernel import forms, kinds as characters, segment, shingles, votes, winnow
from simhash_hbase.kernel.normal import JOINER, bounded_marks, normal_form, pieces
from simhash_hbase.kernel.tables import kernel_tables, simplified
from simhash_hbase.profile.defaults import FORM, TextForm
from simhash_hbase.rows.digests import blake2b
from simhash_hbase.rows.names import exact

BATCH = 1 << 17
"""Characters that are analysed at a time, unless one text has more: their arrays take some 5 MB."""

MAX_WORD = 1 << 10  # Most characters of a word; a longer one is replaced by its beginning and a digest of the whole.
_KEPT = 48
SKETCH_WORDS = 8
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Weights:
    """A table of the weights of words, such as idf, looked up by the words' hashes."""

    keys: NDArray[np.uint64]  # Hashes in a table with open addresses, of a power of two of places; 0 in free ones.
    values: NDArray[np.float64]  # The weight at each place.
    other: float  # The weight of every other word.
    seed: int  # Seed of the hash.

    @classmethod
    def of_words(cls, words: Sequence[str], weights: ArrayLike, *, other: float, seed: int) -> Self:
        """Return a table of words with these weights, and the weight `other` for all other words.

        If a word is there twice, its last weight counts.
        """
        size = 1 << max(4, (2 * len(words)).bit_length())
        keys, values = np.zeros(size, np.uint64), np.zeros(size)
        votes.insert_weights(*_buffers(keys, values, word_hashes(words, seed), np.array(weights, np.float64)))
        return cls(keys, values, other, seed)

    def weight(self, word: str) -> float:
        """Return the weight of a word; that of all other words if the table does not have it."""
        key, _ = mmh3.hash64(word.encode("utf-8", "surrogatepass"), self.seed, signed=False)
        return float(votes.weight_of(self.keys.data, self.values.data, self.other, key))


class CountedWords(NamedTuple):
    """The distinct words of each of several texts, with their counts.

    Text i has the words from ``offsets[i]`` to ``offsets[i + 1]``.
    """

    hashes: NDArray[np.uint64]
    counts: NDArray[np.int32]  # How often each word occurs in its text.
    offsets: NDArray[np.int64]
    points: NDArray[np.uint32]  # The code points of the texts.
    starts: NDArray[np.uint32]  # Where each word occurs first.
    stops: NDArray[np.uint32]

    def words(self) -> list[str]:
        """Return the words of all texts as strings, text after text."""
        return _between(self.points, self.starts, self.stops)

    def distinct(self) -> "CountedWords":
        """Return the words of all texts as those of a single text, each once, counting the texts that have the word."""
        words = _counted(self.points, self.starts.copy(), self.stops.copy(), np.array([0, len(self.hashes)]), seed=0)
        lengths = (words.stops - words.starts).astype(np.int64)
        stops = np.cumsum(lengths)
        starts = stops - lengths
        points = words.points[np.arange(lengths.sum()) + np.repeat(words.starts - starts, lengths)]
        return words._replace(points=points, starts=starts.astype(np.uint32), stops=stops.astype(np.uint32))

    def with_whole_texts(self, whole: dict[int, str], *, seed: int) -> "CountedWords":
        """Return the same words, but for each text at a position in `whole` only one word: the string given there."""
        added, places = _points(list(whole.values()))
        points, places = np.concatenate([self.points, added]), places + len(self.points)
        at = np.array(list(whole), np.intp)
        first, kept = self.offsets[at], np.ones(len(self.hashes), np.bool_)
        for start, stop in zip(first.tolist(), self.offsets[at + 1].tolist(), strict=True):
            kept[start + 1 : stop] = False
        hashes, counts, starts, stops = self.hashes.copy(), self.counts.copy(), self.starts.copy(), self.stops.copy()
        counts[first], starts[first], stops[first] = 1, places[:-1], places[1:]
        hashes[first] = hash_between(points, starts[first], stops[first], seed)
        words = np.diff(self.offsets)
        words[at] = 1
        offsets = np.concatenate([[0], np.cumsum(words)])
        return CountedWords(hashes[kept], counts[kept], offsets, points, starts[kept], stops[kept])

    def without_texts(self) -> "CountedWords":
        """Return the counts without the code points, to save memory.

        After that `words` has nothing to return, and `vote` with `top` raises `ValueError`.
        """
        nothing = self.points[:0].copy()
        return self._replace(points=nothing, starts=nothing, stops=nothing)

    def vote(self, weights: Weights, *, top: int | None = None) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Return the SimHash fingerprint of each text, and how many of its words (features) voted in it.

        The number is -1 where the weights are too large to be added. `top` lets only the heaviest words vote.
        """
        if top and len(self.starts) < len(self.hashes):
            raise ValueError("the texts were let go of, whose words decide between equal weights")
        texts = len(self.offsets) - 1
        simhashes, features = np.zeros(texts, np.uint64), np.zeros(texts, np.intc)
        buffers = _buffers(weights.keys, weights.values, simhashes, features)
        votes.Features(*_buffers(*self)).vote(*buffers, other=weights.other, top=top or 0)
        return simhashes, features


class Sketched(NamedTuple):
    """MinHash sketches, lengths and digests of texts, one row for each text."""

    sketches: NDArray[np.uint64]
    """Shape (n, 8); zeros for a text without a letter, a number or a mark."""
    sizes: NDArray[np.int64]  # Characters of the normal forms.
    segments: NDArray[np.uint32]  # Hashes of the groups of minima, shape (n, bands).
    shingles: NDArray[np.uint32]  # Distinct shingles, estimated from the minima.
    digests: list[bytes]
    """16-byte BLAKE2b of the normal forms: equal digests mean equal texts but for case, blanks and punctuation."""


class Passages(NamedTuple):
    """The passages of one text that an index keeps: hashes of some runs of its characters, in their order."""

    hashes: NDArray[np.uint64]
    places: NDArray[np.int64]  # First character of each in the normal form.

    def packed(self) -> bytes:
        """Return the distinct hashes as bytes, ascending, 8 bytes each, as member cells hold them."""
        return np.unique(self.hashes).astype(">u8").tobytes()


class Batch:
    """Texts as given, as arrays of code points, from which words, sketches and passages are computed together.

    `form` is the normalisation that is applied for these. Normal forms are made at their first use and kept, so only
    one thread at a time may use a batch.
    """

    def __init__(self, texts: Sequence[str], form: TextForm = FORM) -> None:
        self.texts = texts
        self.form = form
        self._normal_form: tuple[NDArray[np.uint32], NDArray[np.int64]] | None = None
        self.points, self.offsets = _points(texts)
        if len(self.points) >= 1 << 31:
            raise InvalidArgument("a text of 2,147,483,648 characters or more: wanted a shorter one")
        self.kinds = np.zeros(len(texts), np.uint16)
        kinds = kernel_tables()["kinds"]
        forms.kinds_of(*_buffers(self.points, self.offsets, kinds, self.kinds))
        if form.version > 1 and (self.kinds & characters.IGNORABLE).any():
            forms.leave_out(*_buffers(self.points, self.offsets, kinds))
            self.points = self.points[: self.offsets[-1]]
            forms.kinds_of(*_buffers(self.points, self.offsets, kinds, self.kinds))

    def count(self, *, folded: bool, seed: int) -> CountedWords:
        """Return the words of the texts with their counts.

        `folded` takes all words of the folded form (lower case, simplified); else words of two characters or more are
        taken, as written.
        """
        form = partial(canonical, folded=folded, form=self.form)
        if not folded:
            points, offsets = self._completed(self.points, self.offsets, characters.COMPOSED, form)
            starts, stops, before = _cut(points, offsets, segment.KEYWORDS, self.form)
        else:
            points, offsets = self._forms("folded", form)
            if self.form.version > 1:
                forms.join(*_buffers(points, offsets, kernel_tables()["kinds"]))
                points = points[: offsets[-1]]
            kind = segment.FOLDED_WORDS if self.form.version > 1 else segment.WORDS
            starts, stops, before = _cut(points, offsets, kind, self.form)
        long = np.flatnonzero(stops - starts > MAX_WORD)
        if len(long):
            bounded, ends = _points(list(map(bounded_word, _between(points, starts[long], stops[long]))))
            starts[long], stops[long] = len(points) + ends[:-1], len(points) + ends[1:]
            points = np.concatenate([points, bounded])
        return _counted(points, starts, stops, before, seed)

    def shingles(self, size: int, *, seed: int) -> CountedWords:
        """Return the runs of `size` characters (shingles) of the normal forms, counted; a shorter text is one run."""
        normal, ends = self._normal()
        lengths = np.diff(ends)
        numbers = np.where(lengths > 0, np.maximum(lengths - size + 1, 1), 0)
        before = np.concatenate([[0], np.cumsum(numbers)])
        starts = np.arange(before[-1]) + np.repeat(ends[:-1] - before[:-1], numbers)
        stops = np.minimum(starts + size, np.repeat(ends[1:], numbers))
        return _counted(normal, starts.astype(np.uint32), stops.astype(np.uint32), before, seed)

    def normal_forms(self) -> list[str]:
        """Return the normal forms of the texts, equal to those by `normalize` and several times as fast."""
        normal, ends = self._normal()
        return _between(normal, ends[:-1], ends[1:])

    def sketch(self, bands: int = 0, bins: int = 0) -> Sketched:
        """Return the sketches and digests of the texts, with the hashes of `bands` bands of `bins` minima each.

        A sketch is made of the smallest hash (minimum) of the text's shingles in each of 512 ranges of hashes; a band
        is a group of these minima.
        """
        normal, ends = self._normal()
        arrays = kernel_tables()
        sketches = np.zeros((len(self.texts), SKETCH_WORDS), np.uint64)
        segments = np.zeros((len(self.texts), bands), np.uint32)
        counts = np.zeros(len(self.texts), np.uint32)
        chosen = arrays["orders"], arrays["groups"][: bands * bins]
        shingles.sketch(*_buffers(normal, ends, *chosen, sketches.ravel(), segments.ravel(), counts), bands=bands)
        # Digits and letters alone have no lone surrogate.
        texts = _between(normal, ends[:-1], ends[1:])
        digests = [blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest() for text in texts]
        return Sketched(sketches, np.diff(ends), segments, counts, digests)

    def passages(self, length: int, gram: int) -> list["Passages"]:
        """Return for each text the hashes of some of its runs of `gram` characters, chosen by winnowing.

        Texts that share a run of `length` characters have at least one of these hashes in common.
        """
        normal, ends = self._normal()
        hashes, places = np.empty(len(normal), np.uint64), np.empty(len(normal), np.int64)
        counts = np.zeros(len(self.texts), np.int64)
        window = length - gram + 1
        winnow.winnow(*_buffers(normal, ends, hashes, places, counts), gram=gram, window=window)
        stops = np.cumsum(counts).tolist()
        return [
            Passages(hashes[start:stop].copy(), places[start:stop] - first)
            for (start, stop), first in zip(pairwise([0, *stops]), ends[:-1].tolist(), strict=True)
        ]

    def _normal(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        if self._normal_form is None:
            self._normal_form = self._forms("normal", partial(normalize, form=self.form))
        return self._normal_form

    def _forms(self, name: str, form: Callable[[str], str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the code points of the texts in the form called `name`, and where each text ends, after a 0.

        The form is made by a table, and by the function `form` for texts that need more than a table.
        """
        if self.form.fold:
            name = f"{name}_{self.form.fold}"
        table, listed = kernel_tables()[name], kernel_tables()[f"{name}_lists"]
        # Most of it is not touched, and takes no memory: few characters become several.
        written = np.empty(forms.MOST_LISTED * len(self.points) + 1, np.uint32)
        ends = np.zeros(len(self.texts) + 1, np.int64)
        forms.rewrite(*_buffers(self.points, self.offsets, self.kinds, table, listed, written, ends))
        return self._completed(written[: ends[-1]], ends, characters.SLOW, form)

    def _completed(
        self, points: NDArray[np.uint32], ends: NDArray[np.int64], kind: int, form: Callable[[str], str]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return code points and ends again, with `form` applied to the texts that have a character of this kind."""
        if not (self.kinds & kind).any():
            return points, ends
        parts = [
            _points([form(_text(self.points[first:last]))])[0] if is_left else points[start:stop]
            for is_left, (first, last), (start, stop) in zip(
                self.kinds & kind, pairwise(self.offsets), pairwise(ends), strict=True
            )
        ]
        return np.concatenate(parts), np.array([0, *accumulate(map(len, parts))], np.int64)


def document_frequencies(parts: Sequence[CountedWords]) -> dict[str, int]:
    """Return for each word the number of texts it occurs in; words of a single text are left out.

    `parts` are the words of several batches of texts, each made by `distinct`. Only the words returned become strings:
    most words of a sample are in one text.
    """
    hashes = np.concatenate([part.hashes for part in parts])
    _, first, word = np.unique(hashes, return_index=True, return_inverse=True)
    texts = np.bincount(word, weights=np.concatenate([part.counts for part in parts])).astype(np.int64)
    is_counted = np.zeros(len(hashes), bool)
    is_counted[first[texts > 1]] = True
    words: list[str] = []
    ends = np.cumsum([len(part.hashes) for part in parts])
    for part, mask in zip(parts, np.split(is_counted, ends[:-1]), strict=True):
        words += part._replace(starts=part.starts[mask], stops=part.stops[mask]).words()
    return dict(zip(words, texts[word[is_counted]].tolist(), strict=True))


def batches(texts: Sequence[str], form: TextForm = FORM) -> Iterator[Batch]:
    """Divide texts into batches of some 131,000 characters, in their order; there is at least one batch."""
    return (Batch(some, form) for some in divided(list(map(exact, texts)), BATCH))


def divided(texts: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    """Divide texts, in their order, into lists of at most `most` characters together.

    A longer text is alone in its list. There is at least one list.
    """
    start = characters = 0
    for number, text in enumerate(texts):
        if characters and characters + len(text) > most:
            yield texts[start:number]
            start, characters = number, 0
        characters += len(text)
    yield texts[start:]


def cut(text: str, kind: int = segment.JIEBA_TOKENS) -> list[str]:
    """Return the tokens of a text: those of ``jieba.lcut``, or of another kind such as `segment.WORDS`.

    Examples
    --------
    >>> cut("用TF-IDF找T恤，版本12.1.2")
    ['用', 'TF', '-', 'IDF', '找', 'T恤', '，', '版本', '12.1', '.', '2']
    """
    points, offsets = _points([text])
    starts, stops, _ = _cut(points, offsets, kind, FORM)
    return _between(points, starts, stops)


def canonical(text: str, *, folded: bool, form: TextForm = FORM) -> str:
    """Return a text in the form in which it is cut into words: `folded` or as written.

    As written is Unicode's form NFC. Folded is NFKC in lower case, with simplified Chinese characters if `form` says
    so.
    """
    dropped = characters.FORMAT | characters.IGNORABLE if form.version > 1 else characters.FORMAT
    composed = normal_form("NFKC" if folded else "NFC", _with_kind(text, dropped, 0)).replace(JOINER, "")
    return _fold(composed.lower(), form) if folded else composed


def normalize(text: str, form: TextForm = FORM) -> str:
    """Return the normal form of a text: only its letters, numbers and marks, in lower case (see schema/README.md).

    It is NFKC, with simplified Chinese characters if `form` says so.

    Examples
    --------
    >>> normalize("Ｐython is “sexy”！")
    'pythonissexy'
    >>> normalize("電腦，電腦")
    '电脑电脑'
    """
    if form.version > 1:
        text = _with_kind(text, characters.IGNORABLE, 0)
    forms_of_pieces = (unicodedata.normalize("NFKC", bounded_marks(piece)).lower() for piece in pieces(text))
    kept = _fold(_with_kind("".join(forms_of_pieces), characters.KEPT, characters.KEPT), form)
    return kept.replace(JOINER, "") if form.version > 1 else kept


def _fold(text: str, form: TextForm) -> str:
    return text.translate(simplified()) if form.fold else text


def _with_kind(text: str, kind: int, expected: int) -> str:
    points, _ = _points([text])
    return _text(points[kernel_tables()["kinds"][points] & kind == expected])


def bounded_word(word: str) -> str:
    """Return a word as it is, or, if it is longer than `MAX_WORD`, its beginning followed by a digest of the whole.

    A letter with as many combining marks is shortened before, in the same way.
    """
    if len(word) <= MAX_WORD:
        return word
    extends = kernel_tables()["kinds"][_points([word])[0][1:]] & characters.EXTENDS
    ends = [*(np.flatnonzero(extends == 0) + 1).tolist(), len(word)]
    word = "".join(_bounded(word[start:stop]) for start, stop in pairwise([0, *ends]))
    return _bounded(word)


def _bounded(word: str) -> str:
    if len(word) <= MAX_WORD:
        return word
    return f"{word[:_KEPT]}…{blake2b(word.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def word_hashes(words: Sequence[str], seed: int) -> NDArray[np.uint64]:
    """Return the 64-bit hash of each word, whose bits are the word's votes in a SimHash."""
    points, offsets = _points(words)
    ends = offsets.astype(np.uint32)
    return hash_between(points, ends[:-1], ends[1:].copy(), seed)


def hash_between(
    points: NDArray[np.uint32], starts: NDArray[np.uint32], stops: NDArray[np.uint32], seed: int
) -> NDArray[np.uint64]:
    """Return the 64-bit hashes of words, whose bits are their votes in a SimHash; word i is from starts[i] to stops[i].

    The arrays `starts` and `stops` are overwritten.
    """
    return _counted(points, starts, stops, np.arange(len(starts) + 1), seed).hashes


def _points(texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the code points of all texts as one array, and the offset at which each text begins, then the end."""
    encoded = bytearray("".join(texts).encode("utf-32-le", "surrogatepass"))
    points = np.frombuffer(encoded, "<u4").astype(np.uint32, copy=False)
    # A subclass of str may tell another length than that of its characters.
    return points, np.array([0, *accumulate(map(str.__len__, texts))], np.int64)


def _buffers(*arrays: NDArray[Any]) -> tuple[memoryview, ...]:
    """Return arrays as memoryviews, which the functions of the kernel take."""
    return tuple(array.data for array in arrays)


def _text(points: NDArray[np.uint32]) -> str:
    return points.astype("<u4", copy=False).tobytes().decode("utf-32-le", "surrogatepass")


def _cut(
    points: NDArray[np.uint32], offsets: NDArray[np.int64], mode: int, form: TextForm
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]:
    arrays = kernel_tables()
    names = ("units", "codes", "weights", "unknown", "pairs", "model", "kinds")
    cutter = segment.Cutter({name: arrays[name].data for name in names})
    starts, stops = np.empty(len(points), np.uint32), np.empty(len(points), np.uint32)
    before = np.zeros(len(offsets), np.int64)
    unspaced = 3 if form.version > 2 else 2  # noqa: PLR2004
    cutter.cut(points.data, offsets.data, mode, _buffers(starts, stops, before), unspaced=unspaced)
    return starts[: before[-1]], stops[: before[-1]], before


def _counted(
    points: NDArray[np.uint32],
    starts: NDArray[np.uint32],
    stops: NDArray[np.uint32],
    before: NDArray[np.int64],
    seed: int,
) -> CountedWords:
    """Hash the words of texts, and count equal ones in each text; text i has the words before[i] to before[i + 1].

    The arrays `starts` and `stops`, of all words, are overwritten.
    """
    size = len(starts)
    hashes, counts, offsets = np.empty(size, np.uint64), np.empty(size, np.intc), np.empty(len(before), np.int64)
    votes.Features(*_buffers(hashes, counts, offsets, points, starts, stops)).count(before.data, seed)
    used = int(offsets[-1])
    return CountedWords(hashes[:used], counts[:used], offsets, points, starts[:used], stops[:used])


def _between(points: NDArray[np.uint32], starts: NDArray[Any], stops: NDArray[Any]) -> list[str]:
    text = _text(points)
    return [text[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
