"""Versions of the libraries on which the results of an index depend; its profile records those at its creation."""

import unicodedata
from contextlib import suppress

_EXTRACTORS = ("trafilatura", "lxml")


def installed_versions(*, jieba: bool) -> dict[str, str]:
    """Return the installed versions, by name, on which fingerprints depend: of Unicode, and with `jieba` of jieba."""
    return {"unicode": unicodedata.unidata_version, **(_versions_of("jieba") if jieba else {})}


def extractor_versions() -> dict[str, str]:
    """Return the installed versions, by name, of the libraries that extract the main text of web pages."""
    return _versions_of(*_EXTRACTORS)


def _versions_of(*names: str) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    versions = {}
    for name in names:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
