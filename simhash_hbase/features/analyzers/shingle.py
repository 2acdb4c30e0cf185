"""Shingles: no words are needed."""

from collections.abc import Sequence
from dataclasses import dataclass

from simhash_hbase.errors import InvalidProfile
from simhash_hbase.features.analyzers.protocols import weigh_tokens
from simhash_hbase.words.fast import Bag
from simhash_hbase.words.normal import normalize


@dataclass(frozen=True, kw_only=True)
class ShingleAnalyzer:
    """Runs of characters of the normalised text; needs no dictionary.

    Raises
    ------
    InvalidProfile
        The size is out of range.

    Examples
    --------
    >>> ShingleAnalyzer(size=4).features("I'm sexy")
    [('imse', 1.0), ('msex', 1.0), ('sexy', 1.0)]
    """

    size: int = 4
    """Characters of a shingle; a shorter text is one shingle."""
    binary: bool = False
    """Weigh every shingle 1, however often it occurs."""

    def __post_init__(self) -> None:
        if not 1 <= self.size <= 64:  # noqa: PLR2004
            raise InvalidProfile(f"shingle {self.size}: wanted 1 to 64 characters")

    @property
    def top(self) -> int | None:
        """None: all shingles count."""
        return None

    def features(self, text: str) -> list[tuple[str, float]]:
        """List the shingles of a text and their weights.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of (str, float)
            The heaviest first, ties by the shingle.
        """
        return weigh_tokens(self, self._shingles(text))

    def bag(self, text: str) -> Bag:
        """Give the shingles of a text; no block is left over."""
        return Bag(list(self._shingles(text)), [])

    def word(self, token: str) -> str | None:
        """Give the shingle itself."""
        return token

    def word_weight(self, word: str) -> float:
        """Give 1."""
        return 1.0

    def _shingles(self, text: str) -> Sequence[str]:
        plain = normalize(text)
        if not plain:
            return []
        starts = range(max(1, len(plain) - self.size + 1))
        shingles = [plain[start : start + self.size] for start in starts]
        # dict.fromkeys, not set: the order must not depend on the process.
        return list(dict.fromkeys(shingles)) if self.binary else shingles
