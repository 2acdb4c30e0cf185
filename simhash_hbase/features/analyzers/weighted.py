"""Features of the caller's own."""

from dataclasses import dataclass

from simhash_hbase.errors import InvalidArgument


@dataclass(frozen=True, kw_only=True)
class WeightedAnalyzer:
    """The caller brings features and weights; a text has none here."""

    def features(self, text: str) -> list[tuple[str, float]]:
        """Refuse a text.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of (str, float)
            Never.

        Raises
        ------
        InvalidArgument
            Always: pass features instead of text.
        """
        raise InvalidArgument(f"an index of weighted features takes features, not text ({text[:20]!r})")
