"""Versions of the libraries that an index depends on: a profile names those of the machine that made it."""

import unicodedata
from contextlib import suppress

_EXTRACTORS = ("trafilatura", "lxml")


def installed_versions(*, jieba: bool) -> dict[str, str]:
    """Return the versions of the libraries that fingerprints depend on."""
    return {"unicode": unicodedata.unidata_version, **(_versions_of("jieba") if jieba else {})}


def extractor_versions() -> dict[str, str]:
    """Return the versions of the libraries that the main text of a page depends on."""
    return _versions_of(*_EXTRACTORS)


def _versions_of(*names: str) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    versions = {}
    for name in names:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
